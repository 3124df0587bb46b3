// What the API calls the families in its texts and paths.
import type { Family } from '../../../engine/index.js';

/** `process run` of `process-run`. */
export function words(family: Family): string {
  return family.replace('-', ' ');
}

export function collectionOf(family: Family): string {
  return `/api/v1/${family}s`;
}
