// /admin/v1/shadow: a stored snapshot that is judged beside the policy in force, and the differences found so far.
import { formatInstant } from '../../../engine/index.js';
import { SHADOW_SCHEMA, SHADOW_SHAPE } from '../../api/shadow-schemas.js';
import type { Database } from '../../db/database.js';
import { maskCredentials } from '../../lib/mask.js';
import type { IdSource } from '../../lib/ports.js';
import type { Shadow, ShadowState } from '../../shadow/shadow.js';
import { type AdminRoute, jsonBody } from '../route.js';
import { actRecorder } from './record-act.js';
import { refusedAs } from './refused-snapshot.js';

export interface ShadowRoutesOptions {
  readonly shadow: Shadow;
  readonly db: Database;
  readonly nextId: IdSource;
}

const PATH = '/admin/v1/shadow';
const OUTPUT = { 200: { type: 'application/json', schema: SHADOW_SCHEMA } } as const;

export function makeShadowRoutes({ shadow, db, nextId }: ShadowRoutesOptions): readonly AdminRoute[] {
  const record = actRecorder(nextId);
  const show: AdminRoute = {
    method: 'GET',
    path: PATH,
    access: 'admin',
    operationId: 'showShadow',
    summary: 'Show how a candidate differs from the policy in force, exactly and in live requests',
    input: {},
    output: OUTPUT,
    run: () => Promise.resolve({ status: 200, json: shadowJson(shadow.state()) }),
  };
  const choose: AdminRoute = {
    method: 'POST',
    path: PATH,
    access: 'admin',
    operationId: 'chooseShadow',
    summary: 'Judge a stored snapshot beside the policy in force, or none any more; it decides nothing',
    input: { body: jsonBody(SHADOW_SHAPE, { snapshot: null }) },
    problems: ['snapshot.not_found', 'snapshot.refused'],
    output: OUTPUT,
    run: async (call) => {
      const { snapshot } = SHADOW_SHAPE.asRead(call.body);
      const noted = (operation: 'shadow.begin' | 'shadow.end', about: string): Promise<void> =>
        db.write((writing) => record(writing, call, { operation, snapshot: about, status: 200 }));
      if (snapshot === null) {
        const before = shadow.state();
        if (before !== null) await noted('shadow.end', before.policy.digest);
        shadow.end();
        return { status: 200, json: shadowJson(null) };
      }
      const begun = await refusedAs('snapshot.refused', () =>
        shadow.begin(snapshot, {
          askedBy: maskCredentials(`${call.actor.kind} ${call.actor.id}`),
          before: () => noted('shadow.begin', snapshot),
          signal: call.gone,
        }),
      );
      return { status: 200, json: shadowJson(begun) };
    },
  };
  return [show, choose];
}

function shadowJson(state: ShadowState | null): string {
  if (state === null) return JSON.stringify({ snapshot: null, differs: null, since: null });
  const { policy, since, askedBy, against, difference: differs, fault, counts, examples } = state;
  return JSON.stringify({
    snapshot: policy.digest,
    policy: policy.name,
    decisions: policy.decisions,
    since: formatInstant(since),
    askedBy,
    against,
    differs,
    fault: faultJson(fault),
    live: { ...counts, examples: examples.map(({ at, ...example }) => ({ ...example, at: formatInstant(at) })) },
  });
}

/** What everybody who can see the status may know: only counts. */
export function shadowSummary({ policy, since, difference, fault, counts }: ShadowState): object {
  const { rows: _, ...differs } = difference ?? { rows: null };
  return {
    snapshot: policy.digest,
    decisions: policy.decisions,
    since: formatInstant(since),
    differs: difference === null ? null : differs,
    fault: faultJson(fault),
    live: counts,
  };
}

function faultJson(fault: ShadowState['fault']): object | null {
  return fault === null ? null : { code: fault.code, message: fault.message };
}
