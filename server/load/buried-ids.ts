// The ids of records of which a dataset says that they were deleted: a later line may name these, and no others that
// the store has deleted.
import { LOAD_LIMITS } from '../limits/records.js';

export interface BuriedIds {
  readonly add: (id: string) => void;
  readonly has: (id: string) => boolean;
}

/**
 * Bounded. A dataset that says so of more than `most` records is taken at its word about all that the store has deleted.
 */
export function makeBuriedIds(most: number = LOAD_LIMITS.buriedIds): BuriedIds {
  const ids = new Set<string>();
  let isTaken = false;
  return {
    add: (id) => {
      if (isTaken) return;
      ids.add(id);
      if (ids.size <= most) return;
      isTaken = true;
      ids.clear();
    },
    has: (id) => isTaken || ids.has(id),
  };
}
