// /admin/v1/snapshots and /admin/v1/rollback: which snapshots the store has, and which one is in force. An activation
// is recorded in the transaction that makes it, and every gateway of the store follows it.
import { formatInstant } from '../../../engine/index.js';
import { ACTIVATE_SHAPE, ACTIVATED_SCHEMA, ROLLBACK_SHAPE, SNAPSHOTS_SCHEMA } from '../../api/admin-schemas.js';
import { eventPolicy } from '../../audit/provenance.js';
import type { AdminActor } from '../../auth/admin-actor.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { earlierThan } from '../../policy/store/activations.js';
import type { ActivePolicy, Labels } from '../../policy/active/active-policy.js';
import type { Activator, ChosenSnapshot } from '../../policy/active/activator.js';
import { maskCredentials } from '../../lib/mask.js';
import type { IdSource } from '../../lib/ports.js';
import { ApiProblem } from '../../problem.js';
import type { Shadow } from '../../shadow/shadow.js';
import type { JsonAnswer } from '../exchange.js';
import { pathTemplate } from '../path-template.js';
import { type AdminRoute, type Call, jsonBody } from '../route.js';
import { actRecorder } from './record-act.js';
import { refusedAs } from './refused-snapshot.js';

export interface SnapshotRoutesOptions {
  readonly activator: Activator;
  readonly policies: Pick<ActivePolicy, 'current'>;
  readonly shadow: Pick<Shadow, 'state'>;
  readonly nextId: IdSource;
}

const ACTIVATE = '/admin/v1/snapshots/{id}/activate';
const DIGEST = /^sha256:[0-9a-f]{64}$/;
export function makeSnapshotRoutes(options: SnapshotRoutesOptions): readonly AdminRoute[] {
  const { activator, policies, shadow, nextId } = options;
  const { snapshots, activations } = activator;
  const record = actRecorder(nextId);

  const choose = async (
    call: Call<AdminActor>,
    choice: Pick<ChosenSnapshot, 'kind' | 'snapshot' | 'reason'>,
  ): Promise<JsonAnswer> => {
    const { kind, snapshot } = choice;
    const reason = maskCredentials(choice.reason);
    const operation = kind === 'activated' ? 'snapshot.activate' : 'snapshot.rollback';
    const { policy, generation } = await refusedAs('snapshot.refused', () =>
      activator.choose({
        ...{ kind, snapshot, reason },
        askedBy: maskCredentials(`${call.actor.kind} ${call.actor.id}`),
        beside: (writing, generation) =>
          record(writing, call, { operation, snapshot, status: 200, policy: eventPolicy({ generation, reason }) }),
      }),
    );
    return { status: 200, json: JSON.stringify({ snapshot: policy.digest, generation }) };
  };

  const list: AdminRoute = {
    method: 'GET',
    path: '/admin/v1/snapshots',
    access: 'admin',
    operationId: 'listSnapshots',
    summary: 'List the snapshots that the store has, last used first',
    input: {},
    output: { 200: { type: 'application/json', schema: SNAPSHOTS_SCHEMA } },
    run: async () => {
      const [stored, made] = await Promise.all([snapshots.list(), activations.list(POLICY_LIMITS.history)]);
      const active = policies.current();
      const candidate = shadow.state()?.policy.digest;
      const stateOf = (snapshot: string, labels: Labels): string =>
        snapshot === active.policy.digest
          ? 'active'
          : snapshot === candidate
            ? 'shadow'
            : labels === 'false'
              ? 'refused'
              : 'stored';
      const shown = stored.map(({ snapshot, policy, decisions, bytes, labels, statement, storedAt }) => {
        const last = made.find((activation) => activation.snapshot === snapshot);
        return {
          snapshot,
          policy,
          decisions,
          bytes,
          labels,
          state: stateOf(snapshot, labels),
          isSigned: statement !== null,
          generation: last?.generation ?? null,
          reason: last?.reason ?? null,
          askedBy: last?.askedBy ?? null,
          loadedAt: formatInstant(storedAt),
        };
      });
      return { status: 200, json: JSON.stringify({ snapshots: shown }) };
    },
  };
  const activate: AdminRoute = {
    method: 'POST',
    path: ACTIVATE,
    access: 'admin',
    operationId: 'activateSnapshot',
    summary: 'Put a stored snapshot in force, on every gateway of the store',
    example: `sha256:${'0'.repeat(64)}`,
    input: { body: { ...jsonBody(ACTIVATE_SHAPE, { reason: 'tested in staging' }), optional: true } },
    problems: ['snapshot.not_found', 'snapshot.refused', 'snapshot.rollback_refused'],
    output: { 200: { type: 'application/json', schema: ACTIVATED_SCHEMA } },
    run: async (call) => {
      const { reason = 'activated' } = ACTIVATE_SHAPE.asRead(call.body);
      const snapshot = pathTemplate(ACTIVATE).partOf(call.path);
      if (snapshot === null || !DIGEST.test(snapshot)) throw new ApiProblem('snapshot.not_found');
      return choose(call, { kind: 'activated', snapshot, reason });
    },
  };
  const rollback: AdminRoute = {
    method: 'POST',
    path: '/admin/v1/rollback',
    access: 'admin',
    operationId: 'rollBack',
    summary: 'Put an earlier snapshot in force again; a source undoes that only by offering another one',
    input: { body: jsonBody(ROLLBACK_SHAPE, { reason: 'the optics labs lost their runs' }) },
    problems: ['snapshot.not_found', 'snapshot.refused', 'snapshot.rollback_refused'],
    output: { 200: { type: 'application/json', schema: ACTIVATED_SCHEMA } },
    run: async (call) => {
      const { to, reason } = ROLLBACK_SHAPE.asRead(call.body);
      const snapshot = to ?? earlierThan(await activations.list(POLICY_LIMITS.history));
      if (snapshot === null)
        throw new ApiProblem('snapshot.not_found', { title: 'No other snapshot was in force before' });
      return choose(call, { kind: 'rolled_back', snapshot, reason });
    },
  };
  return [list, activate, rollback];
}
