// Numbers with their nouns.
import { groupDigits } from '../../../engine/index.js';

/** `1 file`, `2,000 files`, `2 entries`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${groupDigits(number)} ${number === 1 ? singular : plural}`;
}
