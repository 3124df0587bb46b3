// "Did you mean": the known name nearest to what was written, if it is near enough to be a typing mistake. A suggester has one budget
// for all questions, so a broken policy with many names does not cost names times mistakes.

export interface Suggester {
  /** The nearest candidate, or null if none is near or the budget is spent. */
  readonly nearest: (text: string) => string | null;
}

/** Characters of the texts that were asked about, each as often as there are candidates. */
const BUDGET = 32_000_000;

/** Answers for a fixed list of candidates; the first of several equally near ones wins. */
export function makeSuggester(candidates: Iterable<string>): Suggester {
  const known = [...candidates];
  let budget = BUDGET;
  return {
    nearest: (text) => {
      const work = known.length * text.length;
      if (budget < work) return null;
      budget -= work;
      return nearest(text, known);
    },
  };
}

/** The candidate with the fewest edits: at most a third of the longer length, and never more than 3. */
export function nearest(text: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = 4;
  for (const candidate of candidates) {
    const allowed = Math.min(Math.floor(Math.max(candidate.length, text.length) / 3), bestDistance - 1);
    if (candidate === text || Math.abs(candidate.length - text.length) > allowed) continue;
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase(), allowed);
    if (distance <= allowed) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Insertions, removals, replacements, and swaps of neighbours. More than `most` is Infinity, and is known as soon as no way to it is left.
 * Only places that far from the diagonal count, so a row holds these alone: its place `d` is of the length `i + d - most` of `b`.
 */
function editDistance(a: string, b: string, most: number): number {
  const far = (): number[] => new Array<number>(2 * most + 1).fill(Infinity);
  let [before, previous, row] = [far(), far().map((_, d) => (d < most ? Infinity : d - most)), far()];
  for (let i = 1; i <= a.length; i += 1) {
    let least = Infinity;
    for (let d = 0; d < row.length; d += 1) {
      const j = i + d - most;
      let cost = j === 0 ? i : Infinity;
      if (j > 0 && j <= b.length) {
        const isSame = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
        cost = Math.min(
          (previous[d] ?? Infinity) + (isSame ? 0 : 1),
          (previous[d + 1] ?? Infinity) + 1,
          (row[d - 1] ?? Infinity) + 1,
        );
        const isSwap =
          i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
        if (isSwap) cost = Math.min(cost, (before[d] ?? Infinity) + 1);
      }
      row[d] = cost;
      least = Math.min(least, cost);
    }
    if (least > most) return Infinity;
    [before, previous, row] = [previous, row, before];
  }
  return previous[b.length - a.length + most] ?? Infinity;
}
