// The basic readers that all others are made of.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { Located, Span } from '../model/span.js';
import { FORBIDDEN_KEYS, isName, mayBeProvider, utf8Length } from '../model/identity.js';
import { quoted } from './quoting.js';
import { refuse, reportFault, type FileContext } from './context.js';
import { plainKind, type Entry, type Node, type TextNode } from './tree.js';

/** Returns the value, or null after reporting what is wrong. `what` names the value in messages. */
export type Reader<T> = (context: FileContext, node: Node, what: string) => T | null;

/** The entries of a mapping with keys that the author chose. */
export function readEntries(context: FileContext, node: Node, what: string): readonly Entry[] | null {
  if (node.kind === 'mapping') return node.entries;
  if (node.kind === 'refused') return null;
  if (isNull(node)) return refuseNull(context, node, { what, instead: 'write `{}` for none, or remove the key' });
  return refuse(context, 'VALUE_NOT_MAPPING', {
    at: firstLine(context, node),
    message: `${what} must be a mapping, and this is ${kindOf(node)}`,
    help: mappingHelp(node),
  });
}

function mappingHelp(node: Node): string {
  const [, key, value] = (node.kind === 'text' ? /^([A-Za-z]+):(\S.*)$/.exec(node.text) : null) ?? [];
  if (key !== undefined && value !== undefined) return `a space is missing after the colon: write \`${key}: ${value}\``;
  const [, name, rest] = (node.kind === 'text' ? /^([A-Za-z]+) *= *([^\n=]+)$/.exec(node.text) : null) ?? [];
  if (name !== undefined && rest !== undefined) return `write \`${name}: ${rest}\``;
  return node.kind === 'list' ? 'write keys and values, without dashes or brackets' : 'write `key: value`';
}

function listHelp(context: FileContext, node: Node): string {
  const source = context.text.slice(node.start, node.end);
  if (/^-\S/.test(source))
    return `a space is missing after the dash: write \`- ${source.slice(1).split(/\s/)[0] ?? ''}\``;
  if (node.kind === 'mapping') return 'begin each entry with `- `';
  const isOpen = node.kind === 'text' && node.plain && /[[\]{}]/.test(source);
  return isOpen || source.length > 60 || source.includes('\n') ? 'write `[…]`' : `write \`[${source}]\``;
}

export function readList(context: FileContext, node: Node, what: string): readonly Node[] | null {
  if (node.kind === 'list') return node.items;
  if (node.kind === 'refused') return null;
  if (isNull(node)) return refuseNull(context, node, { what, instead: 'write `[]` for none, or remove the key' });
  return refuse(context, 'VALUE_NOT_LIST', {
    at: firstLine(context, node),
    message: `${what} must be a list, and this is ${kindOf(node)}`,
    help: listHelp(context, node),
  });
}

/** A text: in quotes, or without quotes if YAML reads it as nothing else. */
export function readText(context: FileContext, node: Node, what: string): TextNode | null {
  if (node.kind === 'text') {
    const kind = node.plain ? plainKind(node.text) : 'text';
    if (kind === 'text') return node;
    if (kind === 'null') return refuseNull(context, node, { what, instead: undefined });
    const reads = kind === 'number' ? 'a number' : 'a truth value';
    const message = `${what} must be text, and \`${node.text}\` reads as ${reads}`;
    return refuse(context, 'VALUE_NOT_TEXT', { at: node, message, help: `put it in quotes: \`"${node.text}"\`` });
  }
  if (node.kind === 'refused') return null;
  return refuse(context, 'VALUE_NOT_TEXT', {
    at: firstLine(context, node),
    message: `${what} must be text, and this is ${kindOf(node)}`,
    help: pairHelp(node) ?? 'write one text',
  });
}

/** A text whose syntax excludes numbers and truth values. One is refused as what it should be, since quotes would not make it one. */
export function readWord(context: FileContext, node: Node, what: string): TextNode | null {
  return node.kind === 'text' && !isNull(node) ? node : readText(context, node, what);
}

/** Help for a mapping such as `resource: read`, which was probably meant as a text. */
function pairHelp(node: Node): string | undefined {
  if (node.kind !== 'mapping' || node.entries.length !== 1) return undefined;
  const [entry] = node.entries;
  if (entry?.value.kind !== 'text' || entry.value.text === '') return undefined;
  return `without the space it is text: \`${entry.key.text}:${entry.value.text}\``;
}

export function readName(context: FileContext, node: Node, what: string): Located<string> | null {
  const text = readText(context, node, what);
  if (text === null) return null;
  if (!isName(text.text)) return refuseName(context, text, what);
  return { value: text.text, start: text.start, end: text.end };
}

/** A name that is a key. What it names counts even if the name is refused, under the name that the help suggests. */
export function readNameOfKey(context: FileContext, key: TextNode, what: string): Located<string> {
  const { text, start, end } = key;
  if (isName(text)) return { value: text, start, end };
  refuseName(context, key, what);
  return { value: nameMeantBy(text, what) ?? text, start, end };
}

/** The name that comes nearest to a text; null if none does, or if that could not stand there either. */
function nameMeantBy(text: string, what: string): string | null {
  const folded = text
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
  const isReserved = FORBIDDEN_KEYS.has(folded) || (what === 'the provider' && !mayBeProvider(folded));
  return isName(folded) && !isReserved ? folded : null;
}

const NAMES =
  'names are made of `a-z`, `0-9`, `.`, `_`, `-`, begin with a letter or digit, and have at most 128 characters';

function refuseName(context: FileContext, node: TextNode, what: string): null {
  const meant = nameMeantBy(node.text, what);
  const message = `\`${node.text}\` cannot be ${what.startsWith('the ') ? `the name of ${what.replace('the', 'a')}` : `used as ${what}`}`;
  const written = meant !== null && plainKind(meant) !== 'text' ? quoted(meant) : meant;
  const help = written === null ? NAMES : `write \`${written}\`, or another name: ${NAMES}`;
  return refuse(context, 'NAME_INVALID', { at: node, message, help });
}

/** Free text: a description, a reason, the name of a test. */
export function readFreeText(context: FileContext, node: Node, what: string): Located<string> | null {
  const text = readText(context, node, what);
  if (text === null) return null;
  const limit = context.limits.freeTextBytes;
  if (text.text.length * 3 > limit && utf8Length(text.text) > limit) {
    return refuse(context, 'VALUE_TOO_LONG', {
      at: text,
      message: `${what} has more than ${groupDigits(limit)} bytes`,
      help: 'shorten it, and link to the rest',
    });
  }
  return { value: text.text, start: text.start, end: text.end };
}

/** `true` or `false`, without quotes. */
export function readBoolean(context: FileContext, node: Node, what: string): boolean | null {
  if (node.kind === 'refused') return null;
  if (node.kind === 'text' && node.plain && (node.text === 'true' || node.text === 'false'))
    return node.text === 'true';
  if (isNull(node)) return refuseNull(context, node, { what, instead: undefined });
  return refuse(context, 'VALUE_NOT_BOOLEAN', {
    at: firstLine(context, node),
    message: `${what} must be \`true\` or \`false\``,
    help: booleanHelp(node),
  });
}

const SAID_TRUE = /^(?:true|yes|y|on|1)$/i;
const SAID_FALSE = /^(?:false|no|n|off|0)$/i;

function booleanHelp(node: Node): string {
  const text = node.kind === 'text' ? node.text : '';
  if (SAID_TRUE.test(text)) return 'write `true`, without quotes';
  return SAID_FALSE.test(text) ? 'write `false`, without quotes' : 'write `true` or `false`, without quotes';
}

/** The readable items of a list. `word` names one item in messages. */
export function itemsOf<T>(read: Reader<T>, word?: string): Reader<readonly T[]> {
  return (context, node, what) => {
    const items = readList(context, node, what);
    if (items === null) return null;
    const called = word ?? `an entry of ${what}`;
    const values: T[] = [];
    for (const item of items) {
      const value = read(context, item, called);
      if (value !== null) values.push(value);
    }
    return values;
  };
}

/** The values of a mapping with keys that the author chose. */
export function entriesOf<T>(read: (context: FileContext, entry: Entry) => T | null): Reader<readonly T[]> {
  return (context, node, what) => {
    const entries = readEntries(context, node, what);
    return entries?.map((entry) => read(context, entry)).filter((item) => item !== null) ?? null;
  };
}

/** The texts of a list, each once. */
export function textsOf(word?: string, readOne = readText): Reader<readonly TextNode[]> {
  const read = itemsOf(readOne, word);
  return (context, node, what) => {
    const texts = read(context, node, what);
    return texts === null ? null : distinct(context, texts, { textOf: ({ text }) => text });
  };
}

/** A list that must not be empty: a rule or a person would be about nobody. `empty` and `none` tell the author what to write. */
export function filled<T>(read: Reader<T>, words: { readonly empty: string; readonly none?: string }): Reader<T> {
  return (context, node, what) => {
    if (isNull(node) && words.none !== undefined) return refuseNull(context, node, { what, instead: words.none });
    if (node.kind !== 'list' || node.items.length > 0) return read(context, node, what);
    return refuse(context, 'VALUE_EMPTY', { at: node, message: `${what} is an empty list`, help: words.empty });
  };
}

/** The distinct items of a list. Repeated items are reported. */
export function distinct<T extends Span>(
  context: FileContext,
  items: readonly T[],
  {
    textOf,
    helpFor = () => 'remove one, or write what was meant',
  }: { readonly textOf: (item: T) => string; readonly helpFor?: (item: T, before: T) => string },
): readonly T[] {
  if (items.length < 2) return items;
  const seen = new Map<string, T>();
  return items.filter((item) => {
    const text = textOf(item);
    const before = seen.get(text);
    if (before === undefined) {
      seen.set(text, item);
      return true;
    }
    reportFault(context, {
      code: 'VALUE_REPEATED',
      start: item.start,
      end: item.end,
      message: `\`${text}\` appears twice in this list`,
      help: helpFor(item, before),
      related: [{ start: before.start, end: before.end, message: 'first written here' }],
    });
    return false;
  });
}

export function isNull(node: Node): boolean {
  return node.kind === 'text' && node.plain && plainKind(node.text) === 'null';
}

/** `instead` tells the author what to write. It must not suggest leaving out a key that is required. */
export function refuseNull(
  context: FileContext,
  at: Node,
  words: { readonly what: string; readonly instead: string | undefined },
): null {
  const help = words.instead ?? 'write a value, or remove it';
  return refuse(context, 'VALUE_NULL', { at, message: `${words.what} has no value`, help });
}

function kindOf(node: Node): string {
  if (node.kind !== 'text') return node.kind === 'list' ? 'a list' : 'a mapping';
  const kind = node.plain ? plainKind(node.text) : 'text';
  return kind === 'number' ? 'a number' : kind === 'boolean' ? 'a truth value' : 'text';
}

/** The first line of a node, by which long lists and mappings are cited. */
export function firstLine(context: FileContext, node: Node): Span {
  const lineEnd = context.text.indexOf('\n', node.start);
  return { start: node.start, end: lineEnd < 0 ? node.end : Math.min(node.end, lineEnd) };
}
