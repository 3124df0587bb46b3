// POST /admin/v1/snapshots: takes a snapshot, verifies it on another thread, and stores it. This does not put it in
// force.
import { STORED_SCHEMA, UPLOAD_SCHEMA } from '../../api/admin-schemas.js';
import type { AdminActor } from '../../auth/admin-actor.js';
import { SHARE_LIMITS } from '../../limits/http.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import type { Activator } from '../../policy/active/activator.js';
import type { ActivePolicy } from '../../policy/active/active-policy.js';
import { takeUpload, type UploadParts } from '../../policy/active/take-upload.js';
import type { PublicationRule } from '../../policy/open/verify-offer.js';
import { lastGeneration } from '../../policy/store/activations.js';
import { oneAtATime } from '../../lib/one-at-a-time.js';
import type { Clock, IdSource } from '../../lib/ports.js';
import { inTime } from '../../lib/until-aborted.js';
import { ApiProblem } from '../../problem.js';
import type { JsonAnswer } from '../exchange.js';
import { tooMany } from '../rate-limit.js';
import type { AdminRoute, Call } from '../route.js';
import { actRecorder } from './record-act.js';
import { refusedAs } from './refused-snapshot.js';

export interface UploadRouteOptions {
  readonly activator: Pick<Activator, 'activations' | 'snapshots' | 'tables'>;
  readonly policies: Pick<ActivePolicy, 'current'>;
  /** Null if no signature is required. */
  readonly rule: PublicationRule | null;
  readonly clock: Clock;
  readonly nextId: IdSource;
}

export function makeUploadRoute(options: UploadRouteOptions): AdminRoute {
  const { activator } = options;
  const record = actRecorder(options.nextId);
  /**
   * Admins who are sending now. Each may send one snapshot at a time, so that nobody keeps others from sending theirs.
   */
  const senders = new Set<string>();
  /** How many bytes all of them have sent together. */
  let held = 0;
  /** Each takes a thread and as much memory again as was sent. There are no more than admins who send. */
  const judge = oneAtATime(Infinity, busy);

  const store = async (call: Call<AdminActor>, parts: UploadParts, signal: AbortSignal): Promise<JsonAnswer> => {
    let status: 200 | 201 = 201;
    let generation: number | null = null;
    const { digest: snapshot, decisions } = await refusedAs('snapshot.invalid', () =>
      takeUpload(parts, {
        ...options,
        snapshots: activator.snapshots,
        tables: activator.tables,
        beside: async (writing, { snapshot, isNew }) => {
          status = isNew ? 201 : 200;
          // Here, because whatever fails after COMMIT would deny what is stored.
          generation = await lastGeneration(writing, snapshot, POLICY_LIMITS.history);
          await record(writing, call, { operation: 'snapshot.store', status, snapshot });
        },
        signal,
      }),
    );
    return { status, json: JSON.stringify({ snapshot, decisions, generation }) };
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
    problems: ['snapshot.invalid', 'snapshot.rollback_refused', 'snapshot.busy'],
    output: {
      200: { type: 'application/json', schema: STORED_SCHEMA },
      201: { type: 'application/json', schema: STORED_SCHEMA },
    },
    run: async (call) => {
      const { actor, upload } = call;
      if (upload === null) throw new TypeError('a route that takes an upload was given none');
      const sender = `${actor.kind} ${actor.id}`;
      if (senders.has(sender)) throw tooMany({ quota: 1 }, 'uploads', SHARE_LIMITS.retryAfter);
      senders.add(sender);
      let sent = 0;
      try {
        const parts = await upload.read((bytes) => {
          if (held + bytes > POLICY_LIMITS.uploadBytes)
            throw tooMany({ quota: POLICY_LIMITS.uploadBytes }, 'uploads', SHARE_LIMITS.retryAfter);
          held += bytes;
          sent += bytes;
        });
        return await inTime((signal) => judge(() => store(call, parts, signal), signal), {
          gone: call.gone,
          time: POLICY_LIMITS.uploadPatience,
          late: busy,
        });
      } finally {
        held -= sent;
        senders.delete(sender);
      }
    },
  };
}

function busy(): ApiProblem {
  return new ApiProblem('snapshot.busy', { retryAfter: SHARE_LIMITS.retryAfter });
}
