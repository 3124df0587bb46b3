// What the rules that explain syntax faults look at: the `yaml` package's fault, and the text around its place.
import type { Span } from '../model/span.js';

export interface PackageFault {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

/** A quoted text, or a list or mapping in flow style. */
export interface Enclosure {
  readonly start: number;
  /** Null if it is not closed. */
  readonly end: number | null;
  readonly mark: string;
}

export interface SyntaxScene {
  readonly text: string;
  readonly fault: PackageFault;
  readonly enclosures: readonly Enclosure[];
  /** The fault. Never empty and never past the line, so that there is something to underline. */
  readonly at: Span;
  /** The line with the fault, if the fault is about how lines follow each other. */
  readonly line: Line;
  /** Whether a bracket or brace is open. */
  readonly isInFlow: boolean;
  /** Whether something stands where a value has ended. */
  readonly isBehindValue: boolean;
}

const AT_NODE_END = /^Unexpected (?:scalar|flow-(?:seq|map)-start|.*quoted-scalar) at node end/;

export function makeScene(text: string, fault: PackageFault, enclosures: readonly Enclosure[]): SyntaxScene {
  const [from, to] = fault.pos;
  // If something is missing at the end, the package points past the end. The last character is shown instead.
  const start = Math.min(from, Math.max(0, text.trimEnd().length - 1));
  const isInFlow = enclosures.some(
    ({ mark, start: opened, end }) => /[[{]/.test(mark) && opened < from && (end === null || end > from),
  );
  const at = { start, end: Math.max(start + 1, Math.min(to, lineEndAt(text, start))) };
  return {
    text,
    fault,
    enclosures,
    at,
    line: lineAt(text, start),
    isInFlow,
    isBehindValue: AT_NODE_END.test(fault.message),
  };
}

function lineEndAt(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found;
}

/** A line, with the content after its indentation and list dashes. */
interface Line extends Span {
  /** Where the indentation ends. */
  readonly first: number;
  /** Where its content begins. */
  readonly content: number;
  /** Its content. */
  readonly words: string;
}

export function lineAt(text: string, offset: number): Line {
  // `lastIndexOf` treats a negative offset as 0 and would look at the first character.
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const line = text.slice(start, lineEndAt(text, offset)).trimEnd();
  const [indent = '', dashes = ''] = /^(\s*)((?:- +)*)/.exec(line)?.slice(1) ?? [];
  const first = start + indent.length;
  const content = first + dashes.length;
  return { start, end: start + line.length, first, content, words: line.slice(content - start) };
}

/** The next line with content; null at the end. */
export function lineBelow(text: string, { end }: Line): Line | null {
  for (let at = lineEndAt(text, end) + 1; at < text.length; at = lineEndAt(text, at) + 1) {
    const line = lineAt(text, at);
    if (saysSomething(text, line)) return line;
  }
  return null;
}

/** The nearest line above with content that is not indented further; null if every line is indented further. */
export function lineAbove(text: string, { start, first }: Line): Line | null {
  for (let at = start; at > 0;) {
    const above = lineAt(text, at - 1);
    if (saysSomething(text, above) && above.first - above.start <= first - start) return above;
    at = above.start;
  }
  return null;
}

function saysSomething(text: string, { first, end }: Line): boolean {
  return first < end && text.charAt(first) !== '#';
}
