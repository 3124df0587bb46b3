// What a source found when it looked last: as long as its state is the same, there is nothing new.
import { PolicyRefused } from '../policy-fault.js';
import type { LookResult, Offer, Why } from './source.js';

/** `offer` is called if there may be something new. It returns null as long as somebody is still writing. */
type Look = (why: Why, state: string, offer: () => Promise<Offer | null>) => Promise<LookResult>;

/** `offered` is the state that counts as offered already. What was refused is refused again without being opened. */
export function rememberedLooks(offered: string | null = null): Look {
  let last: { readonly state: string | null; readonly refused: PolicyRefused | null } = {
    state: offered,
    refused: null,
  };
  return async (why, state, offer) => {
    if (why === 'poll' && state === last.state) {
      if (last.refused !== null) throw last.refused;
      return { kind: 'same' };
    }
    try {
      const found = await offer();
      if (found === null) return { kind: 'unsettled' };
      last = { state, refused: null };
      return { kind: 'offer', offer: found };
    } catch (error) {
      if (error instanceof PolicyRefused) last = { state, refused: error };
      throw error;
    }
  };
}
