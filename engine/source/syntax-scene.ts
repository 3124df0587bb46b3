// What the rules that explain faults of syntax look at: the fault of the `yaml` package, and the text around its place.
import type { Span } from '../model/span.js';
import type { SourceFault } from './tree.js';

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

export interface Scene {
  readonly text: string;
  readonly fault: PackageFault;
  readonly enclosures: readonly Enclosure[];
}

/** Null if the fault is another's. */
export type Rule = (scene: Scene) => SourceFault | null;

/** Never empty and never past the line, so that there is something to underline. */
export function faultSpan(text: string, { pos }: PackageFault): Span {
  // The package points past the end where something is missing at the end: show the last character instead.
  const start = Math.min(pos[0], Math.max(0, text.trimEnd().length - 1));
  return { start, end: Math.max(start + 1, Math.min(pos[1], lineEndAt(text, start))) };
}

export function lineEndAt(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found;
}

/** A line, and in it what follows the indentation and the dashes of a list. */
export interface Line {
  readonly start: number;
  readonly end: number;
  /** Where the indentation ends. */
  readonly first: number;
  readonly content: number;
}

export function lineAt(text: string, offset: number): Line {
  // A search from before the beginning would look at the first character.
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const line = text.slice(start, lineEndAt(text, offset)).trimEnd();
  const first = start + line.length - line.trimStart().length;
  const dashes = /^(?:- +)*/.exec(line.slice(first - start))?.[0].length ?? 0;
  return { start, end: start + line.length, first, content: first + dashes };
}

/** The line with the fault, where the fault is about how lines follow each other. */
export function lineOf({ text, fault }: Scene): Line {
  return lineAt(text, Math.min(fault.pos[0], Math.max(0, text.trimEnd().length - 1)));
}

const AT_NODE_END = /^Unexpected (?:scalar|flow-(?:seq|map)-start|.*quoted-scalar) at node end/;

/** Whether something stands where a value has ended. */
export function isBehindValue({ fault }: Scene): boolean {
  return AT_NODE_END.test(fault.message);
}

/** Whether a bracket or brace is open. */
export function isInFlow({ fault, enclosures }: Scene): boolean {
  const [at] = fault.pos;
  return enclosures.some(
    ({ mark, start, end }) => (mark === '[' || mark === '{') && start < at && (end === null || end > at),
  );
}

/** Cut short, for a help. */
export function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export const INDENT = {
  code: 'YAML_INDENT',
  message: 'the indentation does not fit the lines above',
  help: 'begin all entries of a list or mapping in one column, and what is inside of them further right',
} as const satisfies Partial<SourceFault>;
