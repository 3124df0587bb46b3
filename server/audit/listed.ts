// What an event says about which records an answer showed (docs/audit.md "The records that an answer showed"): their ids, or a
// set that never leaves one of them out and holds any other record by a chance of one in ten million. Whoever has the
// event can ask it; nothing else is needed.
import { hash } from 'node:crypto';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { decodeGaps, encodeGaps } from './golomb-set.js';

/** Whether events of answers hold the records that these showed: as a set, each by its id, or not at all. */
export type RecordsHeld = 'set' | 'ids' | 'none';

/** Ids with commas between them, as the store gives them; empty if there are none. */
export type ShownIds = string;

/** With neither `ids` nor `set`: so many, and it was not recorded which. Members in the order of RFC 8785. */
export type Listed =
  { readonly ids: readonly string[] } | { readonly count: number; readonly set: string } | { readonly count: number };

/** The set holds a record that was not shown by a chance of one in so many. */
export const SET_ODDS = 10_000_000;

/** `event` is the id of the event. Each event has its own random id, so two events never have the same false positives. */
export function listedOf(event: string, shown: ShownIds, held: RecordsHeld): Listed {
  const ids = shown === '' ? [] : shown.split(',');
  if (ids.length === 0) return { ids };
  if (held === 'none') return { count: ids.length };
  const most = held === 'ids' ? AUDIT_LIMITS.listedIds : AUDIT_LIMITS.listedPlain;
  return ids.length <= most ? { ids: ids.sort() } : setOf(event, ids);
}

function setOf(event: string, ids: readonly string[]): Listed {
  const count = ids.length;
  const numbers = ids.map((id) => numberOf(event, id, count)).sort((one, other) => one - other);
  return { count, set: encodeGaps(numbers).toString('base64url') };
}

/** Where a record stands in the range of a set of `count` records. */
function numberOf(event: string, id: string, count: number): number {
  const first = hash('sha256', `${event}\n${id}`, 'buffer').readBigUInt64BE();
  return Number((first * BigInt(count * SET_ODDS)) >> 64n);
}

/** `unrecorded`: the event does not say which records they were. */
export type Shows =
  { readonly kind: 'yes' | 'maybe' | 'no' | 'unrecorded' } | { readonly kind: 'unreadable'; readonly fault: string };

/** Whether the record was among those shown. `id` is in lower case. */
export function showsRecord(event: string, listed: Listed, id: string): Shows {
  if ('ids' in listed) return { kind: listed.ids.includes(id) ? 'yes' : 'no' };
  if (!('set' in listed)) return { kind: 'unrecorded' };
  const read = readSet(listed);
  if (typeof read === 'string') return { kind: 'unreadable', fault: read };
  return { kind: read.includes(numberOf(event, id, listed.count)) ? 'maybe' : 'no' };
}

/** What is wrong with the list of an event, and where; null if nothing is. */
export function listedFault(listed: Listed): string | null {
  const read = 'set' in listed ? readSet(listed) : [];
  return typeof read === 'string' ? read : null;
}

const BASE64URL = /[^A-Za-z0-9_-]/;

function readSet({ count, set }: { readonly count: number; readonly set: string }): readonly number[] | string {
  const wrong = set.search(BASE64URL);
  if (wrong >= 0) return `\`listed.set\` has a character that is not base64url: character ${String(wrong + 1)}`;
  const bytes = Buffer.from(set, 'base64url');
  if (bytes.toString('base64url') !== set) return `\`listed.set\` is not whole bytes: character ${String(set.length)}`;
  const read = decodeGaps(bytes, { count, bound: count * SET_ODDS });
  return read.ok ? read.numbers : `\`listed.set\` ${read.fault}: bit ${String(read.bit)}`;
}
