// How a text is written: without quotes if every YAML reader takes it for a string, otherwise in double quotes. Long free text is
// folded, and text of several lines becomes a block.
import { plainKind } from '../source/tree.js';

/** Where a text stands. Inside brackets more characters have a meaning; prose may take several lines. */
export type TextPlace = 'flow' | 'line' | 'prose';

/** Texts that YAML 1.1 readers take for a boolean or a number, and this program for a string. */
const OLD_YAML =
  /^(?:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?$|^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/i;

/** Invisible characters, and characters that reverse the direction of others. They are always written as escapes. */
const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}]|[^\S\n ]/u;
const EACH_HIDDEN = new RegExp(HIDDEN, 'gu');

/** The text on one line. */
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
 * The text behind `key:` or a dash, as the end of that line and the lines below it. The caller indents the lines below. `room` is
 * what is left of the first line, `width` is what a line below has, both in characters.
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

/** Whether a literal block returns this text of several lines unchanged, without further indicators. */
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
