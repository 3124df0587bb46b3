// Numbers with their nouns.
import { groupDigits } from '../../../engine/index.js';

/** `1 file`, `2,000 files`, `2 entries`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${groupDigits(number)} ${number === 1 ? singular : plural}`;
}

/** `3 of 1,200 tests` */
export function countOf(part: number, total: number, singular: string): string {
  return `${groupDigits(part)} of ${count(total, singular)}`;
}
