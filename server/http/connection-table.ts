// The open connections of one listener: how many there are, who may open another, and which one is closed for it. One on
// which no valid credential has come belongs to a stranger. Strangers have a share for each address, and in a full table
// their connections are closed for new ones, unless an address has more with valid credentials than all strangers have.
import type { Socket } from 'node:net';
import { findConnection, type CutReason } from './connection.js';
import { addressName } from './rate-limit.js';

export interface ConnectionLimits {
  readonly total: number;
  /** Of one address, without a valid credential. In a full table those with one give way, too, if it has more of them. */
  readonly perAddress: number;
  /** Addresses of proxies, which have no share of their own: their connections are those of many clients. */
  readonly isProxy: (address: string) => boolean;
}

export interface ConnectionFacts {
  readonly max: number;
  readonly known: number;
  readonly strangers: number;
}

export interface ConnectionTable {
  /** Counts a connection until it closes. False if there is no place for it; it is then closed. */
  readonly take: (socket: Socket) => boolean;
  /**
   * Names the socket on which the requests of a connection come, if that is not its own: under TLS. Returns its own, or
   * null if the connection is not counted any more.
   */
  readonly secured: (socket: Socket) => Socket | null;
  /** A valid credential has come on this socket. */
  readonly known: (socket: Socket) => void;
  readonly facts: () => ConnectionFacts;
}

export interface TableOptions extends ConnectionLimits {
  /** Whether a socket has no request in progress. */
  readonly isIdle: (socket: Socket) => boolean;
  /** Told of each connection that was turned away or had to give way. */
  readonly onCut: (reason: CutReason) => void;
  /** Told once when the table is full, and again only after it was much emptier. */
  readonly onFull: (facts: ConnectionFacts) => void;
}

interface Entry {
  /** Of the listener. */
  readonly socket: Socket;
  /** Kept, because a closed socket no longer knows all of it. */
  readonly port: string;
  /** Null for a proxy and on a Unix socket. */
  readonly address: string | null;
  /** Where its requests come. */
  requests: Socket;
}

/** Below this part of its size a table that was full counts as relieved. */
const RELIEVED = 0.75;

export function makeConnectionTable({ total, perAddress, isProxy, ...options }: TableOptions): ConnectionTable {
  const { isIdle, onCut, onFull } = options;
  /** In the order in which they came. */
  const strangers = new Set<Entry>();
  const known = new Set<Entry>();
  const byAddress: ByAddress = new Map();
  const knownByAddress: ByAddress = new Map();
  /** Those of addresses that have more than their share: a few, however many addresses there are. */
  const large = new Set<ReadonlySet<Entry>>();
  /** Places that strangers have in any case, so that each newcomer has the time to show a credential. */
  const reserved = Math.min(perAddress, Math.ceil(total / 8));
  const bySocket = new WeakMap<Socket, Entry>();
  const byPort = new Map<string, Entry>();
  let wasFull = false;

  const facts = (): ConnectionFacts => ({ max: total, known: known.size, strangers: strangers.size });
  const forget = (entry: Entry): void => {
    known.delete(entry);
    strangers.delete(entry);
    leaveAddress(entry, byAddress);
    const own = leaveAddress(entry, knownByAddress);
    if (own !== undefined && own.size <= perAddress) large.delete(own);
    if (byPort.get(entry.port) === entry) byPort.delete(entry.port);
    if (known.size + strangers.size < total * RELIEVED) wasFull = false;
  };
  const end = (entry: Entry, reason: CutReason): void => {
    forget(entry);
    const connection = findConnection(entry.requests);
    if (connection === null) onCut(reason);
    connection?.cut(reason);
    entry.socket.destroy();
  };
  const firstIdle = (entries: Iterable<Entry>): Entry | null => {
    for (const entry of entries) if (isIdle(entry.requests)) return entry;
    return null;
  };
  /** The connections with valid credentials of which one is closed before any stranger's. */
  const tooMany = (): Iterable<Entry> => {
    const largest = [...large].reduce<ReadonlySet<Entry> | null>(
      (a, b) => (a === null || b.size > a.size ? b : a),
      null,
    );
    if (largest !== null && largest.size > strangers.size) return largest;
    return strangers.size < reserved ? known : [];
  };
  const makeRoom = (address: string | null): boolean => {
    const own = address === null ? undefined : byAddress.get(address);
    if (own !== undefined && own.size >= perAddress) {
      const oldest = firstIdle(own);
      if (oldest === null) {
        onCut('address');
        return false;
      }
      end(oldest, 'address');
    }
    if (known.size + strangers.size < total) return true;
    if (!wasFull) onFull(facts());
    wasFull = true;
    const oldest = firstIdle(tooMany()) ?? firstIdle(strangers) ?? first(strangers) ?? firstIdle(known);
    if (oldest === null) onCut('full');
    else end(oldest, 'full');
    return oldest !== null;
  };
  return {
    take: (socket) => {
      const from = socket.remoteAddress?.split('%')[0];
      const address = from === undefined || isProxy(from) ? null : addressName(from);
      if (!makeRoom(address)) {
        socket.destroy();
        return false;
      }
      const entry: Entry = { socket, port: portOf(socket), address, requests: socket };
      strangers.add(entry);
      bySocket.set(socket, entry);
      if (from !== undefined) byPort.set(entry.port, entry);
      enterAddress(entry, byAddress);
      socket.once('close', () => {
        forget(entry);
      });
      return true;
    },
    secured: (socket) => {
      const entry = byPort.get(portOf(socket));
      if (entry === undefined) return null;
      entry.requests = socket;
      bySocket.set(socket, entry);
      return entry.socket;
    },
    known: (socket) => {
      const entry = bySocket.get(socket);
      if (entry === undefined || !strangers.delete(entry)) return;
      leaveAddress(entry, byAddress);
      known.add(entry);
      const own = enterAddress(entry, knownByAddress);
      if (own !== undefined && own.size > perAddress) large.add(own);
    },
    facts,
  };
}

type ByAddress = Map<string, Set<Entry>>;

/** Returns what its address has then; undefined if it has none. */
function enterAddress(entry: Entry, byAddress: ByAddress): Set<Entry> | undefined {
  if (entry.address === null) return undefined;
  const those = (byAddress.get(entry.address) ?? new Set()).add(entry);
  byAddress.set(entry.address, those);
  return those;
}

function leaveAddress(entry: Entry, byAddress: ByAddress): Set<Entry> | undefined {
  const those = entry.address === null ? undefined : byAddress.get(entry.address);
  if (those?.delete(entry) === true && those.size === 0 && entry.address !== null) byAddress.delete(entry.address);
  return those;
}

function first<T>(values: Iterable<T>): T | null {
  for (const value of values) return value;
  return null;
}

/** Two connections at one time never have the same. */
function portOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Socket): string {
  return `${remoteAddress} ${String(remotePort)} ${localAddress}`;
}
