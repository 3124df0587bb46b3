// The policy by which a gateway begins to decide. The policy that it was given counts as an offer of its source, and
// the newest activation in the store is in force, whoever recorded it.
import type { Database } from '../../db/database.js';
import { unlessStoreFails } from '../../db/failures.js';
import type { Clock } from '../../lib/ports.js';
import type { Candidate, PolicySource } from './active-policy.js';
import { type StoredActivation, storedActivations } from '../store/activations.js';
import { openStored } from '../open/open-stored.js';
import { faultOfRefusal, PolicyRefused, refusal } from '../policy-fault.js';
import type { KeptTables } from '../store/kept-tables.js';
import { storedSnapshots } from '../store/stored-snapshots.js';
import { inForceBy } from '../open/verify-publication.js';
import type { PublicationRule, Verified } from '../open/verify-offer.js';

export interface StartOptions {
  readonly db: Database;
  /** Null to use whatever the store has. */
  readonly offered: StartOffer | null;
  /** Whether the source still has the offer. Defaults to not asking. */
  readonly isOffered?: () => Promise<boolean>;
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  /** Where the table of the policy is kept. Defaults to null: nowhere. */
  readonly tables?: KeptTables | null;
}

export interface StartOffer extends Verified {
  readonly from: PolicySource;
}

export interface Started {
  readonly candidate: Candidate;
  readonly bytes: Uint8Array;
  readonly generation: number;
  /** How many milliseconds ago its source confirmed it. */
  readonly age: number;
}

/** The source may have something else by now, which another gateway may have put in force. */
export class OfferReplaced extends Error {
  override readonly name = 'OfferReplaced';
}

/**
 * Null if there is no policy at all. Throws `PolicyRefused` if what is in force cannot be served, and `OfferReplaced`;
 * rejects if the store fails.
 */
export async function startPolicy(options: StartOptions): Promise<Started | null> {
  const { db, offered, isOffered, rule, clock, tables = null } = options;
  const [snapshots, activations] = [storedSnapshots(db), storedActivations(db)];
  /** For the next start, to which the policy is older if the store takes no writes now. */
  const note = (generation: number): Promise<void> => activations.confirm(generation).catch(unlessStoreFails);
  const open = async (last: StoredActivation): Promise<Started> => {
    const { snapshot, envelope, generation } = last;
    // Like a gateway that runs: what was in force stays so once its statement has expired, and decides nothing.
    const judge = { rule, clock, mayHaveExpired: true };
    const opening = openStored(snapshot, { ...judge, snapshots, envelope, inForce: null, tables });
    const { policy, labels, statement, bytes } = await opening.catch((error: unknown) => {
      const fault = faultOfRefusal(error);
      const message = `activation ${String(generation)} (${snapshot}) is in force and cannot be served: ${fault.message}`;
      throw new PolicyRefused({ ...fault, message });
    });
    await tables?.keep(policy);
    const { askedBy } = last;
    const candidate = { policy, labels, source: { kind: 'store' }, ...inForceBy(statement), askedBy } as const;
    return { candidate, bytes: bytes ?? new Uint8Array(), generation, age: last.age };
  };
  const last = await activations.newest();
  if (offered === null) return last === null ? null : open(last);
  const { policy, bytes, statement, from } = offered;
  // Asked after it is known what is the newest: what was read before may be older than that. It is not older than nothing.
  const isOther = last !== null && last.snapshot !== policy.digest;
  if (isOffered !== undefined && isOther && !(await isOffered())) throw new OfferReplaced();
  const after = isOffered === undefined ? {} : { after: last?.generation ?? 0 };
  const at = clock.now();
  const envelope = statement?.envelope ?? null;
  const labels = await snapshots.keep({ policy, bytes, labels: offered.labels, statement: envelope, at });
  await tables?.keep(policy);
  const askedBy = Object.values(from).join(' ');
  const offer = { kind: 'offered', policy, statement, reason: 'start', askedBy, at, ...after } as const;
  const recorded = await activations.record(offer);
  switch (recorded.kind) {
    case 'held':
      await note(recorded.newest.generation);
      return { ...(await open(recorded.newest)), age: 0 };
    case 'rollback':
      throw refusal('snapshot.rollback_refused', `the snapshot is not served: ${recorded.text}`);
    case 'superseded':
      throw new OfferReplaced();
    case 'in_force':
    case 'recorded': {
      const { generation } = recorded;
      await note(generation);
      const candidate = { policy, labels, source: from, askedBy, ...inForceBy(statement) };
      return { candidate, bytes, generation, age: 0 };
    }
  }
}
