// The searches of AuthZEN (docs/authzen.md "Searches"): exact, sorted, counted, and within the bounds of the key that asks.
import {
  compareTexts,
  comparePaths,
  decideAs,
  decideRaw,
  type Identity,
  lineageOf,
  type NamespacePath,
  ROOT,
  type ScopeName,
  type Visible,
  visibilityDigest,
} from '../../../engine/index.js';
import { boundsOf, decideWithin, mayAskOf } from '../../asking/about-others.js';
import type { ReportedAnswer } from '../../audit/cite.js';
import { askedOf, eventSubject } from '../../audit/event.js';
import type { Database } from '../../db/database.js';
import { mapInTurns } from '../../lib/in-turns.js';
import { ASK_LIMITS } from '../../limits/http.js';
import type { Places, PlacesAsked } from '../../policy/open/prove.js';
import type { Prover } from '../../policy/open/prover.js';
import { isObject } from '../../json/strict-json.js';
import { ApiProblem } from '../../problem.js';
import { planQuery } from '../../query/parse-query.js';
import { countRecords, listPage } from '../../query/records.js';
import { rowPredicate } from '../../query/row-predicate.js';
import { bindingOf, type PageTokens } from '../page-tokens.js';
import type { ActorCall, ActorRoute } from '../route.js';
import { holderOf, reachOf } from './ask-route.js';
import { authzenRoute } from './authzen-route.js';
import { actionOf, entityOf, fromOf, kindOf, pageOf, RequestFault, type SearchPage } from './authzen-request.js';
import type { AuthzenWords } from './authzen-words.js';

export interface SearchOptions {
  readonly db: Database;
  readonly prover: Prover;
  readonly tokens: PageTokens;
  /** The store's secret for sealing cursors. */
  readonly cursorKey: Uint8Array;
}

export function makeSearchRoutes(options: SearchOptions, words: AuthzenWords): readonly ActorRoute[] {
  const { prover, tokens } = options;
  const subjects = authzenRoute('/access/v1/search/subject', 'searchSubjects', async (call, body) => {
    const { policy } = call.pin();
    const [type, action] = [kindOf(body, 'subject'), actionOf(body)];
    const resource = entityOf(body, 'resource');
    const page = pageOf(body);
    const from = fromOf(body);
    const start = startOf(tokens, call, { page, asked: ['subject', type, action, resource, from], words });
    const named = words.named(resource);
    const [provider, scope] = [words.providerOf(type), words.scopeOf(action, resource.type, policy)];
    const target = await words.placeOf(resource, call.gone);
    const context = target === null ? null : words.contextOf(from, target);
    if (provider === null || scope === null || target === null || context === null)
      return start.empty({ ...words.meaningless('who-can'), ...named });
    const request = { kind: 'access', scope, context, target } as const;
    const own = decideAs(boundsOf(call.actor, policy), { request, at: start.at });
    const access = askedOf(request);
    if (own.decision === 'deny')
      return start.empty({ operation: 'who-can', access, decision: own, ...words.told, ...named });
    const { at, offset, limit: size } = start;
    const asked = { scope, namespace: target, at, provider, offset, size };
    const { count, items } = await prover.subjects(policy.digest, asked, call);
    const found = items.map((id) => ({ type, id }));
    return start.part(found, count, { operation: 'who-can', access, items: count, ...words.told, ...named });
  });
  const actions = authzenRoute('/access/v1/search/action', 'searchActions', async (call, body) => {
    const { policy } = call.pin();
    const [subject, resource] = [entityOf(body, 'subject'), entityOf(body, 'resource')];
    const page = pageOf(body);
    const from = fromOf(body);
    const start = startOf(tokens, call, { page, asked: ['action', subject, resource, from], words });
    const named = words.named(resource);
    const identity = words.identityOf(subject);
    const target = await words.placeOf(resource, call.gone);
    const context = target === null ? null : words.contextOf(from, target);
    if (identity === null || target === null || context === null)
      return start.empty({ ...words.meaningless('what-can'), ...named });
    const found = words
      .actionsOn(resource.type, policy)
      .filter(([, scope]) => isAllowed(call, { identity, scope, context, target }, start))
      .map(([name]) => ({ name }));
    const about = eventSubject(holderOf(identity), policy);
    return start.answer(found, { operation: 'what-can', subject: about, items: found.length, ...words.told, ...named });
  });
  const resources = authzenRoute('/access/v1/search/resource', 'searchResources', async (call, body) => {
    const { policy } = call.pin();
    const [subject, action] = [entityOf(body, 'subject'), actionOf(body)];
    const type = kindOf(body, 'resource');
    const page = pageOf(body);
    const from = fromOf(body);
    const [identity, scope, kind] = [
      words.identityOf(subject),
      words.scopeOf(action, type, policy),
      words.kindOf(type),
    ];
    const asked = ['resource', subject, action, type, from];
    if (kind?.kind === 'named' && !kind.isWhole)
      throw new RequestFault('resource.type has more ids than the vocabulary lists, so it cannot be searched');
    const start = startOf(tokens, call, { page, asked, words, isSealed: kind?.kind === 'records' });
    if (identity === null || scope === null || kind === null) return start.empty(words.meaningless('what-can'));
    const about = eventSubject(holderOf(identity), policy);
    const told = { operation: 'what-can', subject: about, ...words.told } as const;
    if (kind.kind === 'named') {
      const allowed = await mapInTurns(
        [...kind.ids],
        ([id, target]) => {
          const context = words.contextOf(from, target);
          return context !== null && isAllowed(call, { identity, scope, context, target }, start) ? [{ type, id }] : [];
        },
        call.gone,
      );
      const found = allowed.flat().sort((a, b) => compareTexts(a.id, b.id));
      return start.answer(found, { ...told, items: found.length });
    }
    const cut = kind.kind === 'records' ? ALL : { offset: start.offset, size: start.limit };
    const asking = { identity, scope, at: start.at, ...cut };
    const { count, roots, nodes } = await placesOf(call, { prover, words, from }, asking);
    if (kind.kind === 'records') {
      const places: Visible = { kind: 'some', exact: nodes, subtrees: roots };
      if (roots.length + nodes.length === 0) return start.empty(told);
      return listRecords(options, call, { places, family: kind.family, type, start, told });
    }
    const found = [
      ...roots.map((id) => ({ type, id, properties: { extent: 'subtree' } })),
      ...nodes.map((id) => ({ type, id, properties: { extent: 'node' } })),
    ].sort((a, b) => comparePaths(a.id, b.id));
    return start.part(found, count, { ...told, items: count });
  });
  return [subjects, resources, actions];
}

interface SearchSubject {
  readonly identity: Identity;
  readonly scope: ScopeName;
}

function isAllowed(
  call: ActorCall,
  {
    identity,
    scope,
    context,
    target,
  }: SearchSubject & { readonly context: NamespacePath; readonly target: NamespacePath },
  { at }: Pick<Start, 'at'>,
): boolean {
  const request = { kind: 'access', scope, context, target } as const;
  const { policy } = call.pin();
  const decide = (): ReturnType<typeof decideRaw> => decideRaw(policy, { actor: holderOf(identity), request, at });
  return decideWithin(boundsOf(call.actor, policy), { request, at }, decide).decision === 'allow';
}

const ALL = Object.freeze({ offset: 0, size: Infinity });

/** Where the scope is held. */
async function placesOf(
  call: ActorCall,
  { prover, words, from }: { readonly prover: Prover; readonly words: AuthzenWords; readonly from: unknown },
  asked: Omit<PlacesAsked, 'kind' | 'within'>,
): Promise<Places> {
  const { identity, scope, at, offset, size } = asked;
  if (!mayAskOf(call.actor, scope)) return { count: 0, roots: [], nodes: [] };
  if (from === null) return prover.places(call.pin().policy.digest, { ...asked, within: reachOf(call) }, call);
  const context = words.contextOf(from, ROOT);
  const near = context === null ? [] : [...lineageOf(context)].sort(comparePaths);
  const nodes = near.filter((target) => isAllowed(call, { identity, scope, context: context ?? ROOT, target }, { at }));
  return { count: nodes.length, roots: [], nodes: nodes.slice(offset, offset + size) };
}

interface Listing {
  readonly places: Visible;
  readonly family: Parameters<typeof planQuery>[0]['family'];
  readonly type: string;
  readonly start: Start;
  readonly told: ReportedAnswer;
}

/** Records by the query engine, archived ones included: they may still be read. */
async function listRecords(
  { db, cursorKey }: SearchOptions,
  call: ActorCall,
  { places, family, type, start, told }: Listing,
): Promise<object> {
  const predicate = rowPredicate(places);
  const page = { size: start.limit, after: start.token };
  const plan = planQuery({ family, namespace: ROOT, select: ['id'], includeArchived: true, page });
  const visibility = `${start.binding} ${visibilityDigest(places)}`;
  const cursors = { secret: cursorKey, actorId: call.actor.id, visibility };
  const reading = { predicate, plan, signal: call.gone, asker: call.actor.id };
  const [listed, total] = await Promise.all([listPage(db, { ...reading, cursors }), countRecords(db, reading)]);
  const items: unknown = JSON.parse(listed.items);
  const results = (Array.isArray(items) ? items : []).map((item: unknown) => ({
    type,
    id: isObject(item) ? item['id'] : null,
  }));
  call.told([{ ...told, items: total, shown: listed.ids }]);
  const next = listed.next === null ? '' : `${String(start.limit)}.${listed.next}`;
  return answerOf(results, { next_token: next, count: results.length, total });
}

interface Start {
  readonly at: ActorCall['at'];
  /** Where the page begins in a computed list. */
  readonly offset: number;
  readonly limit: number;
  readonly binding: string;
  /** The cursor of the store, where the list is one of the store. */
  readonly token: string | null;
  readonly answer: (found: readonly object[], told: ReportedAnswer) => object;
  /** The same if the page is cut out already, of a list of so many. */
  readonly part: (results: readonly object[], total: number, told: ReportedAnswer) => object;
  readonly empty: (told: ReportedAnswer) => object;
}

interface Starting {
  readonly page: SearchPage;
  readonly asked: readonly unknown[];
  readonly words: AuthzenWords;
  /** Whether the token is one of the store. */
  readonly isSealed?: boolean;
}

/** Throws `query.cursor` for a token of another search, or of this one under another policy. */
function startOf(tokens: PageTokens, call: ActorCall, { page, asked, words, isSealed = false }: Starting): Start {
  const [, given = '', rest = ''] = /^(\d{1,9})\.(.+)$/s.exec(page.token ?? '') ?? [];
  if (page.token !== null && rest === '') throw restart();
  const limit = Math.min(page.limit ?? (given === '' ? ASK_LIMITS.pageSize : Number(given)), ASK_LIMITS.pageSize);
  const binding = bindingOf(call, ['authzen', words.told.vocabulary ?? '', JSON.stringify(asked)]);
  const open = page.token === null || isSealed ? { at: call.at, offset: 0 } : tokens.open(rest, binding, call.at);
  if (open === null || limit < 1) throw restart();
  const { at, offset } = open;
  const end = offset + limit;
  const part: Start['part'] = (results, total, told) => {
    call.told([told]);
    const next = end < total ? `${String(limit)}.${tokens.seal(binding, { at, offset: end })}` : '';
    return answerOf(results, { next_token: next, count: results.length, total });
  };
  const answer: Start['answer'] = (found, told) => part(found.slice(offset, end), found.length, told);
  return {
    at,
    offset,
    limit,
    binding,
    part,
    token: rest === '' ? null : rest,
    answer,
    empty: (told) => answer([], told),
  };
}

function restart(): ApiProblem {
  return new ApiProblem('query.cursor');
}

function answerOf(results: readonly object[], page: object): object {
  return { page, results };
}
