// The `yaml` package's tokens, and which of them can be released while a text is still being read. The package keeps about a hundred
// bytes for every mark until the end. Complete entries of open lists and mappings can be composed and taken out earlier. Then a legal
// text of any size takes little memory, and a broken one is given up soon after its first fault.
import { Parser, type CST } from 'yaml';
import type { Enclosure } from './syntax-scene.js';

type Collection = Extract<CST.Token, { readonly items: unknown }>;

/** The complete first entries of an open list or mapping. */
export interface CompletePart {
  readonly open: Collection;
  readonly entries: Collection;
  /** The number of entries that are not blank. */
  readonly count: number;
  /** A document of these entries and one more: a fault between two entries is found at the second. */
  readonly document: readonly CST.Token[];
}

export function completeParts({ stack, offset }: Parser): readonly CompletePart[] {
  return stack.flatMap((open) => {
    if (!('items' in open)) return [];
    // The last entry is being read, and comments may still be added to the one before.
    const one = open.items.findLastIndex((item, i) => i < open.items.length - 1 && !isBlankItem(item));
    if (one < 1) return [];
    const closer = new Parser();
    closer.stack.push({ type: 'document', offset: open.offset, start: [] }, firstOf(open, one + 1, offset));
    const entries = firstOf(open, one, offset);
    const count = open.items.slice(0, one).filter((item) => !isBlankItem(item)).length;
    return [{ open, entries, count, document: [...closer.end()] }];
  });
}

/** The collection as if it had ended after its first `count` entries. */
function firstOf(open: Collection, count: number, offset: number): Collection {
  switch (open.type) {
    case 'block-map':
      return { ...open, items: open.items.slice(0, count) };
    case 'block-seq':
      return { ...open, items: open.items.slice(0, count) };
    case 'flow-collection': {
      const isList = open.start.source === '[';
      const end = { type: isList ? 'flow-seq-end' : 'flow-map-end', source: isList ? ']' : '}' } as const;
      return { ...open, items: open.items.slice(0, count), end: [{ ...end, offset, indent: open.indent }] };
    }
  }
}

export function dropEntries({ open, entries }: CompletePart): void {
  open.items.splice(0, entries.items.length);
  if (open.type !== 'flow-collection') return;
  // The first entry follows nothing now, so its comma is removed.
  const start = open.items[0]?.start ?? [];
  const comma = start.findIndex(({ type }) => type === 'comma');
  if (comma >= 0) start.splice(comma, 1);
}

/** The lists of tokens next to the one being read. In a legal text they are short, apart from blank lines and comments. */
export function openLists({ stack }: Parser): readonly CST.Token[][] {
  return stack.flatMap((token) => {
    const last = 'items' in token ? token.items.at(-1) : undefined;
    return [
      ...(token.type === 'document' ? [token.start] : []),
      ...('props' in token ? [token.props] : []),
      ...(last === undefined ? [] : [last.start, last.sep ?? []]),
      ...('end' in token ? [token.end ?? []] : []),
    ];
  });
}

/** This many blanks are kept on each side: blanks separate their neighbours, and the last one indents what follows. */
const NEAR = 3;

/** Shortens long runs of blank lines and comments without changing their meaning. */
export function dropBlanks(tokens: CST.Token[]): void {
  const isNear = (i: number): boolean => {
    for (let near = i - NEAR; near <= i + NEAR; near += 1) if (!isBlank(tokens[near])) return true;
    return false;
  };
  const kept = tokens.filter((_, i) => isNear(i));
  tokens.length = kept.length;
  for (const [i, token] of kept.entries()) tokens[i] = token;
}

function isBlank(token: CST.Token | undefined): boolean {
  return token?.type === 'newline' || token?.type === 'space' || token?.type === 'comment';
}

function isBlankItem({ start, key, sep, value }: CST.CollectionItem): boolean {
  return (key ?? sep ?? value) === undefined && start.every(isBlank);
}

/** The number of open lists and mappings. */
export function openCollections({ stack }: Parser): number {
  // The document is at the bottom of the stack, and a text may be at the top.
  const top = stack.at(-1);
  return stack.length - 1 - (top !== undefined && 'items' in top ? 0 : 1);
}

/** The unit separator, which the package's lexer emits before each text without quotes. */
export const BEFORE_PLAIN = '\u001f';

/** Whether a lexeme is or announces a text, or something that is refused in its place: a tag, an anchor, an alias. */
export function beginsText(lexeme: string): boolean {
  return lexeme !== '' && `${BEFORE_PLAIN}"'!&*`.includes(lexeme.charAt(0));
}

/** An escape of a double-quoted text, or the backslash of one that YAML does not have. */
const ESCAPE = /\\(?:[0abtnvfre "/\\N_LP\t\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})|(\\)/g;

/** The lexeme, or its beginning where it is a text with more than `most` escapes that YAML does not have. */
export function cutAtBadEscapes(lexeme: string, most: number): string {
  if (!lexeme.startsWith('"')) return lexeme;
  let bad = 0;
  for (const { 1: isBad, index } of lexeme.matchAll(ESCAPE)) {
    if (isBad !== undefined) bad += 1;
    if (bad > most) return lexeme.slice(0, index);
  }
  return lexeme;
}

/** Visits all tokens: outer before inner ones, and otherwise in the order of the text. */
export function visitTokens(tokens: Iterable<CST.Token | null | undefined>, visit: (token: CST.Token) => void): void {
  for (const token of tokens) {
    if (token === null || token === undefined) continue;
    visit(token);
    if (token.type === 'document') visitTokens([...token.start, token.value], visit);
    if ('props' in token) visitTokens(token.props, visit);
    if ('items' in token)
      for (const { start, key, sep, value } of token.items) {
        visitTokens(start, visit);
        visitTokens([key, ...(sep ?? []), value], visit);
      }
  }
}

/** Quoted texts, and lists and mappings in brackets. */
export function enclosuresOf(tokens: readonly CST.Token[]): readonly Enclosure[] {
  const enclosures: Enclosure[] = [];
  visitTokens(tokens, (token) => {
    if (token.type === 'flow-collection') {
      const mark = token.start.source;
      const close = token.end.find(({ source }) => source === (mark === '[' ? ']' : '}'));
      enclosures.push({ start: token.start.offset, end: close === undefined ? null : close.offset + 1, mark });
    } else if (token.type === 'double-quoted-scalar' || token.type === 'single-quoted-scalar') {
      const { source, offset } = token;
      const mark = source.charAt(0);
      const isClosed = source.length > 1 && source.endsWith(mark);
      enclosures.push({ start: offset, end: isClosed ? offset + source.length : null, mark });
    }
  });
  return enclosures;
}
