// POST /api/v1/explain, /who-can, /what-can and /visible: what other actors may do, for keys that may ask about them
// (docs/asking.md). Explanations and lists are proved on a thread; questions that the key may not ask never get there.
import {
  canonicalize,
  carriedNames,
  carriesAll,
  decideRaw,
  type Decision,
  familyOf,
  formatIdentity,
  formatInstant,
  isScopeName,
  makeIdentity,
  type NamespacePath,
  parseIdentity,
  pathFaultText,
  type Policy,
  resolveActor,
  type ScopeName,
  visibilityAs,
} from '../../../engine/index.js';
import {
  boundsOf,
  decideWithin,
  mayAskAt,
  mayAskOf,
  narrowed,
  partsWithin,
  seeWithin,
} from '../../asking/about-others.js';
import { DECIDE_SHAPE, meantText, readAccessQuestions, readSubject } from '../../api/ask-schema.js';
import { EXPLAINED_SCHEMA } from '../../api/explain-schema.js';
import {
  HELD_SCHEMA,
  HOLDERS_SCHEMA,
  VISIBLE_SCHEMA,
  VISIBLE_SHAPE,
  WHAT_CAN_SHAPE,
  WHO_CAN_SHAPE,
} from '../../api/held-schema.js';
import { cite, toldDecision } from '../../audit/cite.js';
import { askedOf, eventSubject, queryAsked } from '../../audit/event.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import type { Prover } from '../../policy/open/prover.js';
import { ApiProblem } from '../../problem.js';
import { defaultReach } from '../../query/parse-query.js';
import { type PageTokens, startOf } from '../page-tokens.js';
import type { JsonAnswer } from '../exchange.js';
import type { ActorCall, ActorRoute } from '../route.js';
import { QUESTIONS } from './decide.js';

export interface AskRoutesOptions {
  readonly prover: Prover;
  readonly tokens: PageTokens;
}

export function makeAskRoutes({ prover, tokens }: AskRoutesOptions): readonly ActorRoute[] {
  const explain: ActorRoute = {
    method: 'POST',
    path: '/api/v1/explain',
    operationId: 'explain',
    summary: 'Explain decisions about others step by step',
    access: 'ask',
    input: { body: QUESTIONS },
    problems: ['proof.unavailable'],
    output: { 200: { type: 'application/json', schema: EXPLAINED_SCHEMA } },
    run: async ({ actor: asker, body, pin, at, told, gone }) => {
      if (!DECIDE_SHAPE.isRead(body)) throw unread();
      const { policy } = pin();
      const questions = readAccessQuestions(body.items, policy);
      const bounds = boundsOf(asker, policy);
      const answers = questions.map((question) => {
        const { actor: subject, request } = question;
        let isOutside = true;
        const decision = decideWithin(bounds, { request, at }, () => {
          isOutside = false;
          return decideRaw(policy, { actor: subject, request, at });
        });
        return { subject, request, decision, isOutside };
      });
      const requests = answers.flatMap(({ subject, request, isOutside }) => {
        if (isOutside) return [];
        const { scope, target, context = target } = request;
        const { identities, namespaceRestrictions, credentialScopes } = subject;
        const scopes = credentialScopes?.filter(isScopeName) ?? null;
        return [{ identities, namespaceRestrictions, credentialScopes: scopes, scope, target, context, at }];
      });
      const withEdits = asker.namespaceRestrictions === null && carriesAll(asker.credentialScopes);
      const asked = { requests, withEdits };
      const proved = [...(requests.length === 0 ? [] : await prover.explain(policy.digest, asked, gone))];
      told(answers.map((one) => toldDecision('explain', { ...one, policy }, one.decision)));
      const results = answers.map(({ decision, isOutside }) => (isOutside ? refusal(decision) : proved.shift()));
      return answerOf({ snapshot: policy.digest, at: formatInstant(at), results });
    },
  };
  const whoCan: ActorRoute = {
    method: 'POST',
    path: '/api/v1/who-can',
    operationId: 'listHolders',
    summary: 'List who holds a scope in a namespace, a page at a time',
    access: 'ask',
    input: {
      body: {
        types: ['application/json'],
        shape: WHO_CAN_SHAPE,
        example: { scope: 'resource:read', namespace: '/beamlines/amx' },
        maxBytes: HTTP_LIMITS.bodyBytes,
      },
    },
    problems: ['namespace.invalid', 'query.cursor', 'proof.unavailable'],
    output: { 200: { type: 'application/json', schema: HOLDERS_SCHEMA } },
    run: async (call) => {
      if (!WHO_CAN_SHAPE.isRead(call.body)) throw unread();
      const { page = {} } = call.body;
      const namespace = pathOf(call.body.namespace);
      const { policy } = call.pin();
      const scope = scopeIn(policy, call.body.scope);
      const paged = startOf(tokens, call, { page, asked: ['who-can', scope, namespace] });
      const step = !mayAskAt(call.actor, namespace)
        ? ('restriction' as const)
        : mayAskOf(call.actor, scope)
          ? null
          : ('credential_scope' as const);
      const found =
        step === null ? await prover.whoCan(policy.digest, { scope, namespace, at: paged.at }, call.gone) : [];
      const decision = step === null ? {} : { decision: { decision: 'deny', step } as const };
      const access = askedOf({ kind: 'access', scope, context: namespace, target: namespace });
      call.told([{ operation: 'who-can', access, items: found.length, ...decision }]);
      const { items, ...rest } = paged.take(found);
      return answerOf({ scope, namespace, ...paged.facts, identities: items, ...rest });
    },
  };
  const whatCan: ActorRoute = {
    method: 'POST',
    path: '/api/v1/what-can',
    operationId: 'listHeld',
    summary: 'List all that an identity holds, a page at a time',
    access: 'ask',
    input: {
      body: {
        types: ['application/json'],
        shape: WHAT_CAN_SHAPE,
        example: { identity: 'orcid:0000-0002-1825-0097' },
        maxBytes: HTTP_LIMITS.bodyBytes,
      },
    },
    problems: ['query.cursor', 'proof.unavailable'],
    output: { 200: { type: 'application/json', schema: HELD_SCHEMA } },
    run: async (call) => {
      if (!WHAT_CAN_SHAPE.isRead(call.body)) throw unread();
      const { identity: given, page = {} } = call.body;
      const read = typeof given === 'string' ? parseIdentity(given) : makeIdentity(given.provider, given.subject);
      if (!read.ok) throw faultAt('/identity', `is not an identity (${read.fault.replaceAll('_', ' ')})`);
      const { identity } = read;
      const name = formatIdentity(identity);
      const { policy } = call.pin();
      const paged = startOf(tokens, call, { page, asked: ['what-can', name] });
      const held = await prover.whatCan(policy.digest, { identity, at: paged.at }, call.gone);
      const found = held.flatMap((region) => {
        const scopes = region.scopes.filter((scope) => mayAskOf(call.actor, scope));
        return scopes.length === 0 ? [] : partsWithin(call.actor, { ...region, scopes });
      });
      const subject = eventSubject({ ...WHOLE, identities: [identity] }, policy);
      call.told([{ operation: 'what-can', subject, items: found.length }]);
      const { items, ...rest } = paged.take(found);
      const access = items.map(({ except = [], ...region }) => (except.length === 0 ? region : { ...region, except }));
      return answerOf({ identity: name, ...paged.facts, access, ...rest });
    },
  };
  const visible: ActorRoute = {
    method: 'POST',
    path: '/api/v1/visible',
    operationId: 'listVisible',
    summary: 'List the namespaces whose records somebody sees, a page at a time',
    access: 'ask',
    input: {
      body: {
        types: ['application/json'],
        shape: VISIBLE_SHAPE,
        example: {
          actor: { identities: ['orcid:0000-0002-1825-0097'] },
          family: 'resource',
          namespace: '/',
          reach: 'subtree',
        },
        maxBytes: HTTP_LIMITS.bodyBytes,
      },
    },
    problems: ['namespace.invalid', 'query.cursor'],
    output: { 200: { type: 'application/json', schema: VISIBLE_SCHEMA } },
    run: (call) => Promise.resolve(seeFor(tokens, call)),
  };
  return [explain, whoCan, whatCan, visible];
}

function seeFor(tokens: PageTokens, call: ActorCall): JsonAnswer {
  if (!VISIBLE_SHAPE.isRead(call.body)) throw unread();
  const { family, action = 'read', page = {} } = call.body;
  const { reach = defaultReach(family) } = call.body;
  const context = pathOf(call.body.namespace);
  const { policy } = call.pin();
  const scope = scopeOfFamily(policy, family, action);
  const subject = readSubject(call.body.actor, policy);
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
  return answerOf({
    kind: seen.kind,
    ...(seen.kind === 'none' ? { step: seen.step } : {}),
    exact: items.slice(0, cut),
    subtrees: items.slice(cut),
    ...paged.facts,
    ...rest,
  });
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

const WHOLE = Object.freeze({ kind: 'request', credentialScopes: null, namespaceRestrictions: null } as const);

/** The answer to a question that the key may not ask. It says nothing about the subject of the question. */
function refusal(decision: Decision): object {
  const step = decision.decision === 'deny' ? decision.step : 'restriction';
  const steps = [{ step, passed: false, text: 'the key that asks may not ask about this' }];
  return { decision: 'deny', step, steps, grants: [], edits: [], noEdit: 'a key that may ask about this is needed' };
}

function answerOf(answer: object): JsonAnswer {
  return { status: 200, json: JSON.stringify(answer) };
}

function pathOf(text: string): NamespacePath {
  const read = canonicalize(text);
  if (read.ok) return read.path;
  const message = `is not a namespace: ${pathFaultText(read.fault)}`;
  throw new ApiProblem('namespace.invalid', {
    errors: [{ pointer: '/namespace', code: 'namespace.invalid', message }],
  });
}

function faultAt(pointer: string, message: string): ApiProblem {
  return new ApiProblem('request.schema', { errors: [{ pointer, code: 'request.schema', message }] });
}

function unread(): TypeError {
  return new TypeError('a body that was not read with the shape of its route');
}
