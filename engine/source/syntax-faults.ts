// Messages for the faults that the `yaml` package finds. Its own codes and messages may change between versions and use the terms of its
// grammar. So the user's mistake is recognized from the lines around the place. An unknown fault is still an error.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { Span } from '../model/span.js';
import { quoteIt, writeIt } from './quoting.js';
import {
  type Enclosure,
  lineAbove,
  lineAt,
  lineBelow,
  makeScene,
  type PackageFault,
  type SyntaxScene,
} from './syntax-scene.js';
import type { SourceFault } from './tree.js';

/** Explains a fault. Null if the rule does not know it. */
type Rule = (scene: SyntaxScene) => SourceFault | null;

interface FaultWords {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: string;
}

/** `enclosures` are those of `text`, in any order. */
export function explainSyntax(text: string, fault: PackageFault, enclosures: readonly Enclosure[]): SourceFault {
  const scene = makeScene(text, fault, enclosures);
  for (const rule of RULES) {
    const found = rule(scene);
    if (found !== null) return found;
  }
  const message = `\`${text.slice(scene.at.start, scene.at.end)}\` does not fit here`;
  const help = 'put text in quotes if it has characters that mean something in YAML; see also the lines above';
  return { code: 'YAML_SYNTAX', ...scene.at, message, help };
}

/** A rule for faults with a matching code or message of the package. */
function named(by: RegExp, words: FaultWords): Rule {
  return ({ fault, at }) => (by.test(fault.message) || by.test(fault.code) ? { ...words, ...at } : null);
}

const INDENT: FaultWords = {
  code: 'YAML_INDENT',
  message: 'the indentation does not fit the lines above',
  help: 'begin all entries of a list or mapping in one column, and what is inside of them further right',
};

const COLON_IN_TEXT = {
  code: 'YAML_COLON_IN_TEXT',
  message: 'text with a colon and a space in it needs quotes',
} as const;

const CLOSING = new Map([
  ['[', { close: ']', what: 'a bracket `[`' }],
  ['{', { close: '}', what: 'a brace `{`' }],
  ['"', { close: '"', what: 'a double quote' }],
  ["'", { close: "'", what: 'a single quote' }],
]);

/** How to write a quote inside quotes. */
const QUOTE_WITHIN = new Map([
  ['"', 'write a quote within the text as `\\"`'],
  ["'", "write a quote within the text as `''`"],
]);

/** The last enclosure of this kind that is still open. */
function lastOpen(enclosures: readonly Enclosure[], isLike: (one: Enclosure) => boolean): Enclosure | undefined {
  const open = enclosures.filter((one) => one.end === null && isLike(one));
  return open.sort((a, b) => b.start - a.start)[0];
}

/** Reported where the enclosure should have been closed, with the place where it was opened. */
function unclosed({ start, mark }: Enclosure, at: Span, help: string): SourceFault {
  const code = QUOTE_WITHIN.has(mark) ? 'YAML_QUOTE_UNCLOSED' : 'YAML_UNCLOSED';
  const related = [{ start, end: start + 1, message: 'opened here' }];
  return { code, ...at, message: `${CLOSING.get(mark)?.what ?? mark} is not closed`, help, related };
}

const QUOTE: Rule = ({ text, fault, enclosures }) => {
  const mark = /closing (["'])quote/.exec(fault.message)?.[1];
  const open = lastOpen(enclosures, (one) => one.mark === mark);
  if (mark === undefined || open === undefined) return null;
  const { end } = lineAt(text, open.start);
  return unclosed(open, { start: end - 1, end }, `add the closing \`${mark}\`; ${QUOTE_WITHIN.get(mark) ?? ''}`);
};

const BRACKET: Rule = ({ text, fault, enclosures, at }) => {
  const [from] = fault.pos;
  const close = /end with a ([\]}])/.exec(fault.message)?.[1];
  if (close === undefined) return null;
  const open = lastOpen(enclosures, ({ mark, start }) => CLOSING.get(mark)?.close === close && start < from);
  if (open === undefined)
    return { ...INDENT, ...at, message: `\`${close}\` must be indented further than the line that it ends` };
  const wrong = text.charAt(from);
  if (/[\]}]/.test(wrong) && wrong !== close)
    return unclosed(open, { start: from, end: from + 1 }, `put \`${close}\` before \`${wrong}\``);
  const start = Math.max(open.start, text.slice(0, from).trimEnd().length - 1);
  return unclosed(open, { start, end: start + 1 }, `add \`${close}\` here`);
};

const BRACKET_EXTRA: Rule = ({ text, fault, at }) => {
  if (!/^Unexpected flow-(?:seq|map)-end/.test(fault.message)) return null;
  const message = `\`${text.slice(at.start, at.end)}\` closes nothing`;
  return { code: 'YAML_BRACKET_EXTRA', ...at, message, help: 'remove it' };
};

const COMMA_MISSING: Rule = ({ text, fault, at: { start }, isInFlow, isBehindValue }) => {
  if (!/^Missing , /.test(fault.message) && !(isInFlow && isBehindValue)) return null;
  const word = /^(?:"[^"\n]*"|'[^'\n]*'|[^\s,[\]{}]+)/.exec(text.slice(start, start + 200))?.[0] ?? '';
  const at = { start, end: start + Math.max(1, word.length) };
  const help = `put a comma before \`${text.slice(start, at.end)}\``;
  return { code: 'YAML_COMMA_MISSING', ...at, message: 'a comma is missing before this', help };
};

const ESCAPE: Rule = ({ text, fault, at: { start }, line }) => {
  if (fault.code !== 'BAD_DQ_ESCAPE') return null;
  const end = Math.max(start + 1, Math.min(start + 2, line.end));
  const message = `there is no escape \`${text.slice(start, end)}\``;
  return { code: 'YAML_ESCAPE', start, end, message, help: 'write `\\\\` for a backslash, or use single quotes' };
};

const SCALAR_START: Rule = ({ text, fault, at, line, isInFlow }) => {
  if (fault.code !== 'BAD_SCALAR_START') return null;
  const rest = text.slice(at.start, line.end);
  const whole = isInFlow ? /^[^,[\]{}]*/.exec(rest)?.[0] : rest.replace(/ +#.*$/, '');
  const message = `text that begins with \`${text.slice(at.start, at.end)}\` needs quotes`;
  const help = quoteIt(whole?.trim() ?? rest);
  return { code: 'YAML_SCALAR_START', ...at, message, help };
};

/** The package's codes for lines that do not fit those before them. */
const OF_LINES =
  /^(?:BAD_INDENT|BLOCK_AS_IMPLICIT_KEY|BLOCK_IN_FLOW|MISSING_CHAR|MULTILINE_IMPLICIT_KEY|UNEXPECTED_TOKEN)$/;

const DASH: Rule = ({ text, fault, line }) => {
  const { first, content, words } = line;
  if (!OF_LINES.test(fault.code)) return null;
  if (/^-[\w"'{[*/]/.test(words)) {
    const end = content + (/^-\S+/.exec(words)?.[0] ?? '-').length;
    const [message, help] = [
      'a space is missing after the dash',
      writeIt(`- ${words.slice(1)}`, 'write a space after the dash'),
    ];
    return { code: 'YAML_DASH_SPACE', start: content, end, message, help };
  }
  const above = lineAbove(text, line);
  const isInColumn = above !== null && above.first - above.start === first - line.start;
  // The line above must begin an entry of a list in this column, and this line must not.
  if (content > first || !isInColumn || above.content === above.first) return null;
  const [message, help] = ['an entry of a list without its dash', writeIt(`- ${words}`, 'write `- ` before it')];
  return { code: 'YAML_DASH_MISSING', start: first, end: first + Math.max(1, words.length), message, help };
};

/** For a line that should be a key with or without a value. */
const KEY: Rule = ({ fault, line: { first, content: start, end, words }, isInFlow }) => {
  const isAtDash = start > first && fault.pos[0] <= first;
  if (!OF_LINES.test(fault.code) || fault.code === 'UNEXPECTED_TOKEN' || isAtDash || isInFlow) return null;
  if (/: |:$/.test(words)) return null;
  const [, key, value] = /^([A-Za-z][\w-]*):([^\s:].*)$/.exec(words) ?? [];
  if (key !== undefined && value !== undefined) {
    const help = writeIt(`${key}: ${value}`, `write a space after \`${key}:\``);
    return { code: 'YAML_COLON_SPACE', start, end, message: 'a space is missing after the colon', help };
  }
  if (/["'[{|>#&*!%@`]/.test(words)) return null;
  const [, word, rest] = /^(\S+) +(\S.*)$/.exec(words) ?? [];
  const meant = word !== undefined && rest !== undefined ? `${word}: ${rest}` : `${words}:`;
  const help = writeIt(meant, 'write a colon and a space after the key');
  return { code: 'YAML_COLON_MISSING', start, end, message: 'a key without a colon', help };
};

const COLON_IN_LINE: Rule = ({ fault, line: { end, words } }) => {
  const behind = OF_LINES.test(fault.code) ? /^[^"'[{#]*?: +([^"'[{#].*)$/.exec(words)?.[1] : undefined;
  const value = behind?.replace(/ +#.*$/, '');
  if (behind === undefined || value === undefined || !/: |:$/.test(value)) return null;
  const start = end - behind.length;
  const help = `${quoteIt(value)}; if a key begins in it, put it on a line of its own`;
  return { ...COLON_IN_TEXT, start, end: start + value.length, help };
};

const TRAILING: Rule = ({ text, fault, line, enclosures, isBehindValue }) => {
  const [start] = fault.pos;
  if (!isBehindValue || start <= line.content) return null;
  const before = enclosures.find(({ end }) => end !== null && end <= start && text.slice(end, start).trim() === '');
  if (before === undefined) return null;
  const message = `this comes after the closing \`${CLOSING.get(before.mark)?.close ?? ''}\``;
  const inQuotes = QUOTE_WITHIN.get(before.mark);
  const help =
    inQuotes === undefined
      ? 'put it inside, or on a line of its own'
      : `${inQuotes}${before.mark === "'" ? ', or use double quotes' : ''}`;
  return { code: 'YAML_TRAILING', start, end: line.end, message, help };
};

const INDENTATION: Rule = ({ text, fault, line, isBehindValue }) => {
  if (!OF_LINES.test(fault.code)) return null;
  // The value ends on its line, but the next line is indented as if it belonged to the value.
  const isBelow = fault.code === 'BLOCK_AS_IMPLICIT_KEY' && fault.pos[0] > line.content;
  const below = isBelow ? lineBelow(text, line) : null;
  if (below !== null) return { ...INDENT, start: below.first, end: below.end };
  const isBroken =
    fault.code === 'BAD_INDENT' || /^Sequence item without|^A block sequence may not/.test(fault.message);
  const isBehind = isBehindValue || /^Unexpected seq-item-ind at node end/.test(fault.message);
  if (!isBroken && !(isBehind && fault.pos[0] <= line.content)) return null;
  return { ...INDENT, start: line.first, end: Math.max(line.first + 1, line.end) };
};

/** The first rule that knows a fault explains it. */
const RULES: readonly Rule[] = [
  QUOTE,
  BRACKET,
  BRACKET_EXTRA,
  named(/^Unexpected , in flow/, {
    code: 'YAML_COMMA_EXTRA',
    message: 'there is nothing before this comma',
    help: 'remove it',
  }),
  COMMA_MISSING,
  named(/^Comments must be separated/, {
    code: 'YAML_COMMENT_SPACE',
    message: 'a space is missing before the comment',
    help: 'write ` #`; where the hash is part of a text, put the text in quotes',
  }),
  ESCAPE,
  SCALAR_START,
  named(/^Unexpected block-seq-ind on same line/, {
    code: 'YAML_LIST_INLINE',
    message: 'a list with dashes cannot begin on the line of its key',
    help: 'begin it on the next line, or write it as `[…]`',
  }),
  DASH,
  KEY,
  COLON_IN_LINE,
  named(/^BLOCK_IN_FLOW$/, {
    ...COLON_IN_TEXT,
    help: 'put the text in quotes; if a key begins in it, put a comma before the key',
  }),
  TRAILING,
  INDENTATION,
  named(/^(?:BLOCK_AS_IMPLICIT_KEY|MULTILINE_IMPLICIT_KEY|KEY_OVER_1024_CHARS)$|^Implicit (?:map )?keys need/, {
    code: 'YAML_KEY_SYNTAX',
    message: 'a key must be a short text on one line',
    help: 'write the key and its colon on one line',
  }),
];
