// The effects that the gateway gets from outside, so that tests can control them: time, ids and the log.
import { type Instant, instantOf } from '../../engine/index.js';
import { randomBytes } from 'node:crypto';
import { holdsCredential } from './mask.js';

export interface Clock {
  readonly now: () => Instant;
}

export const systemClock: Clock = Object.freeze({ now: () => instantOf(Date.now()) });

/** What the gateway tells its operator. Never holds a secret, a bound value or a body. */
export interface Logger {
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

type LogLine = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Makes request ids. They are random, so they are unique among all processes and reveal nothing. */
export type IdSource = () => string;

const ID_BYTES = 12;
const POOL_IDS = 256;

/**
 * Ids of 96 random bits as 16 characters of base64url, drawn from the system in batches. One in a million reads like a
 * credential: it would be masked wherever it is written, so another one is drawn.
 */
export function makeIdSource(draw: (bytes: number) => Buffer = randomBytes): IdSource {
  let pool = draw(ID_BYTES * POOL_IDS);
  let at = 0;
  const next = (): string => {
    if (at === pool.length) {
      pool = draw(pool.length);
      at = 0;
    }
    at += ID_BYTES;
    return pool.toString('base64url', at - ID_BYTES, at);
  };
  return () => {
    for (;;) {
      const id = next();
      if (!holdsCredential(id)) return id;
    }
  };
}
