// Cuts a list or mapping in brackets at its commas, where something in it is no YAML (`salvage.ts`): brackets that do not
// match and quotes that are not closed on their line are taken as what they most likely are.
import type { Span } from '../model/span.js';

const OPENING = new Map([
  ['[', ']'],
  ['{', '}'],
]);
const DOUBLE = /"(?:[^"\\\n]|\\.)*"/y;
const SINGLE = /'(?:[^'\n]|'')*'/y;
const COMMENT = /#[^\n]*/y;

export interface FlowItems {
  /** Without white space around them. */
  readonly items: readonly Span[];
  /** Where the collection ends, after its bracket; the end of the text where it is not closed. */
  readonly end: number;
}

/** The items of a collection that `text` begins with. */
export function splitFlow(text: string): FlowItems {
  const open: string[] = [];
  const items: Span[] = [];
  let start = 1;
  const cutAt = (end: number): void => {
    const item = text.slice(start, end);
    const content = item.trimStart();
    if (content !== '') items.push({ start: start + item.length - content.length, end: start + item.trimEnd().length });
    start = end + 1;
  };
  /** The last character that is no white space. */
  let before = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (/\s/.test(character)) continue;
    const skipped = skipAt(text, at, before);
    if (skipped > at) {
      at = skipped - 1;
      before = text.charAt(at);
      continue;
    }
    const close = OPENING.get(character);
    if (close !== undefined) open.push(close);
    else if (character === ',' && open.length === 1) cutAt(at);
    else if (open.includes(character)) {
      open.length = open.lastIndexOf(character);
      if (open.length === 0) {
        cutAt(at);
        return { items, end: at + 1 };
      }
    }
    before = character;
  }
  cutAt(text.length);
  return { items, end: text.length };
}

/** The end of a quoted text or a comment that begins there; the place itself if none does. */
function skipAt(text: string, at: number, before: string): number {
  const character = text.charAt(at);
  const begins = '[{,:'.includes(before);
  const pattern =
    character === '"' && begins
      ? DOUBLE
      : character === "'" && begins
        ? SINGLE
        : character === '#' && /\s/.test(text.charAt(at - 1))
          ? COMMENT
          : null;
  if (pattern === null) return at;
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
