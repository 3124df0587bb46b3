// A cell in words, for whoever hears the page.
import type { CellDetail } from '../worker/protocol.js';
import { heldTexts, plain } from './words.js';

export function placeText({ path, place }: Pick<CellDetail, 'path' | 'place'>): string {
  return `${path}${place === 'itself' ? ' itself' : place === 'below' ? ', everywhere else below' : ' and below'}`;
}

export function cellText(cell: CellDetail): string {
  const place = placeText(cell);
  const words = cell.counts.map((counts, layer) => {
    const held = heldTexts(cell.scopes, counts, cell.of);
    const what = cell.counts.length === 1 ? 'holds' : layer === 0 ? 'gains' : 'loses';
    return `${what} ${held.length === 0 ? 'nothing' : held.join(', ')}`;
  });
  return plain(`${cell.column} at ${place} ${words.join('; ')}`);
}
