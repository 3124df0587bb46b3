// What of an issuer's key set is used: keys that verify signatures with an algorithm of the settings, and no others.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { ALGORITHMS, type Algorithm, KeySetError, readDocument, readKeySet } from '../../../server/auth/public-keys.js';
import { TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { makeIssuerKey } from '../../support/token-issuer.js';

type Jwk = Readonly<Record<string, unknown>>;

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** The names of the algorithms that each key that is used is used with. */
async function used(keys: unknown, ...algorithms: readonly Algorithm[]): Promise<readonly string[]> {
  const read = await readKeySet(bytesOf({ keys }), algorithms);
  return read.map(({ keyId, algorithm }) => `${keyId} ${algorithm}`);
}

const jwks = new Map<string, Jwk>();
const jwkOf = (name: string): Jwk => jwks.get(name) ?? {};

beforeAll(async () => {
  const wanted = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'];
  for (const { keyId, jwk } of await Promise.all(wanted.map((name) => makeIssuerKey(name, name)))) {
    // It says neither what it is for nor with which algorithm.
    const { alg: _alg, use: _use, ...silent } = jwk;
    jwks.set(keyId, silent);
  }
});

describe('a key', () => {
  it('is used with each algorithm of the settings that has its kind and curve', async () => {
    const all: readonly Algorithm[] = [
      'RS256',
      'RS384',
      'RS512',
      'PS256',
      'PS384',
      'PS512',
      'ES256',
      'ES384',
      'ES512',
      'EdDSA',
    ];
    expect([...all].sort()).toEqual(Object.keys(ALGORITHMS).sort());
    expect(await used([...jwks.values()], ...all)).toEqual([
      ...['RS256 RS256', 'RS256 RS384', 'RS256 RS512', 'RS256 PS256', 'RS256 PS384', 'RS256 PS512'],
      ...['ES256 ES256', 'ES384 ES384', 'ES512 ES512', 'EdDSA EdDSA'],
    ]);
    expect(await used([...jwks.values()], 'ES384', 'RS256')).toEqual(['RS256 RS256', 'ES384 ES384']);
    expect(await used([...jwks.values()])).toEqual([]);
  });

  test.each<[string, Jwk, readonly string[]]>([
    ['is for signatures', { use: 'sig' }, ['ES256 ES256']],
    ['is for encryption', { use: 'enc' }, []],
    ['says another algorithm', { alg: 'ES384' }, []],
    ['says the algorithm', { alg: 'ES256' }, ['ES256 ES256']],
    ['verifies', { key_ops: ['verify'] }, ['ES256 ES256']],
    ['verifies and more', { key_ops: ['encrypt', 'verify'] }, ['ES256 ES256']],
    ['does not verify', { key_ops: ['sign', 'encrypt'] }, []],
    ['does nothing', { key_ops: [] }, []],
    ['has operations that are no list', { key_ops: 'verify' }, []],
    ['has no name', { kid: undefined }, []],
    ['has a number for a name', { kid: 7 }, []],
    ['is another kind', { kty: 'RSA' }, []],
    ['is private', { d: 'AAAA' }, []],
    ['lacks a coordinate', { y: undefined }, []],
    ['has a number for a coordinate', { x: 7 }, []],
    ['is on no curve', { crv: undefined }, []],
    ['is on another curve', { crv: 'P-384' }, []],
    ['is no point', { x: 'AAAA' }, []],
    ['has members that nobody knows', { x5t: 'AAAA', note: {} }, ['ES256 ES256']],
  ])('that %s', async (_, more, expected) => {
    expect(await used([{ ...jwkOf('ES256'), ...more }], 'ES256')).toEqual(expected);
  });

  test.each<[string, Jwk]>([
    ['without its modulus', { n: undefined }],
    ['without its exponent', { e: undefined }],
    ['with an object for its modulus', { n: { toString: 7 } }],
    ['with a number for its exponent', { e: 65_537 }],
  ])('of RSA %s is left out, and the others stay', async (_, more) => {
    const keys = [{ ...jwkOf('RS256'), kid: 'broken', ...more }, jwkOf('RS256')];
    expect(await used(keys, 'RS256')).toEqual(['RS256 RS256']);
  });

  it('of RSA has as many bits as the limits allow, counted from the first that is set', async () => {
    const { least, most } = TOKEN_LIMITS.rsaBits;
    const ofBits = (bits: number, zeros = 0): Jwk => {
      const bytes = Buffer.alloc(zeros + Math.ceil(bits / 8), 0xff);
      bytes.fill(0, 0, zeros);
      bytes[zeros] = 0xff >> ((8 - (bits % 8)) % 8);
      return { ...jwkOf('RS256'), n: bytes.toString('base64url') };
    };
    const isUsed = async (jwk: Jwk): Promise<boolean> => (await used([jwk], 'RS256')).length > 0;
    expect([await isUsed(ofBits(least - 1)), await isUsed(ofBits(least))]).toEqual([false, true]);
    expect([await isUsed(ofBits(most)), await isUsed(ofBits(most + 1))]).toEqual([true, false]);
    expect([await isUsed(ofBits(1_024)), await isUsed(ofBits(9_000))]).toEqual([false, false]);
    expect([await isUsed(ofBits(1_024, 200)), await isUsed(ofBits(least, 1))]).toEqual([false, true]);
    for (const n of ['', Buffer.alloc(least / 8).toString('base64url')])
      expect(await isUsed({ ...jwkOf('RS256'), n })).toBe(false);
  });

  it('is recognized by its material, which is nothing but what the algorithm needs', async () => {
    const material = async (more: Jwk): Promise<string | undefined> =>
      (await readKeySet(bytesOf({ keys: [{ ...jwkOf('ES256'), ...more }] }), ['ES256']))[0]?.material;
    const [plain, decorated] = [await material({}), await material({ x5t: 'AAAA', use: 'sig', kid: 'other' })];
    expect(decorated).toBe(plain);
    const { crv, kty, x, y } = jwkOf('ES256');
    expect(JSON.parse(plain ?? '')).toEqual({ crv, kty, x, y });
    const { n, e } = jwkOf('RS256');
    const [rsa] = await readKeySet(bytesOf({ keys: [jwkOf('RS256')] }), ['RS256']);
    expect(JSON.parse(rsa?.material ?? '')).toEqual({ kty: 'RSA', n, e });
    const [edwards] = await readKeySet(bytesOf({ keys: [jwkOf('EdDSA')] }), ['EdDSA']);
    expect(JSON.parse(edwards?.material ?? '')).toEqual({ kty: 'OKP', crv: 'Ed25519', x: jwkOf('EdDSA')['x'] });
  });
});

describe('a key set', () => {
  it('may hold what is no key, which is left out', async () => {
    expect(await used([null, 'key', 7, [], {}, jwkOf('ES256')], 'ES256')).toEqual(['ES256 ES256']);
  });

  it('has as many keys as the limits allow, and no more', async () => {
    const { keys } = TOKEN_LIMITS;
    const of = (count: number): Jwk[] => Array.from({ length: count }, () => ({}));
    expect(await used(of(keys), 'ES256')).toEqual([]);
    await expect(used(of(keys + 1), 'ES256')).rejects.toThrow(
      new KeySetError(`the key set has more than ${String(keys)} keys`),
    );
  });

  test.each<[string, unknown]>([
    ['the key set has no list of keys', {}],
    ['the key set has no list of keys', { keys: { length: 0 } }],
    ['the key set is not an object', []],
    ['the key set is not an object', null],
    ['the key set is not an object', 'keys'],
  ])('is refused: %s', async (message, document) => {
    const { rejects } = expect(readKeySet(bytesOf(document), ['ES256']));
    await rejects.toMatchObject({ name: 'KeySetError', message });
  });
});

describe('a document', () => {
  it('is strict JSON of bounded depth', () => {
    const nested = (depth: number): Uint8Array => Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
    expect([...readDocument(bytesOf({ a: 1, b: null }), 'it')]).toEqual([
      ['a', 1],
      ['b', null],
    ]);
    expect(readDocument(nested(TOKEN_LIMITS.documentDepth), 'it').has('a')).toBe(true);
    for (const bytes of [nested(TOKEN_LIMITS.documentDepth + 1), Buffer.from('{"a":1,"a":2}'), Buffer.from('<html>')])
      expect(() => readDocument(bytes, 'it')).toThrow(new KeySetError('it is not strict JSON'));
  });
});
