import { describe, expect, it, test } from '@jest/globals';
import { formatKey, hashMatches, hashSecret, isKeyId, makeKeyText, parseKey } from '../../../server/auth/key-text.js';

describe('key texts', () => {
  it('are made, written and read back', () => {
    const key = makeKeyText();
    expect(parseKey(formatKey(key))).toEqual(key);
    expect(isKeyId(key.id)).toBe(true);
    expect(Buffer.from(key.secret, 'base64url')).toHaveLength(32);
  });

  it('do not repeat', () => {
    const made = Array.from({ length: 500 }, makeKeyText);
    expect(new Set(made.map((key) => key.id)).size).toBe(500);
    expect(new Set(made.map((key) => key.secret)).size).toBe(500);
  });

  const { id, secret } = makeKeyText();
  test.each([
    ['the prefix of the secret', `bwk_${id}_${secret.slice(0, -1)}`],
    ['more than the secret', `bwk_${id}_${secret}A`],
    ['a line end', `bwk_${id}_${secret}\n`],
    ['a space', `bwk_${id}_${secret} `],
    ['padding', `bwk_${id}_${secret}=`],
    ['another prefix', `bwx_${id}_${secret}`],
    ['an upper-case prefix', `BWK_${id}_${secret}`],
    ['an upper-case id', `bwk_${'A'.repeat(16)}_${secret}`],
    ['the alphabet of base64', `bwk_${id}_${'+'.repeat(43)}`],
    ['no secret', `bwk_${id}_`],
    ['no id', `bwk__${secret}`],
    ['nothing', ''],
    ['__proto__', '__proto__'],
  ])('are not read with %s', (_, text) => {
    expect(parseKey(text)).toBeNull();
  });
});

describe('hashMatches', () => {
  const { secret } = makeKeyText();

  it('knows the secret by its hash', () => {
    expect(hashMatches(hashSecret(secret), hashSecret(secret))).toBe(true);
  });

  test.each([
    ['another secret', makeKeyText().secret, hashSecret(secret)],
    ['no stored key', secret, null],
    ['a hash that is cut', secret, hashSecret(secret).subarray(0, 31)],
    ['no hash', secret, new Uint8Array(0)],
  ])('refuses %s', (_, presented, stored) => {
    expect(hashMatches(hashSecret(presented), stored)).toBe(false);
  });
});
