// The order of texts, wherever the project sorts them: by code point, the same on every machine and in every locale.

/**
 * By code point. JavaScript's own `<` compares UTF-16 code units. That puts characters beyond U+FFFF before U+E000 and
 * would disagree with the store (`COLLATE "C"`).
 */
export function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i += 1) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for the characters beyond U+FFFF, so they rank above every other code unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

const SURROGATE = /[\ud800-\udfff]/;

/** Sorted by code point. Without surrogates this is JavaScript's own order, which is far faster. */
export function sortTexts(texts: Iterable<string>): string[] {
  const sorted = Array.from(texts).sort();
  return sorted.some((text) => SURROGATE.test(text)) ? sorted.sort(compareTexts) : sorted;
}

/** Works for infinities too, where a difference would be NaN. */
export function compareNumbers<N extends number | bigint>(a: N, b: N): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareLists(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const order = compareTexts(a[i] ?? '', b[i] ?? '');
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
