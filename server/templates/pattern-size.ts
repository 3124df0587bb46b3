// How large a pattern becomes when it is compiled. RE2 writes out counted repetitions, so `(a{100}){10}` has a thousand
// parts, and a few kilobytes of such text take gigabytes. The size is estimated before anything is compiled; RE2's own
// is at most twice as high.

const REPEAT = /\{(\d+)(?:,(\d*))?\}/y;
const ESCAPE = /\\(?:[pPux]\{[^}]*\}|[^])/y;

/** The number of parts with all repetitions written out; Infinity if that cannot be told. */
export function patternSize(pattern: string): number {
  return writtenOut(pattern, () => 1);
}

/**
 * How many ranges of characters the parts have together, at most. RE2 writes them out for each part, so 900 times a long
 * class takes megabytes.
 */
export function patternRanges(pattern: string): number {
  const perCharacter = isFolded(pattern) ? FOLDED : 1;
  return writtenOut(pattern, (atom) => perCharacter * atom.length + UNICODE_RANGES * (atom.match(CLASS)?.length ?? 0));
}

const CLASS = /\\[pP]/g;

/** Ranges of the largest class of Unicode (`\p{C}`). */
const UNICODE_RANGES = 741;

/** Letters of either case are scattered: a range, which has three characters, becomes fewer than three times as many. */
const FOLDED = 20;

function writtenOut(pattern: string, sizeOf: (atom: string) => number): number {
  const outer: number[] = [];
  let size = 1;
  /** The size of the part that a repetition at this place would repeat. */
  let last = 0;
  let at = 0;
  while (at < pattern.length) {
    const repeat = match(REPEAT, pattern, at);
    const character = pattern[at];
    const end = endOfAtom(pattern, at);
    if (repeat !== null) {
      const times = Math.max(Number(repeat[1]), Number(repeat[2] ?? 0)) + 1;
      size += last * times;
      last *= times + 1;
      at += repeat[0].length;
      continue;
    }
    if (character === '(') {
      outer.push(size);
      size = 1;
      last = 0;
    } else if (character === ')') {
      last = size + 1;
      size = (outer.pop() ?? 0) + last;
    } else if (character === '*' || character === '+' || character === '?') {
      size += 1;
      last += 1;
    } else {
      last = sizeOf(pattern.slice(at, end));
      size += last;
    }
    at = end;
  }
  return at === Infinity ? Infinity : outer.reduce((sum, part) => sum + part, size);
}

/**
 * The end of the atom. Infinity for syntax of RE2 that ECMAScript does not have (`\Q`, `[[:alpha:]]`), because the two
 * would see different structures.
 */
function endOfAtom(pattern: string, at: number): number {
  if (pattern.startsWith('\\Q', at)) return Infinity;
  if (pattern[at] === '\\') return at + (match(ESCAPE, pattern, at)?.[0].length ?? 1);
  if (pattern[at] !== '[') return at + 1;
  for (let end = at + 1; end < pattern.length; end += 1) {
    if (pattern.startsWith('[:', end)) return Infinity;
    if (pattern[end] === '\\') end += 1;
    else if (pattern[end] === ']') return end + 1;
  }
  return pattern.length;
}

/** Whether it takes letters of either case for the same: RE2 then looks at every character of each range. */
export function isFolded(pattern: string): boolean {
  return /\(\?[a-z]*i/i.test(pattern);
}

function match(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}
