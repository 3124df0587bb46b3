// Cursors: the place of the last row of a page, sealed with AES-256-GCM. Actor, query and visibility are the associated
// data, so a cursor opens only where all three are the same. Any other text is refused with `query.cursor`
// (docs/queries.md "Pages").
//
// The nonce is a keyed hash of what is sealed, so the same place gives the same cursor: answers can be compared byte
// for byte, and one nonce never serves two different places.
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { ApiProblem } from '../problem.js';
import type { SortPosition } from './order.js';
import { decodePosition, encodePosition } from './position-bytes.js';
import type { QueryPlan } from './plan.js';

export interface CursorBinding {
  /** The secret of the store (server/db/secrets.ts). */
  readonly secret: Uint8Array;
  readonly actorId: string;
  /** The digest of what the actor sees in this query (engine `visibilityDigest`). */
  readonly visibility: string;
}

interface Sealing {
  readonly plan: QueryPlan;
  readonly binding: CursorBinding;
}

interface Opening extends Sealing {
  readonly check: (value: unknown) => value is SortPosition;
}

const VERSION = 2;
const NONCE = 12;
const TAG = 16;

export function sealCursor(position: SortPosition, { plan, binding }: Sealing): string {
  const plain = encodePosition(position);
  const context = contextOf(plan, binding);
  const nonce = createHmac('sha256', key(binding, 'nonce')).update(context).update(plain).digest().subarray(0, NONCE);
  const cipher = createCipheriv('aes-256-gcm', key(binding, 'seal'), nonce).setAAD(context);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** The place that a cursor of this query stands for; anything else throws `query.cursor`. */
export function openCursor(text: string, { plan, binding, check }: Opening): SortPosition {
  const bytes = Buffer.from(text, 'base64url');
  // Base64 decoding is lenient, but a cursor must have only one spelling.
  if (bytes.toString('base64url') !== text || bytes[0] !== VERSION || bytes.length < 1 + NONCE + TAG) throw refusal();
  const opened = decrypt(bytes, contextOf(plan, binding), key(binding, 'seal'));
  if (!check(opened)) throw refusal();
  return opened;
}

function decrypt(bytes: Buffer, context: Buffer, secret: KeyObject): SortPosition | null {
  const sealed = bytes.subarray(1 + NONCE, -TAG);
  const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(1, 1 + NONCE), { authTagLength: TAG });
  decipher.setAAD(context).setAuthTag(bytes.subarray(-TAG));
  let plain: Buffer;
  try {
    plain = Buffer.concat([decipher.update(sealed), decipher.final()]);
  } catch (cause) {
    throw refusal(cause);
  }
  return decodePosition(plain);
}

/** A JSON list, so two different bindings never give the same bytes. */
function contextOf(plan: QueryPlan, { actorId, visibility }: CursorBinding): Buffer {
  return Buffer.from(JSON.stringify(['bailiwick cursor', VERSION, actorId, plan.digest, visibility]));
}

interface Keys {
  readonly seal: KeyObject;
  readonly nonce: KeyObject;
}

/** The keys by store secret. Deriving them costs more than sealing a cursor. */
const derived = new WeakMap<Uint8Array, Keys>();

function key({ secret }: CursorBinding, purpose: keyof Keys): KeyObject {
  const known = derived.get(secret);
  if (known !== undefined) return known[purpose];
  const derive = (name: keyof Keys): KeyObject =>
    createSecretKey(new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), `bailiwick cursor ${name}`, 32)));
  const keys = { seal: derive('seal'), nonce: derive('nonce') };
  derived.set(secret, keys);
  return keys[purpose];
}

function refusal(cause?: unknown): ApiProblem {
  const errors = [{ pointer: '/page/after', code: 'query.cursor' as const, message: 'is not a cursor of this query' }];
  return new ApiProblem('query.cursor', cause === undefined ? { errors } : { errors, cause });
}
