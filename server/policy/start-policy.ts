// The policy by which a gateway begins to decide. The policy that it was given counts as an offer of its source, and
// the newest activation in the store is in force, whoever recorded it.
import type { Database } from '../db/database.js';
import type { Clock } from '../ports.js';
import type { Candidate, Labels, PolicySource } from './active-policy.js';
import { type StoredActivation, storedActivations } from './activations.js';
import { openStored } from './open-stored.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import { storedSnapshots } from './stored-snapshots.js';
import { inForceBy } from './verify-publication.js';
import type { PublicationRule, Verified } from './verify-offer.js';

export interface StartOptions {
  readonly db: Database;
  /** Null to use whatever the store has. */
  readonly offered: StartOffer | null;
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
}

export interface StartOffer extends Omit<Verified, 'kind'> {
  readonly labels: Labels;
  readonly from: PolicySource;
}

export type Start =
  | ({ readonly kind: 'ready' } & Started)
  /** There is no policy at all. */
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly fault: PolicyFault };

export interface Started {
  readonly candidate: Candidate;
  readonly bytes: Uint8Array;
  readonly generation: number;
}

/** Rejects if the store fails. */
export async function startPolicy({ db, offered, rule, clock }: StartOptions): Promise<Start> {
  const [snapshots, activations] = [storedSnapshots(db), storedActivations(db)];
  const open = async (last: StoredActivation): Promise<Start> => {
    const { snapshot, envelope, generation } = last;
    const opened = await openStored(snapshot, { snapshots, rule, clock, envelope, inForce: null });
    if (opened.kind === 'refused') {
      const { fault } = opened;
      return refused({
        ...fault,
        message: `generation ${String(generation)} (${snapshot}) is in force and cannot be served: ${fault.message}`,
      });
    }
    const { policy, labels, statement } = opened;
    const candidate = {
      policy,
      labels,
      source: { kind: 'store' },
      ...inForceBy(statement),
      askedBy: last.askedBy,
    } as const;
    return { kind: 'ready', candidate, bytes: opened.bytes ?? new Uint8Array(), generation };
  };
  if (offered === null) {
    const last = await activations.newest();
    return last === null ? { kind: 'none' } : open(last);
  }
  const { policy, bytes, statement, from } = offered;
  const at = clock.now();
  const labels = await snapshots.keep({
    ...{ policy, bytes, labels: offered.labels, statement: statement?.envelope ?? null, at },
  });
  const askedBy = Object.values(from).join(' ');
  const recorded = await activations.record({ kind: 'offered', policy, statement, reason: 'start', askedBy, at });
  switch (recorded.kind) {
    case 'held':
      return open(recorded.newest);
    case 'rollback':
      return refused(oneLine('snapshot.rollback_refused', `the snapshot is not served: ${recorded.text}`));
    case 'superseded':
      throw new TypeError('a start waits for nobody');
    case 'in_force':
    case 'recorded': {
      const candidate = { policy, labels, source: from, askedBy, ...inForceBy(statement) };
      return { kind: 'ready', candidate, bytes, generation: recorded.generation };
    }
  }
}

function refused(fault: PolicyFault): Start {
  return { kind: 'refused', fault };
}
