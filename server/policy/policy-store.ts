// The policy in force: one reference, replaced as a whole. A request takes it once and keeps it (design 9), so nothing that is
// in flight ever sees two.
import type { Policy } from '../../engine/index.js';

export interface PolicyStore {
  readonly current: () => Policy;
  /** Requests that begin after this are decided by `next`. */
  readonly replace: (next: Policy) => void;
}

export function makePolicyStore(initial: Policy): PolicyStore {
  let current = initial;
  return {
    current: () => current,
    replace: (next) => {
      current = next;
    },
  };
}
