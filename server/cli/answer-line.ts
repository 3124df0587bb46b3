// One line of requests to one answer of `decide` (design 5.1).
import { type Decision, decideRaw, type Instant, type Policy, type Step } from '../../engine/index.js';
import { type LineError, type LineId, parseDecideLine } from './decide-line.js';

/** As it is printed, key by key. */
export type LineAnswer = { readonly id: LineId } & (
  | { readonly decision: 'allow'; readonly grants: readonly string[] }
  | { readonly decision: 'deny'; readonly step: Step; readonly cause?: Step }
  | { readonly error: LineError }
);

/** `bytes` is null for a line over the limit; `at` is the time of a line that names none. */
export function answerLine(policy: Policy, bytes: Uint8Array | null, at: Instant): LineAnswer {
  if (bytes === null) return { id: null, error: { code: 'request.too_large', message: 'the line is too long' } };
  const line = parseDecideLine(bytes);
  if (!line.ok) return { id: line.id, error: line.error };
  return {
    id: line.id,
    ...toAnswer(decideRaw(policy, { actor: line.actor, request: line.request, at: line.at ?? at })),
  };
}

function toAnswer(
  decision: Decision,
): { decision: 'allow'; grants: readonly string[] } | { decision: 'deny'; step: Step; cause?: Step } {
  if (decision.decision === 'allow') return { decision: 'allow', grants: decision.grants.map((grant) => grant.id) };
  const { step, cause } = decision;
  return { decision: 'deny', step, ...(cause === undefined ? {} : { cause }) };
}
