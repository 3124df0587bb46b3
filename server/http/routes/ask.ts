// POST /api/v1/explain, /who-can, /what-can and /visible: what other actors may do, for keys that may ask about them
// (docs/asking.md). Explanations and lists are proved on a thread; questions that the key may not ask never get there.
import {
  carriedNames,
  carriesAll,
  decideRaw,
  type Decision,
  familyOf,
  formatIdentity,
  formatInstant,
  isScopeName,
  makeIdentity,
  parseIdentity,
  type Policy,
  resolveActor,
  type ScopeName,
  visibilityAs,
} from '../../../engine/index.js';
import { boundsOf, decideWithin, mayAskAt, mayAskOf, narrowed, seeWithin } from '../../asking/about-others.js';
import { readAccessQuestions, readSubject } from '../../api/ask-schema.js';
import { EXPLAINED_SCHEMA } from '../../api/explain-schema.js';
import {
  HELD_SCHEMA,
  HOLDERS_SCHEMA,
  VISIBLE_SCHEMA,
  type VisibleBody,
  VISIBLE_SHAPE,
  WHAT_CAN_SHAPE,
  WHO_CAN_SHAPE,
} from '../../api/held-schema.js';
import { meantText } from '../../api/shape-fault.js';
import { cite, toldDecision } from '../../audit/cite.js';
import { askedOf, eventSubject, queryAsked } from '../../audit/event.js';
import { mapInTurns } from '../../lib/in-turns.js';
import type { Prover } from '../../policy/open/prover.js';
import { type ApiProblem, inputProblem } from '../../problem.js';
import { defaultReach } from '../../query/parse-query.js';
import { type PageTokens, startOf } from '../page-tokens.js';
import { namespaceIn } from '../namespace-in.js';
import { type ActorCall, type ActorRoute, jsonBody } from '../route.js';
import { askRoute, holderOf, makeRoom, reachOf, withElements } from './ask-route.js';
import { QUESTIONS } from './decide.js';

export interface AskRoutesOptions {
  readonly prover: Prover;
  readonly tokens: PageTokens;
}

export function makeAskRoutes({ prover, tokens }: AskRoutesOptions): readonly ActorRoute[] {
  const explain = askRoute({
    path: '/api/v1/explain',
    operationId: 'explain',
    summary: 'Explain decisions about others step by step',
    problems: ['proof.unavailable'],
    body: QUESTIONS,
    schema: EXPLAINED_SCHEMA,
    answer: async ({ actor: asker, pin, at, told, willTell, gone }, { items }) => {
      await willTell(items.length);
      const { policy } = pin();
      const [bounds, room] = [boundsOf(asker, policy), makeRoom()];
      const answers = await mapInTurns(
        readAccessQuestions(items, policy),
        ({ actor: subject, request }) => {
          let isOutside = true;
          const decision = decideWithin(bounds, { request, at }, () => {
            isOutside = false;
            return decideRaw(policy, { actor: subject, request, at });
          });
          const event = toldDecision('explain', { subject, request, policy }, decision);
          return { subject, request, decision, isOutside, event };
        },
        gone,
      );
      const requests = answers.flatMap(({ subject, request, isOutside }) => {
        if (isOutside) return [];
        const { scope, target, context = target } = request;
        const { identities, namespaceRestrictions, credentialScopes } = subject;
        const scopes = credentialScopes?.filter(isScopeName) ?? null;
        return [{ identities, namespaceRestrictions, credentialScopes: scopes, scope, target, context, at }];
      });
      const withEdits = asker.namespaceRestrictions === null && carriesAll(asker.credentialScopes);
      const asked = { requests, withEdits };
      const proved = [
        ...(requests.length === 0 ? [] : await prover.explain(policy.digest, asked, { actor: asker, gone })),
      ];
      const results = answers.map(({ decision, isOutside }) =>
        room((isOutside ? JSON.stringify(refusal(decision)) : proved.shift()) ?? ''),
      );
      told(answers.map(({ event }) => event));
      return withElements({ snapshot: policy.digest, at: formatInstant(at) }, 'results', results);
    },
  });
  const whoCan = askRoute({
    path: '/api/v1/who-can',
    operationId: 'listHolders',
    summary: 'List who holds a scope in a namespace, a page at a time',
    problems: ['namespace.invalid', 'query.cursor', 'proof.unavailable'],
    body: jsonBody(WHO_CAN_SHAPE, { scope: 'resource:read', namespace: '/beamlines/amx' }),
    schema: HOLDERS_SCHEMA,
    answer: async (call, { scope: wanted, namespace: text, page = {} }) => {
      const namespace = pathOf(text);
      const { policy } = call.pin();
      const scope = scopeIn(policy, wanted);
      const paged = startOf(tokens, call, { page, asked: ['who-can', scope, namespace] });
      const step = !mayAskAt(call.actor, namespace)
        ? ('restriction' as const)
        : mayAskOf(call.actor, scope)
          ? null
          : ('credential_scope' as const);
      const { at, offset, size } = paged;
      const asked = { scope, namespace, at, offset, size };
      const holders = step === null ? await prover.whoCan(policy.digest, asked, call) : { count: 0, items: [] };
      const { count } = holders;
      const decision = step === null ? {} : { decision: { decision: 'deny', step } as const };
      const access = askedOf({ kind: 'access', scope, context: namespace, target: namespace });
      call.told([{ operation: 'who-can', access, items: count, ...decision }]);
      const { items, ...rest } = paged.taken(holders.items, count);
      return withElements({ scope, namespace, ...paged.facts, ...rest }, 'identities', items);
    },
  });
  const whatCan = askRoute({
    path: '/api/v1/what-can',
    operationId: 'listHeld',
    summary: 'List all that an identity holds, a page at a time',
    problems: ['query.cursor', 'proof.unavailable'],
    body: jsonBody(WHAT_CAN_SHAPE, { identity: 'orcid:0000-0002-1825-0097' }),
    schema: HELD_SCHEMA,
    answer: async (call, { identity: given, page = {} }) => {
      const read = typeof given === 'string' ? parseIdentity(given) : makeIdentity(given.provider, given.subject);
      if (!read.ok) throw faultAt('/identity', `is not an identity (${read.fault.replaceAll('_', ' ')})`);
      const { identity } = read;
      const name = formatIdentity(identity);
      const { policy } = call.pin();
      const paged = startOf(tokens, call, { page, asked: ['what-can', name] });
      const { at, offset, size } = paged;
      const held = await prover.whatCan(policy.digest, { identity, at, within: reachOf(call), offset, size }, call);
      const subject = eventSubject(holderOf(identity), policy);
      call.told([{ operation: 'what-can', subject, items: held.count }]);
      const { items, ...rest } = paged.taken(held.items, held.count);
      return withElements({ identity: name, ...paged.facts, ...rest }, 'access', items);
    },
  });
  const visible = askRoute({
    path: '/api/v1/visible',
    operationId: 'listVisible',
    summary: 'List the namespaces whose records somebody sees, a page at a time',
    problems: ['namespace.invalid', 'query.cursor'],
    body: jsonBody(VISIBLE_SHAPE, {
      actor: { identities: ['orcid:0000-0002-1825-0097'] },
      family: 'resource',
      namespace: '/',
      reach: 'subtree',
    }),
    schema: VISIBLE_SCHEMA,
    answer: (call, asked) => seeFor(tokens, call, asked),
  });
  return [explain, whoCan, whatCan, visible];
}

function seeFor(tokens: PageTokens, call: ActorCall, body: VisibleBody): object {
  const { family, action = 'read', page = {}, reach = defaultReach(family) } = body;
  const context = pathOf(body.namespace);
  const { policy } = call.pin();
  const scope = scopeOfFamily(policy, family, action);
  const subject = readSubject(body.actor, policy);
  const asked = ['visible', scope, context, reach, JSON.stringify(subject)];
  const paged = startOf(tokens, call, { page, asked });
  const request = { family, action, context, reach } as const;
  const own = narrowed(call.actor, subject);
  const resolved = resolveActor(policy, own);
  const seen = seeWithin(call.actor, scope, () => visibilityAs(resolved, { request, at: paged.at }));
  const access = queryAsked(request);
  const cited = cite({ access, resolved, visibility: seen }, paged.at);
  const { kind: _, ...told } = own;
  const names = { ...told, credentialScopes: carriedNames(own.credentialScopes, policy) };
  const entries = seen.kind === 'some' ? [...seen.exact, ...seen.subtrees] : [];
  call.told([
    {
      operation: 'visible',
      subject: eventSubject({ kind: 'request', ...names }, policy),
      access,
      items: entries.length,
      ...cited,
    },
  ]);
  const { items, ...rest } = paged.take(entries);
  const cut = seen.kind === 'some' ? Math.max(0, seen.exact.length - paged.offset) : 0;
  return {
    kind: seen.kind,
    ...(seen.kind === 'none' ? { step: seen.step } : {}),
    exact: items.slice(0, cut),
    subtrees: items.slice(cut),
    ...paged.facts,
    ...rest,
  };
}

/** A scope that the policy knows. */
function scopeIn({ scopes }: Policy, named: string): ScopeName {
  const scope = scopes.find((known) => known === named);
  if (scope !== undefined) return scope;
  throw faultAt('/scope', meantText('is not a scope of the policy', named, scopes));
}

function scopeOfFamily({ scopes }: Policy, family: string, action: string): ScopeName {
  const families = [...new Set(scopes.map(familyOf))];
  if (!families.includes(family))
    throw faultAt('/family', meantText('is not a family of the policy', family, families));
  const scope = scopes.find((known) => known === `${family}:${action}`);
  if (scope !== undefined) return scope;
  const actions = scopes.filter((known) => familyOf(known) === family).map((known) => known.slice(family.length + 1));
  throw faultAt('/action', meantText('is not an action of the family', action, actions));
}

/** The answer to a question that the key may not ask. It says nothing about the subject of the question. */
function refusal(decision: Decision): object {
  const step = decision.decision === 'deny' ? decision.step : 'restriction';
  const steps = [{ step, passed: false, text: 'the key that asks may not ask about this' }];
  return { decision: 'deny', step, steps, grants: [], edits: [], noEdit: 'a key that may ask about this is needed' };
}

function pathOf(text: string): ReturnType<typeof namespaceIn> {
  return namespaceIn(text, '/namespace', 'is not a namespace');
}

function faultAt(pointer: string, message: string): ApiProblem {
  return inputProblem('request.schema', pointer, message);
}
