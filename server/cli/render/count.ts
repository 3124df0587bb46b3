// Numbers with their nouns.

/** `1 file`, `2 files`, `2 entries`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${String(number)} ${number === 1 ? singular : plural}`;
}
