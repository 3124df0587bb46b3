// "Did you mean": the known name nearest to what was written, if it is near enough to be a typing mistake. A suggester has one budget
// for all questions, so a broken policy with many names does not cost names times mistakes.

export interface Suggester {
  /** The nearest candidate, or null if none is near or the budget is spent. */
  readonly nearest: (text: string) => string | null;
}

const BUDGET = 2_000_000;

/** Answers for a fixed list of candidates; the first of several equally near ones wins. */
export function makeSuggester(candidates: Iterable<string>): Suggester {
  const known = [...candidates];
  let budget = BUDGET;
  return {
    nearest: (text) => {
      if (budget < known.length) return null;
      budget -= known.length;
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
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    if (distance <= allowed) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, removals, replacements, and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replace);
      if (i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
