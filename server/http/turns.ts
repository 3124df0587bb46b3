// The turn of an actor, the room of its events in the audit log, and the bytes of answers that its clients have not read:
// acquired, checked and released in one place, whichever kind of actor it is.
import { carriedBytes } from '../auth/carried-bytes.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import type { Door } from './door.js';
import type { Exchange, Reply } from './exchange.js';
import { countedAs } from './identify.js';
import type { Outgoing, Pour } from './message.js';
import type { Shares } from './shares.js';

/** The share of the actor, and the name that it is counted under; null if there is no actor. */
function shareOf({ services }: Door, exchange: Exchange): readonly [shares: Shares, name: string] | null {
  const { actor } = exchange;
  if (actor === null) return null;
  const { shares } = services;
  const own =
    'credentialScopes' in actor
      ? shares[actor.kind === 'anonymous' ? 'anonymous' : 'actors']
      : shares.admins[actor.kind];
  return [own, countedAs(actor, exchange)];
}

export async function takeTurn(door: Door, exchange: Exchange): Promise<void> {
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  exchange.leave = (await shares?.enter(name, exchange.incoming)) ?? null;
}

/**
 * Those who read without a credential have turns together, too. They take these once they have sent everything: nobody
 * can keep the others waiting by sending nothing.
 */
export function joinCrowd(door: Door, exchange: Exchange): Promise<void> | void {
  if (exchange.actor?.kind === 'anonymous') return enterCrowd(door, exchange);
}

async function enterCrowd({ services }: Door, exchange: Exchange): Promise<void> {
  alsoLeave(exchange, await services.shares.crowd.enter('', exchange.incoming));
}

/** Room in the audit log for so many events of the request. It has no other meanwhile. */
export function takeRoom({ services }: Door, exchange: Exchange, events: number): Promise<void> | void {
  const { actor, incoming } = exchange;
  if (actor === null || !('credentialScopes' in actor)) return;
  exchange.place?.leave();
  exchange.place = null;
  const eventBytes = AUDIT_LIMITS.eventBytes + carriedBytes(actor.identities, actor.namespaceRestrictions);
  const name = countedAs(actor, exchange);
  const place = services.audit.takePlace(name, { events, eventBytes }, incoming.gone);
  if (!(place instanceof Promise)) {
    exchange.place = place;
    return;
  }
  return place.then((admitted) => {
    exchange.place = admitted;
  });
}

function alsoLeave(exchange: Exchange, also: () => void): void {
  const { leave } = exchange;
  exchange.leave = () => {
    also();
    leave?.();
  };
}

/** Counts what somebody without a credential sends, until the turn ends; undefined for others. */
export function countBody({ services }: Door, exchange: Exchange): ((bytes: number) => void) | undefined {
  if (exchange.actor?.kind !== 'anonymous') return undefined;
  const { add, end } = services.shares.bodies.open(exchange.incoming.peer);
  alsoLeave(exchange, end);
  return add;
}

/**
 * Checked once the size of the answer is known: in the meantime other requests may have made answers that nobody reads.
 * A write is already committed, so its client always gets the answer, whatever the size.
 */
export function checkRoom(door: Door, exchange: Exchange, bytes: number): void {
  const access = exchange.route?.access;
  if (access === 'command' || access === 'admin') return;
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  shares?.checkRoom(name, bytes);
}

/** Counts the bytes before the turn ends. Otherwise the next request could begin before they are counted. */
export function finish(door: Door, exchange: Exchange, { status, headers, text, bytes, pour }: Reply): Outgoing {
  const { peer } = exchange.incoming;
  const [shares, name] = shareOf(door, exchange) ?? [null, ''];
  const { strangers, readers } = door.services.shares;
  const { actor } = exchange;
  const isAnonymous = actor?.kind === 'anonymous';
  const hold = (size: number): (() => void) => {
    if (shares === null) return strangers.hold(peer, size);
    const take = shares.hold(name, size);
    if (actor !== null && !('credentialScopes' in actor)) return take;
    // Nobody is refused for what others leave unread: the slowest of them give way.
    const takeAll = readers[isAnonymous ? 'anonymous' : 'actors'].hold(peer, size);
    return () => {
      takeAll();
      take();
    };
  };
  const taken = hold(bytes);
  exchange.leave?.();
  exchange.place?.leave();
  // A stranger who was refused has to connect again, so that refusals do not keep connections.
  const isStranger = shares === null || isAnonymous;
  const isRefused = status >= 400 && status < 500 && (!isAnonymous || status === 401 || status === 429);
  const isLast = isStranger && !peer.isKnown && isRefused;
  return { status, headers, text, bytes, isLast, taken, ...(pour === undefined ? {} : { pour: counted(pour, hold) }) };
}

/** Counts each part until the client has read it. */
function counted(pour: Pour, hold: (bytes: number) => () => void): Pour {
  return (sink) =>
    pour({
      send: async (part) => {
        const taken = hold(Buffer.byteLength(part));
        try {
          await sink.send(part);
        } finally {
          taken();
        }
      },
    });
}
