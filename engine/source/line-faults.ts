// Faults of how lines follow each other: indentation, dashes, and the colons of keys.
import {
  INDENT,
  isBehindValue,
  isInFlow,
  type Line,
  lineAt,
  lineEndAt,
  lineOf,
  type Rule,
  shown,
} from './syntax-scene.js';
import type { Span } from '../model/span.js';
import type { SourceFault } from './tree.js';

/** Faults of the package that come of lines that do not follow each other. */
const OF_LINES: ReadonlySet<string> = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'UNEXPECTED_TOKEN',
]);

const DASH: Rule = (scene) => {
  if (!OF_LINES.has(scene.fault.code)) return null;
  const { text } = scene;
  const line = lineOf(scene);
  const content = text.slice(line.content, line.end);
  if (/^-[\w"'{[*/]/.test(content)) return dashWithoutSpace(line.content, content);
  if (line.content > line.first || !isBelowDash(text, line)) return null;
  return dashMissing(line.first, content);
};

function dashWithoutSpace(start: number, content: string): SourceFault {
  const word = /^-\S+/.exec(content)?.[0] ?? '-';
  return {
    code: 'YAML_DASH_SPACE',
    start,
    end: start + word.length,
    message: 'a space is missing after the dash',
    help: `write \`- ${shown(content.slice(1).split('\n')[0] ?? '')}\``,
  };
}

function dashMissing(start: number, content: string): SourceFault {
  const line = content.split('\n')[0]?.trimEnd() ?? '';
  return {
    code: 'YAML_DASH_MISSING',
    start,
    end: start + Math.max(1, line.length),
    message: 'an entry of a list without its dash',
    help: `write \`- ${shown(line)}\``,
  };
}

/** Whether the lines above that begin in the same column are entries of a list. */
function isBelowDash(text: string, { start, first }: Line): boolean {
  for (let at = start; at > 0;) {
    const above = lineAt(text, at - 1);
    if (above.first < above.end && text.charAt(above.first) !== '#' && above.first - above.start <= first - start)
      return above.first - above.start === first - start && above.content > above.first;
    at = above.start;
  }
  return false;
}

/** The fault of a line that should be a key and perhaps its value, or null. */
function keyFaultOf(content: string, at: Span): SourceFault | null {
  if (/: |:$/.test(content)) return null;
  const [, key, value] = /^([A-Za-z][\w-]*):([^\s:].*)$/.exec(content) ?? [];
  if (key !== undefined && value !== undefined) {
    const help = `write \`${shown(`${key}: ${value}`)}\``;
    return { code: 'YAML_COLON_SPACE', ...at, message: 'a space is missing after the colon', help };
  }
  if (/["'[{|>#&*!%@`]/.test(content)) return null;
  const [, word, rest] = /^(\S+) +(\S.*)$/.exec(content) ?? [];
  const help = word !== undefined && rest !== undefined ? `${word}: ${rest}` : `${content}:`;
  return { code: 'YAML_COLON_MISSING', ...at, message: 'a key without a colon', help: `write \`${shown(help)}\`` };
}

const KEYS: Rule = (scene) => {
  const { text, fault } = scene;
  if (!OF_LINES.has(fault.code)) return null;
  const line = lineOf(scene);
  const content = text.slice(line.content, line.end);
  const at = { start: line.content, end: line.end };
  const isAtDash = line.content > line.first && fault.pos[0] <= line.first;
  if (fault.code !== 'UNEXPECTED_TOKEN' && !isAtDash && !isInFlow(scene)) {
    const found = keyFaultOf(content, at);
    if (found !== null) return found;
  }
  const colon = /^[^"'[{#]*?: +([^"'[{#].*)$/.exec(content);
  const value = colon?.[1]?.replace(/ +#.*$/, '');
  if (value !== undefined && /: |:$/.test(value)) {
    return {
      code: 'YAML_COLON_IN_TEXT',
      start: line.end - (colon?.[1]?.length ?? 0),
      end: line.end - (colon?.[1]?.length ?? 0) + value.length,
      message: 'text with a colon and a space in it needs quotes',
      help: `write \`"${shown(value)}"\`; if a key begins in it, put it on a line of its own`,
    };
  }
  return null;
};

const INDENTATION: Rule = (scene) => {
  const { text, fault } = scene;
  if (!OF_LINES.has(fault.code)) return null;
  const line = lineOf(scene);
  // The value ends on its line, and what follows is indented as if it belonged to it.
  if (fault.code === 'BLOCK_AS_IMPLICIT_KEY' && fault.pos[0] > line.content) {
    const next = nextLine(text, line.end);
    if (next !== null) return { ...INDENT, start: next.first, end: next.end };
  }
  const isBroken =
    fault.code === 'BAD_INDENT' || /^Sequence item without|^A block sequence may not/.test(fault.message);
  const isBehind = isBehindValue(scene) || /^Unexpected seq-item-ind at node end/.test(fault.message);
  const beginsLine = isBehind && fault.pos[0] <= line.content;
  if (isBroken || beginsLine) return { ...INDENT, start: line.first, end: Math.max(line.first + 1, line.end) };
  return null;
};

function nextLine(text: string, from: number): Line | null {
  for (let at = lineEndAt(text, from) + 1; at < text.length; at = lineEndAt(text, at) + 1) {
    const line = lineAt(text, at);
    if (line.first < line.end && text.charAt(line.first) !== '#') return line;
  }
  return null;
}

export const LINE_RULES: readonly Rule[] = [DASH, KEYS];
/** For what nothing else has explained. */
export const LATE_LINE_RULES: readonly Rule[] = [INDENTATION];
