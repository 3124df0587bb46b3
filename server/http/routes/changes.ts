// GET /api/v1/changes: what has changed in what the actor may see, as a list or as a stream of events (docs/feed.md).
import { FAMILIES, type Family, isFamily, ROOT } from '../../../engine/index.js';
import { CHANGE_STREAM_SCHEMA, CHANGES_SCHEMA } from '../../api/changes-schema.js';
import { cite, type ReportedAnswer } from '../../audit/cite.js';
import { queryAsked } from '../../audit/event.js';
import { followFeed } from '../../changes/follow-feed.js';
import type { Feed, FeedPage } from '../../changes/feed.js';
import { rememberViews } from '../../changes/remembered-views.js';
import { type FeedView, partOf, type ViewPart } from '../../changes/view.js';
import { CHANGES_LIMITS, STREAM_LIMITS } from '../../limits/changes.js';
import { ApiProblem } from '../../problem.js';
import { makeEachItsTurn } from '../../lib/turns.js';
import { RequestAborted } from '../message.js';
import { namespaceOfQuery } from '../namespace-in.js';
import { type ActorCall, type ActorRoute, type Live, type Moment, optional } from '../route.js';

const ONE_FAMILY = FAMILIES.join('|');

/** 1 to `CHANGES_LIMITS.size`. */
const LIMIT = /^(?:[1-9]\d?|[1-4]\d\d|500)$/;

export function changesRoute(feed: Feed): ActorRoute {
  const readers = makeEachItsTurn(STREAM_LIMITS.readers);
  const viewOf = rememberViews();
  const begin = async (call: ActorCall, live?: Pick<Live, 'lastEventId'>): Promise<Begun> => {
    const { part, after, limit } = read(call, live);
    const moment: Moment = { at: call.at, active: call.pin(), resolved: call.resolve() };
    const began = performance.now();
    const view = viewOf(moment.resolved, call.at);
    noteLook(call, part, { moment, view, began });
    const owner = { actorId: call.actor.id, ...part };
    const changes = await feed.read({ view, at: call.at, owner, after, limit, signal: call.gone });
    refuseNothing(view, part, changes);
    return { moment, owner, limit, showing: { view, part, changes } };
  };
  return {
    method: 'GET',
    path: '/api/v1/changes',
    operationId: 'listChanges',
    summary: 'Follow what changes in what the actor may see',
    access: 'visibility',
    input: {
      query: {
        after: optional(
          'The cursor to go on from: `next` of an answer, or the `cursor` of an item. Without it, the answer has no items, and the cursor of the present end.',
          '',
        ),
        limit: optional(`The most items of an answer, 1 to ${String(CHANGES_LIMITS.size)}.`, '100', LIMIT),
        namespace: optional('Shows changes at this namespace and below it. Unless set, everywhere.', '/'),
        families: {
          ...optional(
            'Shows changes of these families, joined by commas. Unless set, of all.',
            'resource,process-run',
            new RegExp(`^(?:${ONE_FAMILY})(?:,(?:${ONE_FAMILY}))*$`),
          ),
          form: `name families, joined by commas, among ${FAMILIES.join(', ')}: there are records of these families only`,
        },
      },
    },
    problems: ['namespace.invalid', 'query.cursor', 'changes.expired'],
    output: { 200: { type: 'application/json', schema: CHANGES_SCHEMA, streams: CHANGE_STREAM_SCHEMA } },
    run: async (call) => {
      const { moment, showing } = await begin(call);
      const shown = toldOf(moment, showing);
      await call.willTell(shown.length);
      const [main] = shown;
      call.told(shown.slice(1));
      return {
        status: 200,
        json: JSON.stringify({ items: showing.changes.items, next: showing.changes.next }),
        shown: {
          items: main?.items ?? 0,
          ...(main?.shown === undefined ? {} : { ids: main.shown }),
          ...(main?.visibility === undefined ? {} : { visibility: main.visibility }),
        },
      };
    },
    stream: async (call, live) => {
      const { moment, owner, limit, showing } = await begin(call, live);
      return {
        status: 200,
        pour: (sink) =>
          followFeed(feed, {
            first: showing,
            limit,
            owner,
            signal: call.gone,
            sink,
            inTurn: async (work) => {
              const leave = await readers.enter(owner.actorId, call.gone);
              try {
                return await work();
              } finally {
                leave();
              }
            },
            look: async () => {
              const now = await live.again();
              return { at: now.at, view: viewOf(now.resolved, now.at), moment: now };
            },
            shown: (now, changes) => {
              const { view: then, moment: when = moment } = now;
              if (changes.items.length > 0) live.shown(when, toldOf(when, { ...showing, view: then, changes }));
            },
            problemOf: (error) => (error instanceof RequestAborted ? null : live.problemOf(error)),
          }),
      };
    },
  };
}

interface Begun {
  readonly moment: Moment;
  readonly owner: ViewPart & { readonly actorId: string };
  readonly limit: number;
  readonly showing: Showing;
}

interface FeedRequest {
  readonly part: ViewPart;
  readonly after: string | null;
  readonly limit: number;
}

/** A client that comes back to a stream names its place in a header, and repeats the address that it began with. */
function read({ query }: ActorCall, live?: Pick<Live, 'lastEventId'>): FeedRequest {
  const namespace = namespaceOfQuery(query.get('namespace') ?? ROOT);
  const families = query.get('families')?.split(',') ?? [];
  return {
    part: {
      families: families.length === 0 ? FAMILIES : FAMILIES.filter((family) => families.includes(family)),
      namespace,
    },
    after: live?.lastEventId ?? query.get('after') ?? null,
    limit: Number(query.get('limit') ?? CHANGES_LIMITS.defaultSize),
  };
}

interface Looked {
  readonly moment: Moment;
  readonly view: FeedView;
  readonly began: number;
}

/** The log names the first family that the actor sees something of. */
function noteLook({ judged }: ActorCall, part: ViewPart, { moment: { resolved }, view, began }: Looked): void {
  const ended = performance.now();
  const family = mainFamily(view, part);
  const access = queryAsked({ family, context: part.namespace, reach: 'subtree' });
  const visibility = partOf(view, part).get(family) ?? view.refused.get(family);
  const asked = { access, resolved, ...(visibility === undefined ? {} : { visibility }) };
  judged({ operation: `${family}.changes`, asked }, { began, ended });
}

function mainFamily(view: FeedView, part: ViewPart): Family {
  const [first] = [...partOf(view, part).keys(), ...part.families];
  if (first === undefined) throw new TypeError('a feed of no family');
  return first;
}

/** Whoever sees nothing is refused, except for the answer that says that it has lost what it saw. */
function refuseNothing(view: FeedView, part: ViewPart, { items }: FeedPage): void {
  if (partOf(view, part).size > 0 || items.length > 0) return;
  const [family = 'namespace'] = part.families;
  throw new ApiProblem('authz.denied', { step: view.refused.get(family)?.step ?? 'no_matching_grant' });
}

interface Showing {
  readonly view: FeedView;
  readonly part: ViewPart;
  readonly changes: FeedPage;
}

/** For each family what was shown of it; the first family even if that is nothing. */
function toldOf({ at, resolved }: Moment, { view, part, changes }: Showing): readonly ReportedAnswer[] {
  const ids = new Map<Family, string[]>([[mainFamily(view, part), []]]);
  for (const item of changes.items) {
    if (item.change === 'rights' || !isFamily(item.family)) continue;
    const known = ids.get(item.family) ?? [];
    ids.set(item.family, known);
    known.push(item.id);
  }
  const parts = partOf(view, part);
  return [...ids].map(([family, records]) => {
    const access = queryAsked({ family, context: part.namespace, reach: 'subtree' });
    const visibility = parts.get(family);
    const cited = cite({ access, resolved, ...(visibility === undefined ? {} : { visibility }) }, at);
    return {
      operation: `${family}.changes`,
      access,
      items: records.length,
      shown: [...new Set(records)].join(','),
      ...cited,
    };
  });
}
