// The few decoders that all others are written in. Each gives the value, or null after reporting what is wrong; `what`
// is how the value is called in a message.
import { groupDigits } from '../diagnostics/fault-words.js';
import { nearest } from '../diagnostics/nearest.js';
import type { Located } from '../model/span.js';
import { isName, utf8Length } from '../model/identity.js';
import { refuse, reportFault, type FileContext } from './context.js';
import type { MappingShape } from './shapes.js';
import { plainKind, type Entry, type Node, type TextNode } from './tree.js';

/** The values of a mapping by key; keys that are there. */
export type Fields = ReadonlyMap<string, Entry>;

/** A mapping of known keys. Required ones that are missing are reported, and so is what is unknown. */
export function readFields(context: FileContext, node: Node, shape: MappingShape): Fields | null {
  if (isNull(node) && shape.required.length > 0)
    return refuseNull(context, node, { what: shape.what, instead: `it needs ${dueKeys(shape)}` });
  const entries = readEntries(context, node, shape.what);
  if (entries === null || node.kind !== 'mapping') return null;
  const fields = new Map<string, Entry>();
  for (const entry of entries) {
    const { key } = entry;
    if (shape.keys.includes(key.text)) fields.set(key.text, entry);
    else {
      const elsewhere = shape.elsewhere.get(key.text);
      if (elsewhere !== undefined)
        refuse(context, 'KEY_MISPLACED', {
          at: key,
          message: `\`${key.text}\` does not belong in this file`,
          help: elsewhere,
        });
      else {
        const message = `${shape.what} has no key \`${key.text}\``;
        refuse(context, 'KEY_UNKNOWN', { at: key, message, help: unknownKeyHelp(key.text, shape) });
      }
    }
  }
  for (const name of shape.required) {
    if (fields.has(name) || node.partial === true) continue;
    // A misspelt key has been reported; that the right one is missing then says nothing new.
    if (entries.some(({ key }) => !fields.has(key.text) && meantKey(key.text, shape) === name)) continue;
    const first = entries[0];
    const at = first === undefined ? { start: node.start, end: node.end } : first.key;
    const help = `add \`${name}: …\``;
    refuse(context, 'KEY_MISSING', { at, message: `${shape.what} needs the key \`${name}\``, help });
  }
  return fields;
}

/** `id`, `namespace` and one of `role`, `identity` */
function dueKeys({ required, exactlyOne, anyFilled }: MappingShape): string {
  const choice = [...exactlyOne, ...anyFilled].map(quote);
  const due = required.map(quote).join(', ');
  return choice.length === 0 ? due : `${due} and one of ${choice.join(', ')}`;
}

/** `role:staff` is one text. */
const SPACELESS = /^([A-Za-z]+):(.+)$/s;

function meantKey(text: string, { keys }: MappingShape): string | null {
  const joined = SPACELESS.exec(text)?.[1];
  return joined !== undefined && keys.includes(joined) ? joined : nearest(text, keys);
}

function unknownKeyHelp(text: string, shape: MappingShape): string {
  const meant = meantKey(text, shape);
  const inside = [...shape.fields].filter(
    ([, { value }]) => value.kind === 'mapping' && value.shape.keys.includes(text),
  );
  if (meant === null && inside.length > 0)
    return `write it inside ${inside.map(([key]) => quote(key)).join(' or ')}: \`${inside[0]?.[0] ?? ''}: { ${text}: … }\``;
  if (meant === null) return `the keys of ${shape.what} are ${shape.keys.map(quote).join(', ')}`;
  if (text.startsWith(`${meant}:`))
    return `a space is missing after the colon: write \`${meant}: ${text.slice(meant.length + 1)}\``;
  return `did you mean \`${meant}\`?`;
}

/** Whether a missing key may be one that was refused: misspelt, or broken. */
export function mayHaveLost(node: Node, fields: Fields): boolean {
  return node.kind === 'mapping' && (node.partial === true || node.entries.length > fields.size);
}

function quote(text: string): string {
  return `\`${text}\``;
}

/** The entries of a mapping whose keys are names of the author's. */
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
  return source.length > 60 || source.includes('\n') ? 'write `[…]`' : `write \`[${source}]\``;
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

/** A text as such: quoted, or without quotes and nothing but text. */
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

/** `resource: read` is a mapping, and was hardly meant to be one. */
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

export function refuseName(context: FileContext, node: TextNode, what: string): null {
  const folded = node.text
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '');
  const words =
    'a name is made of `a-z`, `0-9`, `.`, `_`, `-`, begins with a letter or digit, and has at most 128 characters';
  const help = isName(folded) && folded !== node.text ? `${words}; \`${folded}\` would be one` : words;
  return refuse(context, 'NAME_INVALID', { at: node, message: `${what} is not a name`, help });
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
    help: 'without quotes, in lower case',
  });
}

/** Reports each text that stands in the list before. Gives the texts that are there for the first time. */
export function refuseRepeated<T extends TextNode>(context: FileContext, texts: readonly T[]): readonly T[] {
  const seen = new Map<string, T>();
  return texts.filter((text) => !isRepeated(context, text, seen));
}

export function isRepeated<T extends { readonly text: string; readonly start: number; readonly end: number }>(
  context: FileContext,
  entry: T,
  seen: Map<string, T>,
): boolean {
  const before = seen.get(entry.text);
  if (before === undefined) {
    seen.set(entry.text, entry);
    return false;
  }
  reportRepeated(context, entry, before);
  return true;
}

function reportRepeated(
  context: FileContext,
  entry: { readonly text: string; readonly start: number; readonly end: number },
  before: { readonly start: number; readonly end: number },
): void {
  const related = [{ start: before.start, end: before.end, message: 'first written here' }];
  reportFault(context, {
    code: 'VALUE_REPEATED',
    start: entry.start,
    end: entry.end,
    message: `\`${entry.text}\` appears twice in this list`,
    help: 'remove one, or write what was meant',
    related,
  });
}

export function isNull(node: Node): boolean {
  return node.kind === 'text' && node.plain && plainKind(node.text) === 'null';
}

/** `instead` says what to write. It never says to leave the key out if that would be refused as well. */
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

/** Long lists and mappings are cited by their first line. */
export function firstLine(context: FileContext, node: Node): { readonly start: number; readonly end: number } {
  const lineEnd = context.text.indexOf('\n', node.start);
  return { start: node.start, end: lineEnd < 0 ? node.end : Math.min(node.end, lineEnd) };
}
