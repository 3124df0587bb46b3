// Durations as the policy language writes them (docs/language.md "Names, texts and durations").

const DAY = 24 * 60 * 60 * 1000;
const UNITS: readonly (readonly [number, string])[] = [
  [DAY, 'd'],
  [DAY / 24, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** The duration in the largest unit that divides it evenly. */
export function durationText(milliseconds: number): string {
  const unit = UNITS.find(([length]) => milliseconds % length === 0);
  return unit === undefined ? `${String(milliseconds)}ms` : `${String(milliseconds / unit[0])}${unit[1]}`;
}
