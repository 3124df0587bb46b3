// The values of the policy language: how they look, for the editor schemas, the documents and the formatter, and how they are read. Each
// mapping of the language is described once, by its rows, and reading it reads all of its keys.
import { nearest } from '../diagnostics/nearest.js';
import { refuse, type FileContext } from './context.js';
import { isNull, readEntries, refuseNull, type Reader } from './fields.js';
import type { TextSyntax } from './texts.js';
import { quoteIt } from './quoting.js';
import type { Entry, MappingNode, Node, TextNode } from './tree.js';

export type ValueShape =
  | { readonly kind: 'text'; readonly syntax: TextSyntax }
  | { readonly kind: 'version' | 'boolean' }
  | { readonly kind: 'count'; readonly least: number }
  | { readonly kind: 'list'; readonly of: ValueShape; readonly least: number }
  /** The author chooses the keys. */
  | { readonly kind: 'named'; readonly key: TextSyntax; readonly of: ValueShape }
  | { readonly kind: 'mapping'; readonly shape: MappingShape }
  /** At most one alternative is a list, one a mapping and one a text, so the kind of the value tells which is meant. */
  | { readonly kind: 'either'; readonly of: readonly ValueShape[] };

/** A value under a key. */
export type Value<T> = ValueShape & { readonly read: Reader<T> };

/** `about` is one sentence that an editor shows. */
type FieldRow = readonly [value: Value<unknown>, about: string];
type FieldRows = Readonly<Record<string, FieldRow>>;

export interface FieldShape {
  readonly key: string;
  readonly value: Value<unknown>;
  readonly about: string;
  /** The key, as messages show it. */
  readonly what: string;
}

interface Rules {
  readonly required: readonly string[];
  /** Of each of these lists exactly one key must be present. */
  readonly exactlyOne: readonly (readonly string[])[];
  /** At least one of these keys must be present and not empty. */
  readonly anyFilled: readonly string[];
  /** Whether `{}` is refused. */
  readonly notEmpty: boolean;
  /** Keys that belong elsewhere, with a message that says where. */
  readonly elsewhere: ReadonlyMap<string, string>;
  /** Keys that other policy languages have, with what stands for them here. */
  readonly foreign: readonly (readonly [keys: RegExp, help: string])[];
}

export interface MappingShape<Rows extends FieldRows = FieldRows> extends Rules {
  /** The name of the mapping in messages, with its article. */
  readonly what: string;
  readonly rows: Rows;
  /** The rows by key, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, FieldShape>;
  readonly keys: readonly string[];
}

export function shape<Rows extends FieldRows>(
  what: string,
  rows: Rows,
  rules: Partial<Rules> = {},
): MappingShape<Rows> {
  const fields = new Map(
    Object.entries(rows).map(([key, [value, about]]) => [key, { key, value, about, what: quote(key) }] as const),
  );
  const none = { required: [], exactlyOne: [], anyFilled: [], notEmpty: false };
  const others = { elsewhere: new Map<string, string>(), foreign: [] };
  return { what, rows, fields, keys: [...fields.keys()], ...none, ...others, ...rules };
}

export const text = (syntax: TextSyntax): ValueShape => ({ kind: 'text', syntax });
export const list = (of: ValueShape, least = 0): ValueShape => ({ kind: 'list', of, least });
export const named = (key: TextSyntax, of: ValueShape): ValueShape => ({ kind: 'named', key, of });
export const mapping = (of: MappingShape): ValueShape => ({ kind: 'mapping', shape: of });
export const either = (...of: readonly ValueShape[]): ValueShape => ({ kind: 'either', of });

export function value<T>(looks: ValueShape, read: Reader<T>): Value<T> {
  return { ...looks, read };
}

export interface ReadMapping<Rows extends FieldRows> {
  /** By key. A value is absent if its key is, and null if it is wrong, which has been reported. */
  readonly values: {
    readonly [Key in keyof Rows]?: (Rows[Key] extends readonly [Value<infer T>, string] ? T : never) | null;
  };
  readonly entries: readonly Entry[];
  /** Whether a missing key may be a misspelt or broken one that was refused. */
  readonly mayHaveLost: boolean;
  /** The known keys that unknown keys were probably meant to be. That they are missing is not a mistake of its own. */
  readonly misspelt: readonly string[];
}

/** Reads a mapping of known keys. Missing required keys and unknown keys are reported. */
export function readMapping<Rows extends FieldRows>(
  context: FileContext,
  node: Node,
  of: MappingShape<Rows>,
): ReadMapping<Rows> | null {
  if (isNull(node) && of.required.length > 0)
    return refuseNull(context, node, { what: of.what, instead: `it needs ${dueKeys(of)}` });
  const entries = readEntries(context, node, of.what);
  if (entries === null || node.kind !== 'mapping') return null;
  const values: Record<string, unknown> = {};
  let mayHaveLost = node.partial === true;
  const misspelt: string[] = [];
  for (const [index, { key, value: inner }] of entries.entries()) {
    const field = of.fields.get(key.text);
    // Looking up the shape's own key string is faster than looking up one cut from a file.
    if (field !== undefined) values[field.key] = field.value.read(context, inner, field.what);
    else if (isRestOfText(context, node, index)) mayHaveLost = true;
    else {
      refuseKey(context, key, of);
      mayHaveLost = true;
      const meant = meantKey(key.text, of);
      if (meant !== null) misspelt.push(meant);
    }
  }
  for (const name of of.required) {
    if (values[name] !== undefined || node.partial === true || misspelt.includes(name)) continue;
    const at = entries[0]?.key ?? { start: node.start, end: node.end };
    const help = `add \`${name}: …\``;
    refuse(context, 'KEY_MISSING', { at, message: `${of.what} needs the key \`${name}\``, help });
  }
  return { values: values as ReadMapping<Rows>['values'], entries, mayHaveLost, misspelt };
}

/** The entry of a key: its place, and its value as written. */
export function entryOf<Rows extends FieldRows>(read: ReadMapping<Rows>, name: keyof Rows): Entry | undefined {
  return read.entries.find(({ key }) => key.text === name);
}

/** Whether an entry that no shape knows may be the rest of a text: it has no value, or its key has spaces. */
function mayBeText({ key, value: { kind, start } }: Entry): boolean {
  return key.plain && (start === key.start || (kind === 'text' && key.text.includes(' ')));
}

/**
 * Whether an unknown key is rather the rest of the text before it, which stands in braces without quotes and so ended with a comma.
 * Reported at the first such key.
 */
function isRestOfText(context: FileContext, { entries, start }: MappingNode, index: number): boolean {
  const isRest = (at: number): boolean => entries[at] !== undefined && mayBeText(entries[at]);
  if (context.text.charAt(start) !== '{' || !isRest(index)) return false;
  let owner = index - 1;
  while (isRest(owner)) owner -= 1;
  const { key, value: begun } = entries[owner] ?? {};
  if (key === undefined || begun?.kind !== 'text' || !begun.plain) return false;
  if (owner < index - 1) return true;
  let last = index;
  while (isRest(last + 1)) last += 1;
  const at = { start: entries[index]?.key.start ?? start, end: entries[last]?.value.end ?? begun.end };
  const meant = context.text.slice(begun.start, at.end).replaceAll(/\s+/g, ' ');
  const message = `a comma ends the text of \`${key.text}\`, and what follows is not a key`;
  const help = `if it is a part of \`${key.text}\`, quote the text: ${quoteIt(meant)}`;
  refuse(context, 'KEY_UNKNOWN', { at, message, help });
  return true;
}

function refuseKey(context: FileContext, key: TextNode, of: MappingShape): void {
  const elsewhere = of.elsewhere.get(key.text);
  if (elsewhere !== undefined) {
    const message = `\`${key.text}\` does not belong in this file`;
    refuse(context, 'KEY_MISPLACED', { at: key, message, help: elsewhere });
    return;
  }
  const message = `${of.what} has no key \`${key.text}\``;
  refuse(context, 'KEY_UNKNOWN', { at: key, message, help: unknownKeyHelp(key.text, of) });
}

/** `id`, `namespace` and one of `role`, `identity` */
function dueKeys({ required, exactlyOne, anyFilled }: MappingShape): string {
  const choices = [...exactlyOne, anyFilled].filter(({ length }) => length > 0);
  const due = required.map(quote).join(', ');
  return [due, ...choices.map((keys) => `one of ${keys.map(quote).join(', ')}`)].join(' and ');
}

/** Without a space after the colon, `role:staff` is one text and not an entry. */
const SPACELESS = /^([A-Za-z]+):(.+)$/s;

function meantKey(written: string, { keys, foreign }: MappingShape): string | null {
  if (foreign.some(([words]) => words.test(written))) return null;
  const joined = SPACELESS.exec(written)?.[1];
  return joined !== undefined && keys.includes(joined) ? joined : nearest(written, keys);
}

function unknownKeyHelp(written: string, of: MappingShape): string {
  const foreign = of.foreign.find(([keys]) => keys.test(written))?.[1];
  if (foreign !== undefined) return foreign;
  const meant = meantKey(written, of);
  if (meant !== null && written.startsWith(`${meant}:`))
    return `a space is missing after the colon: write \`${meant}: ${written.slice(meant.length + 1)}\``;
  if (meant !== null) return `did you mean \`${meant}\`?`;
  const inside = [...of.fields.values()].filter(
    ({ value }) => value.kind === 'mapping' && value.shape.keys.includes(written),
  );
  const [first] = inside;
  if (first === undefined) return `the keys of ${of.what} are ${of.keys.map(quote).join(', ')}`;
  const places = inside.map(({ what }) => what).join(' or ');
  return `write it inside ${places}: \`${first.what.slice(1, -1)}: { ${written}: … }\``;
}

function quote(key: string): string {
  return `\`${key}\``;
}
