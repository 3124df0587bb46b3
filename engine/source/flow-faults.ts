// Faults of what is closed by a mark: quotes, brackets, and the commas between them.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { Span } from '../model/span.js';
import {
  type Enclosure,
  faultSpan,
  INDENT,
  isBehindValue,
  isInFlow,
  lineAt,
  lineOf,
  type Rule,
} from './syntax-scene.js';
import type { SourceFault } from './tree.js';

const CLOSING = new Map([
  ['[', ']'],
  ['{', '}'],
  ['"', '"'],
  ["'", "'"],
]);
const MARKS = new Map([
  ['[', 'a bracket `[`'],
  ['{', 'a brace `{`'],
  ['"', 'a double quote'],
  ["'", 'a single quote'],
]);

/** Said where it should have been closed, with the place where it was opened. */
function unclosed(code: DiagnosticCode, { start, mark }: Enclosure, at: Span, help: string): SourceFault {
  const related = [{ start, end: start + 1, message: 'opened here' }];
  return { code, ...at, message: `${MARKS.get(mark) ?? mark} is not closed`, help, related };
}

const QUOTE: Rule = ({ text, fault, enclosures }) => {
  const mark = /closing (["'])quote/.exec(fault.message)?.[1];
  const open = last(enclosures.filter((one) => one.mark === mark && one.end === null));
  if (mark === undefined || open === undefined) return null;
  const { end } = lineAt(text, open.start);
  const inside = mark === '"' ? 'write a quote within the text as `\\"`' : "write a quote within the text as `''`";
  return unclosed('YAML_QUOTE_UNCLOSED', open, { start: end - 1, end }, `add the closing \`${mark}\`; ${inside}`);
};

const BRACKET: Rule = ({ text, fault, enclosures }) => {
  const close = /end with a ([\]}])/.exec(fault.message)?.[1];
  if (close === undefined) return null;
  const candidates = enclosures.filter(({ mark, start }) => CLOSING.get(mark) === close && start < fault.pos[0]);
  const open = last(candidates.filter(({ end }) => end === null));
  if (open === undefined) {
    const at = faultSpan(text, fault);
    return { ...INDENT, ...at, message: `\`${close}\` must be indented further than the line that it ends` };
  }
  const wrong = text.charAt(fault.pos[0]);
  const isOther = CLOSING.get(open.mark) !== wrong && /[\]}]/.test(wrong);
  const before = text.slice(0, fault.pos[0]).trimEnd().length;
  const start = isOther ? fault.pos[0] : Math.max(open.start, before - 1);
  const help = isOther ? `put \`${close}\` before \`${wrong}\`` : `add \`${close}\` here`;
  return unclosed('YAML_UNCLOSED', open, { start, end: start + 1 }, help);
};

function last(enclosures: readonly Enclosure[]): Enclosure | undefined {
  return enclosures.reduce<Enclosure | undefined>(
    (latest, one) => (latest === undefined || one.start > latest.start ? one : latest),
    undefined,
  );
}

const COMMA: Rule = (scene) => {
  const { text, fault } = scene;
  const at = faultSpan(text, fault);
  const word = wordAt(text, at.start);
  if (/^Unexpected , in flow/.test(fault.message))
    return { code: 'YAML_COMMA_EXTRA', ...at, message: 'there is nothing before this comma', help: 'remove it' };
  const isMissing = /^Missing , /.test(fault.message) || (isInFlow(scene) && isBehindValue(scene));
  if (!isMissing) return null;
  const help = `put a comma before \`${text.slice(word.start, word.end)}\``;
  return { code: 'YAML_COMMA_MISSING', ...word, message: 'a comma is missing before this', help };
};

/** The text without spaces, brackets and commas that begins there; at least one character. */
function wordAt(text: string, start: number): Span {
  const length = /^(?:"[^"\n]*"|'[^'\n]*'|[^\s,[\]{}]+)/.exec(text.slice(start, start + 200))?.[0].length ?? 1;
  return { start, end: start + length };
}

const CLOSED_TWICE: Rule = ({ text, fault }) => {
  if (!/^Unexpected flow-(?:seq|map)-end/.test(fault.message)) return null;
  const at = faultSpan(text, fault);
  const bracket = text.slice(at.start, at.end);
  return { code: 'YAML_BRACKET_EXTRA', ...at, message: `\`${bracket}\` closes nothing`, help: 'remove it' };
};

const COLON_IN_FLOW: Rule = (scene) => {
  if (scene.fault.code !== 'BLOCK_IN_FLOW') return null;
  const at = faultSpan(scene.text, scene.fault);
  return {
    code: 'YAML_COLON_IN_TEXT',
    ...at,
    message: 'text with a colon and a space in it needs quotes',
    help: 'put the text in quotes; if a key begins in it, put a comma before the key',
  };
};

const TRAILING: Rule = (scene) => {
  const { text, fault, enclosures } = scene;
  const line = lineOf(scene);
  if (!isBehindValue(scene) || fault.pos[0] <= line.content) return null;
  const before = enclosures.find(
    ({ end }) => end !== null && end <= fault.pos[0] && text.slice(end, fault.pos[0]).trim() === '',
  );
  if (before === undefined) return null;
  const help =
    before.mark === "'"
      ? "write a quote within the text as `''`, or use double quotes"
      : before.mark === '"'
        ? 'write a quote within the text as `\\"`'
        : 'put it inside, or on a line of its own';
  const message = `this comes after the closing \`${CLOSING.get(before.mark) ?? ''}\``;
  return { code: 'YAML_TRAILING', start: fault.pos[0], end: line.end, message, help };
};

export const FLOW_RULES: readonly Rule[] = [QUOTE, BRACKET, CLOSED_TWICE, COMMA];
/** For what no rule about lines has explained. */
export const LATE_FLOW_RULES: readonly Rule[] = [COLON_IN_FLOW, TRAILING];
