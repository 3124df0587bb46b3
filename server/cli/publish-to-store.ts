// Publishes into the store of gateways: the snapshot once, under its digest, and the activation that all of them follow.
import { eventPolicy } from '../audit/provenance.js';
import type { Config } from '../config/index.js';
import { storedActivations } from '../policy/store/activations.js';
import { storedSnapshots } from '../policy/store/stored-snapshots.js';
import { systemClock } from '../lib/ports.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import type { CliIo } from './io.js';
import { openNamedStore } from './open-store.js';
import type { Publication } from './read-publication.js';
import { accountName, makeOperatorRecorder } from './record-operator.js';

export interface PublishedToStore {
  readonly change: 'published' | 'unchanged';
  readonly generation: number;
}

/** Throws `CliFailure` 6 if the snapshot may not follow what is in force, or if the store cannot be used. */
export async function publishToStore(
  io: CliIo,
  config: Config,
  { policy, bytes, signed }: Publication,
): Promise<PublishedToStore> {
  const at = systemClock.now();
  const record = makeOperatorRecorder(at);
  const db = await openNamedStore(io, config, { asItIs: true });
  try {
    const envelope = signed === null ? null : Buffer.from(signed.bytes).toString('utf8');
    // Its labels were checked when it was opened.
    await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: envelope, at });
    const statement = signed === null || envelope === null ? null : { says: signed.statement, envelope, signers: [] };
    const recorded = await storedActivations(db).record(
      { kind: 'offered', policy, statement, reason: 'published', askedBy: `operator ${accountName()}`, at },
      (transaction, generation) =>
        record(transaction, {
          operation: 'snapshot.publish',
          snapshot: policy.digest,
          policy: eventPolicy({ generation, reason: 'published', statement: signed?.statement ?? null }),
        }),
    );
    switch (recorded.kind) {
      case 'recorded':
        return { change: 'published', generation: recorded.generation };
      case 'in_force':
        return { change: 'unchanged', generation: recorded.generation };
      case 'held': {
        const message = `the snapshot was published before, and generation ${String(recorded.newest.generation)} took its place since (${recorded.newest.reason})`;
        const help = `to put it in force again, run \`bailiwick activate ${policy.digest}\` on a gateway`;
        throw new CliFailure(EXIT.precondition, { code: 'snapshot.held', message }, { help });
      }
      case 'rollback': {
        const message = `the snapshot is not published: ${recorded.text}`;
        throw new CliFailure(EXIT.precondition, { code: 'snapshot.rollback_refused', message });
      }
      case 'superseded':
        throw new TypeError('a publication was superseded, although none can be');
    }
  } finally {
    await db.close();
  }
}
