// Request ids by themselves: what a client is told is what the log and the audit log have.
import { expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { maskCredentials } from '../../server/lib/mask.js';
import { makeIdSource } from '../../server/lib/ports.js';

it('are never masked: one that reads like a credential is not used', () => {
  const like = Buffer.from(['bwk_AAAAAAAAAAAA', 'aaBWK_bbbbbbbbbb', 'AbCdEfGhIjKlMnOp'].join(''), 'base64url');
  let draws = 0;
  const nextId = makeIdSource((bytes) => {
    draws += 1;
    return draws === 1 ? like : randomBytes(bytes);
  });
  expect(nextId()).toBe('AbCdEfGhIjKlMnOp');
  for (let n = 0; n < 1_000; n += 1) {
    const id = nextId();
    expect(id).toMatch(/^[\w-]{16}$/);
    expect(maskCredentials(id)).toBe(id);
  }
});
