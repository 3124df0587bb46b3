// How a text is written: without quotes where every reader of YAML takes it for text, else in double quotes; long free
// text folded, text of several lines as a block.
import { plainKind } from '../source/tree.js';

/** Where a text stands: in brackets more characters mean something; prose may take several lines. */
export type TextPlace = 'flow' | 'line' | 'prose';

/** What YAML 1.1 readers take for a truth value or a number, though it is text to us. */
const OLD_YAML =
  /^(?:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?$|^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/i;

/** Characters that nobody sees, or that turn others round: they stand as escapes, also where the author typed them. */
const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}]|[^\S\n ]/u;
const EACH_HIDDEN = new RegExp(HIDDEN, 'gu');

/** Written in one line. */
export function inlineText(text: string, place: TextPlace): string {
  return isPlainSafe(text, place) ? text : JSON.stringify(text).replace(EACH_HIDDEN, escapeOf);
}

function escapeOf(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return point < 0x10000 ? `\\u${point.toString(16).padStart(4, '0')}` : `\\U${point.toString(16).padStart(8, '0')}`;
}

function isPlainSafe(text: string, place: TextPlace): boolean {
  if (!/^[\p{L}\p{N}/_.+][^\n]*$/u.test(text) || text.trim() !== text || text.endsWith(':') || HIDDEN.test(text))
    return false;
  if (/: | #|^\.\.\./.test(text) || (place === 'flow' && /[,[\]{}]|:$/.test(text))) return false;
  return plainKind(text) === 'text' && !OLD_YAML.test(text);
}

/**
 * The text behind `key:` or a dash, as the end of that line and the lines below it, which are indented by the caller.
 * `room` is what is left of the line, `width` what a line below has.
 */
export function blockText(
  text: string,
  place: TextPlace,
  { room, width }: { readonly room: number; readonly width: number },
): { readonly head: string; readonly below: readonly string[] } {
  if (place === 'prose' && isLiteralSafe(text)) {
    const body = text.endsWith('\n') ? text.slice(0, -1) : text;
    return { head: body === text ? '|-' : '|', below: body.split('\n') };
  }
  const inline = inlineText(text, place);
  if (place === 'prose' && inline.length > room && !HIDDEN.test(text) && /^\S+(?: \S+)+$/.test(text)) {
    return { head: '>-', below: wrap(text, width) };
  }
  return { head: inline, below: [] };
}

/** Text with line ends that a block gives back as it is, without further signs. */
function isLiteralSafe(text: string): boolean {
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  return (
    text.includes('\n') &&
    !HIDDEN.test(text) &&
    /^\S/.test(body) &&
    !body.endsWith('\n') &&
    body.split('\n').every((line) => line === line.trimEnd())
  );
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
