// Cursors of the feed: a place in it and the view of who reads it, sealed with AES-256-GCM. The actor and what is asked
// for are the associated data. Every cursor is sealed under a key of its own, which a random salt gives it, so two
// cursors of one place differ: nobody can tell from a cursor whether anything invisible has happened.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { ApiProblem } from '../problem.js';
import type { ViewPart } from './view.js';

export interface FeedPlace {
  readonly position: number;
  /** The mark of that position (migration 0002). */
  readonly mark: number;
  /** The instant from which on everything after the place has to be there, by the clock of the store. */
  readonly since: number;
  /** The digest of the view, in hex. */
  readonly view: string;
}

/** Who reads what. */
export interface CursorOwner extends ViewPart {
  readonly actorId: string;
}

export interface Cursors {
  readonly seal: (place: FeedPlace, owner: CursorOwner) => string;
  /** Throws `query.cursor` for every text that is no cursor of this owner. */
  readonly open: (text: string, owner: CursorOwner) => FeedPlace;
}

const VERSION = 1;
const SALT = 16;
const TAG = 16;
const PLAIN = 8 + 4 + 8 + 32;
/** The salt makes the key, so that the nonce never meets the same key again. */
const NONCE = new Uint8Array(12);

export function makeCursors(secret: Uint8Array): Cursors {
  const root = Buffer.from(hkdfSync('sha256', secret, '', 'bailiwick cursors of changes', 32));
  const keyOf = (salt: Uint8Array): Buffer => createHmac('sha256', root).update(salt).digest();
  return {
    seal: ({ position, mark, since, view }, owner) => {
      const plain = Buffer.alloc(PLAIN);
      plain.writeBigUInt64BE(BigInt(position), 0);
      plain.writeInt32BE(mark, 8);
      plain.writeBigUInt64BE(BigInt(since), 12);
      plain.write(view, 20, 'hex');
      const salt = randomBytes(SALT);
      const cipher = createCipheriv('aes-256-gcm', keyOf(salt), NONCE).setAAD(contextOf(owner));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), salt, sealed, cipher.getAuthTag()]).toString('base64url');
    },
    open: (text, owner) => {
      const bytes = Buffer.from(text, 'base64url');
      // Base64 decoding is lenient, but a cursor must have only one spelling.
      const isWhole = bytes.length === 1 + SALT + PLAIN + TAG && bytes.toString('base64url') === text;
      if (!isWhole || bytes[0] !== VERSION) throw refusal();
      const key = keyOf(bytes.subarray(1, 1 + SALT));
      const decipher = createDecipheriv('aes-256-gcm', key, NONCE, { authTagLength: TAG });
      decipher.setAAD(contextOf(owner)).setAuthTag(bytes.subarray(-TAG));
      let plain: Buffer;
      try {
        plain = Buffer.concat([decipher.update(bytes.subarray(1 + SALT, -TAG)), decipher.final()]);
      } catch (cause) {
        throw refusal(cause);
      }
      return {
        position: Number(plain.readBigUInt64BE(0)),
        mark: plain.readInt32BE(8),
        since: Number(plain.readBigUInt64BE(12)),
        view: plain.toString('hex', 20),
      };
    },
  };
}

/** A JSON list, so two different owners never give the same bytes. */
function contextOf({ actorId, families, namespace }: CursorOwner): Buffer {
  return Buffer.from(JSON.stringify(['bailiwick changes', VERSION, actorId, families, namespace]));
}

function refusal(cause?: unknown): ApiProblem {
  const message = 'is not a cursor of this feed: it belongs to one actor, one namespace and one list of families';
  const errors = [{ pointer: '', code: 'query.cursor' as const, message: `after ${message}` }];
  return new ApiProblem('query.cursor', cause === undefined ? { errors } : { errors, cause });
}
