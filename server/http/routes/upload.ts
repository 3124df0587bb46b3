// POST /admin/v1/snapshots: a snapshot is sent, verified beside the event loop, and stored. It is not in force by that.
import { STORED_SCHEMA, UPLOAD_SCHEMA } from '../../api/admin-schemas.js';
import { eventAdmin, makeEvent } from '../../audit/event.js';
import { recordInTransaction } from '../../audit/outbox.js';
import type { AdminActor } from '../../auth/admin-actor.js';
import { SHARE_LIMITS } from '../../limits/http.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import type { Activator } from '../../policy/activator.js';
import type { ActivePolicy } from '../../policy/active-policy.js';
import { takeUpload } from '../../policy/take-upload.js';
import type { PublicationRule } from '../../policy/verify-offer.js';
import type { Clock, IdSource } from '../../ports.js';
import type { Answer } from '../exchange.js';
import { tooMany } from '../rate-limit.js';
import type { AdminRoute, Call } from '../route.js';
import { refusedSnapshot } from './refused-snapshot.js';

export interface UploadRouteOptions {
  readonly activator: Pick<Activator, 'activations' | 'snapshots'>;
  readonly policies: Pick<ActivePolicy, 'current'>;
  /** Null: nobody has to have signed. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  readonly nextId: IdSource;
}

export function makeUploadRoute(options: UploadRouteOptions): AdminRoute {
  const { activator, nextId } = options;
  /** Each may take as much memory as a snapshot does. */
  let isBusy = false;
  const store = async ({ actor, at, requestId, upload, gone }: Call<AdminActor>): Promise<Answer> => {
    if (upload === null) throw new TypeError('a route that takes an upload was given none');
    const act = { operation: 'snapshot.store', kind: 'admin', outcome: 'allowed', status: 201 } as const;
    const uploaded = await takeUpload(await upload.read(), {
      ...options,
      snapshots: activator.snapshots,
      beside: (transaction, snapshot) =>
        recordInTransaction(transaction, [
          makeEvent({ ...act, snapshot, at, requestId, id: nextId(), actor: eventAdmin(actor) }),
        ]),
      signal: gone,
    });
    if (uploaded.kind === 'refused') throw refusedSnapshot(uploaded.fault, 'snapshot.invalid');
    const { digest: snapshot, decisions } = uploaded.policy;
    const made = await activator.activations.list(POLICY_LIMITS.history);
    const generation = made.find((activation) => activation.snapshot === snapshot)?.generation ?? null;
    return { status: 201, json: JSON.stringify({ snapshot, decisions, generation }) };
  };
  return {
    method: 'POST',
    path: '/admin/v1/snapshots',
    access: 'admin',
    operationId: 'storeSnapshot',
    summary: 'Verify a snapshot and store it; it decides nothing before it is activated',
    input: {
      upload: {
        types: ['application/json'],
        schema: UPLOAD_SCHEMA,
        example: { seal: `sha256:${'0'.repeat(64)}`, snapshot: {} },
        maxBytes: POLICY_LIMITS.snapshotBytes,
      },
    },
    problems: ['snapshot.invalid', 'snapshot.rollback_refused'],
    output: { 201: { type: 'application/json', schema: STORED_SCHEMA } },
    run: async (call) => {
      if (isBusy) throw tooMany({ quota: 1 }, 'uploads', SHARE_LIMITS.retryAfter);
      isBusy = true;
      try {
        return await store(call);
      } finally {
        isBusy = false;
      }
    },
  };
}
