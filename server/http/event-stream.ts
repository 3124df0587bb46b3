// Server-sent events: which requests get them, the place that a stream has, and what a stream may ask again while it lasts.
import { ApiProblem } from '../problem.js';
import { type Door, pinFresh } from './door.js';
import { type EventStream, type Exchange, problemText } from './exchange.js';
import { countedAs, evidenceOf } from './identify.js';
import type { ActorCall, ActorRoute, Live, Moment } from './route.js';
import { toProblem } from './to-problem.js';

/** Only a client that names the type gets events, so `*`/`*` keeps getting JSON. */
export function wantsEvents({ headers, incoming }: Exchange, { stream }: ActorRoute): boolean {
  if (stream === undefined || incoming.method !== 'GET') return false;
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    return type === 'text/event-stream' && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one));
  });
}

interface Opening {
  readonly route: ActorRoute;
  readonly asked: ActorCall;
}

/**
 * The stream has its place until it ends, and its actor's turn only until it begins. What its client has yet to read
 * counts as that of other answers does.
 */
export async function openStream(door: Door, exchange: Exchange, { route, asked }: Opening): Promise<EventStream> {
  const { services } = door;
  const { actor } = asked;
  const places = actor.kind === 'anonymous' ? services.streams.anonymous : services.streams.actors;
  const leave = await places.enter(countedAs(actor, exchange), exchange.incoming);
  try {
    if (route.stream === undefined) throw new TypeError('a route without a stream');
    const { status, pour } = await route.stream(asked, liveOf(door, exchange, asked));
    return { status, pour: (sink) => pour(sink).finally(leave) };
  } catch (error) {
    leave();
    throw error;
  }
}

function liveOf(door: Door, exchange: Exchange, { actor }: ActorCall): Live {
  const { services } = door;
  return {
    lastEventId: exchange.headers.get('last-event-id') ?? null,
    again: async (): Promise<Moment> => {
      if (door.isClosing()) throw new ApiProblem('shutting_down', { retryAfter: 1 });
      const at = services.clock.now();
      const now =
        actor.kind === 'anonymous' ? actor : await services.actors.credentialOf(evidenceOf(exchange)).authenticate(at);
      // What was sealed for one actor is never shown to another.
      if (now.id !== actor.id) throw new ApiProblem('auth.invalid', { reason: 'the credential is another actor now' });
      services.audit.check('visibility');
      const active = pinFresh(services, at);
      return { at, active, resolved: services.resolveActor(active.policy, now) };
    },
    shown: ({ at, active }, told) => {
      const then = { ...exchange, at, active, judged: null, held: null, told };
      services.audit.answered(then, { status: 200, json: '' });
    },
    problemOf: (error) => {
      const problem = toProblem(error);
      if (problem.code === 'internal') services.observer.answered(exchange, problem.status, problem);
      const text = problemText(problem, exchange.clientId ?? exchange.requestId);
      return { text, retryAfter: problem.detail.retryAfter ?? null };
    },
  };
}
