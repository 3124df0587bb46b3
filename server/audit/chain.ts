// The chain: each event names the hash of the one before it, so that no event can be changed, moved or left out without
// a trace (docs/audit.md "The chain"). Pure: turns an event into a line, and a line into an event.
import { hash } from 'node:crypto';
import type { AuditEvent } from './event.js';
import { isObject } from '../json/strict-json.js';

/** The end of a log, which the next event continues. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
}

/** Before the first event. */
export const BEGINNING: Head = Object.freeze({ seq: 0, hash: `sha256:${'0'.repeat(64)}` });

export interface Linked {
  /** Without the line end. */
  readonly line: string;
  readonly head: Head;
}

/**
 * The line of an event at the end of a log: its RFC 8785 form. `hash` is the digest of the same text without the member `hash`.
 * Only this function inserts it between the other members.
 */
export function link(event: AuditEvent, log: string, { seq: last, hash: previous }: Head): Linked {
  const seq = last + 1;
  const members = Object.entries({ ...event, log, previous, seq }).sort(([one], [other]) => (one < other ? -1 : 1));
  const texts = members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  const digest = digestOf(`{${texts.join(',')}}`);
  const at = members.findIndex(([name]) => name > 'hash');
  return { line: `{${texts.toSpliced(at, 0, `"hash":"${digest}"`).join(',')}}`, head: { seq, hash: digest } };
}

/** The parts of a log line that the chain depends on. */
export interface ChainLine {
  readonly seq: number;
  readonly log: string;
  readonly previous: string;
  readonly hash: string;
  /** The digest of the line as it is, which may differ from `hash`. */
  readonly digest: string;
  /** The whole line as a value. */
  readonly value: object;
}

/** The content of a line; null if no log of ours could hold such a line. */
export function readLine(line: string): ChainLine | null {
  const value = parse(line);
  // JSON has only one accepted spelling: no white space, no duplicate keys, no other escapes, members in order.
  if (!isObject(value) || !isSpelled(value, line)) return null;
  const [seq, log, previous, digest] = ['seq', 'log', 'previous', 'hash'].map((name): unknown =>
    Reflect.get(value, name),
  );
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 1) return null;
  if (typeof log !== 'string' || typeof previous !== 'string' || typeof digest !== 'string') return null;
  const member = `"hash":${JSON.stringify(digest)}`;
  const at = line.indexOf(member);
  // `hash` is neither the first member nor the last, because every event has `access` and `time`.
  const rest = line.slice(0, at) + line.slice(at + member.length + 1);
  return { seq, log, previous, hash: digest, digest: digestOf(rest), value };
}

function digestOf(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Also false for a value that is nested too deep to be written again, as no event is. */
function isSpelled(value: object, line: string): boolean {
  try {
    return JSON.stringify(value) === line && isInOrder(value);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Whether the members of every object in the value are in the order of their UTF-16 code units. */
function isInOrder(value: object): boolean {
  let last = '';
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) {
      if (name < last) return false;
      last = name;
    }
    const inner: unknown = member;
    if (typeof inner === 'object' && inner !== null && !isInOrder(inner)) return false;
  }
  return true;
}
