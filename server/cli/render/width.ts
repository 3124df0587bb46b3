// How many columns a text takes on a terminal, so that an underline stands under what it means: wide characters take two,
// combining marks none.

const ZERO = /[\p{Mn}\p{Me}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{17000}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Columns of one line of printable text. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text)
    width += character < '\u0300' ? 1 : ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
