// Decides one request: the verdict, and the grants that an allowed request relies on. Total and pure: any actor,
// request and instant of the right types gets an answer. There are doors for an actor and a request of canonical parts,
// for strings as typed (which adds the steps `canonicalize` and `unknown_scope`), and for an actor that was resolved
// before. Each has a variant for the verdict alone.
import type { Actor } from '../model/actor.js';
import type { AccessStep, Decision, GrantRef, Request, Step } from '../model/decision.js';
import type { Instant } from '../model/instant.js';
import { addGrants, grantRefs } from '../table/cite.js';
import {
  type AccessVerdict,
  arePaths,
  ASKED,
  DESTINATION_WRITE,
  judgeAccess,
  judgeCreation,
  judgeOwn,
  judgeRequest,
  type RawRequest,
  SOURCE_READ,
  type Verdict,
} from './judge-request.js';
import { refuseRequest } from './caller.js';
import { beginTurn, endTurn } from './turn.js';
import { type Policy, UNRESTRICTED } from './policy.js';
import { type Asker, askerOf, askFor, askRaw, type RawActor, type ResolvedActor } from './resolve-actor.js';

export interface DecideInput {
  readonly actor: Actor;
  readonly request: Request;
  readonly at: Instant;
}

export interface RawInput {
  readonly actor: RawActor;
  readonly request: RawRequest;
  readonly at: Instant;
}

/** A question about an actor that was resolved before. A request of canonical parts is also valid as a typed one. */
export interface AskedInput {
  readonly request: RawRequest;
  readonly at: Instant;
}

/** `grants` are all that carry the scope, sorted by id; for a copy those of both sides; none if no policy applies. */
export function decide(policy: Policy, { actor, request, at }: DecideInput): Decision {
  const turn = beginTurn();
  return endTurn(turn, decideFor(askFor(policy, actor), request, at));
}

/** Like `decide`, for strings as typed. */
export function decideRaw(policy: Policy, { actor, request, at }: RawInput): Decision {
  const turn = beginTurn();
  const asker = askRaw(policy, actor);
  return endTurn(turn, asker === null ? DENIED.canonicalize : decideFor(asker, request, at));
}

/** Like `decideRaw`, under the policy that the actor was resolved against. */
export function decideAs(actor: ResolvedActor, { request, at }: AskedInput): Decision {
  const turn = beginTurn();
  return endTurn(turn, decideFor(askerOf(actor), request, at));
}

/** Only the verdict of `decideRaw`. Several times as fast, for callers who need no grants. */
export function judgeRaw(policy: Policy, { actor, request, at }: RawInput): Verdict {
  const turn = beginTurn();
  const asker = askRaw(policy, actor);
  return endTurn(turn, asker === null ? 'canonicalize' : judgeRequest(asker, request, at));
}

/** Only the verdict of `decideAs`. */
export function judgeAs(actor: ResolvedActor, { request, at }: AskedInput): Verdict {
  const turn = beginTurn();
  return endTurn(turn, judgeRequest(askerOf(actor), request, at));
}

function decideFor(asker: Asker, request: RawRequest, at: Instant): Decision {
  switch (request.kind) {
    case 'access':
      return answer(asker, judgeAccess(asker, request, at));
    case 'create-namespace':
      return answer(asker, judgeCreation(asker, request.namespace, at));
    case 'copy':
      return decideCopy(asker, request, at);
    default:
      return refuseRequest(request);
  }
}

function decideCopy(asker: Asker, request: Extract<RawRequest, { readonly kind: 'copy' }>, at: Instant): Decision {
  if (!arePaths(request.source, request.destination)) return DENIED.canonicalize;
  if (asker.excluded !== null) return exclusion(asker.excluded);
  const source = judgeOwn(asker, { scope: SOURCE_READ, path: request.source }, at);
  if (source !== 'allow') return COPY_DENIED.source_read[source];
  const rows = addCited(asker, []);
  const destination = judgeOwn(asker, { scope: DESTINATION_WRITE, path: request.destination }, at);
  if (destination !== 'allow') return COPY_DENIED.destination_write[destination];
  return { decision: 'allow', grants: toRefs(asker, addCited(asker, rows)) };
}

function answer(asker: Asker, verdict: AccessVerdict): Decision {
  if (verdict === 'allow') return { decision: 'allow', grants: citedGrants(asker) };
  return asker.excluded !== null && verdict === 'exclusive' ? exclusion(asker.excluded) : DENIED[verdict];
}

/** The grants that carry the access that was judged last. */
export function citedGrants(asker: Asker): readonly GrantRef[] {
  return toRefs(asker, addCited(asker, []));
}

function addCited({ ground, runs, count }: Asker, rows: number[]): number[] {
  if (ground === UNRESTRICTED) return rows;
  for (let i = 0; i < count; i += 1) addGrants(ground, runs[i] ?? 0, { wanted: ASKED, rows });
  return rows;
}

function toRefs({ ground }: Asker, rows: number[]): readonly GrantRef[] {
  return ground === UNRESTRICTED ? NO_GRANTS : grantRefs(ground, rows);
}

const NO_GRANTS: readonly GrantRef[] = Object.freeze([]);

function exclusion(identities: readonly [string, string]): Decision {
  return Object.freeze({ decision: 'deny', step: 'exclusive', identities });
}

// There are few other denials, so each is one frozen object.
const denial = (step: Step, cause?: AccessStep): Decision =>
  Object.freeze(cause === undefined ? { decision: 'deny', step } : { decision: 'deny', step, cause });

const ofEachStep = (make: (step: AccessStep) => Decision): Readonly<Record<AccessStep, Decision>> => ({
  canonicalize: make('canonicalize'),
  unknown_scope: make('unknown_scope'),
  exclusive: make('exclusive'),
  restriction: make('restriction'),
  no_matching_grant: make('no_matching_grant'),
  credential_scope: make('credential_scope'),
  target_relationship: make('target_relationship'),
});

const DENIED = ofEachStep((step) => denial(step));
const COPY_DENIED = {
  source_read: ofEachStep((cause) => denial('source_read', cause)),
  destination_write: ofEachStep((cause) => denial('destination_write', cause)),
};
