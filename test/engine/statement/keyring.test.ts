// Which public keys and keyrings are believed (engine/README.md "Publication statements").
import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeKeyring, formatPublicKey, STATEMENT_LIMITS } from '../../../engine/index.js';
import { decodeBase64, encodeBase64 } from '../../../engine/statement/base64.js';
import { publicKeyFault } from '../../../engine/statement/public-key.js';
import { makeKey } from './keys.js';

const IDENTITY = `01${'00'.repeat(31)}`;
/** All encodings of points of small order that a lenient decoder takes, from the literature; y as it stands. */
const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  IDENTITY,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
];
const hex = (text: string): Uint8Array => Buffer.from(text, 'hex');
const withSign = (bytes: Uint8Array): Uint8Array => bytes.map((byte, index) => (index === 31 ? byte | 0x80 : byte));

describe('public keys', () => {
  it('are taken as generators make them', () => {
    for (let i = 0; i < 20; i += 1) expect(publicKeyFault(makeKey().publicKey)).toBeNull();
    // RFC 8032, 7.1, tests 1 and 2.
    const vectors = [
      'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    ];
    expect(vectors.map((vector) => publicKeyFault(hex(vector)))).toEqual([null, null]);
  });

  test.each(SMALL_ORDER)('of small order are refused in either sign: %s', (text) => {
    expect(publicKeyFault(hex(text))).toBe('small_order');
    expect(publicKeyFault(withSign(hex(text)))).toBe('small_order');
  });

  it('are refused for a reason: with the identity a constant signature fits every message', () => {
    // Newer lines of Node refuse it, too.
    const fits = Number(process.versions.node.split('.')[0]) < 24;
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), hex(IDENTITY)]);
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    const constant = Buffer.concat([hex(IDENTITY), Buffer.alloc(32)]);
    expect(['one', 'two'].map((text) => verify(null, Buffer.from(text), key, constant))).toEqual([fits, fits]);
  });

  it('are refused if y is not reduced, if they are not a point, and in another length', () => {
    expect(publicKeyFault(hex(`f1${'ff'.repeat(30)}7f`))).toBe('not_canonical');
    expect(publicKeyFault(hex('ff'.repeat(32)))).toBe('not_canonical');
    const faults = Array.from({ length: 60 }, (_, y) =>
      publicKeyFault(Uint8Array.from({ length: 32 }, (_n, i) => (i === 0 ? y + 2 : 0))),
    );
    const points = faults.filter((fault) => fault === null).length;
    expect(points + faults.filter((fault) => fault === 'no_point').length).toBe(60);
    expect(Math.abs(points - 30)).toBeLessThan(20);
    expect([0, 31, 33].map((length) => publicKeyFault(new Uint8Array(length)))).toEqual(['length', 'length', 'length']);
  });
});

describe('base64', () => {
  it('is that of everyone', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(encodeBase64(bytes)).toBe(text);
        expect(decodeBase64(text)).toEqual(bytes);
      }),
    );
  });

  test.each([
    'A',
    'AA',
    'AAA',
    'AB==',
    'AAB=',
    'A===',
    '====',
    'AA=A',
    'AA-A',
    'AA_A',
    'AAAA\n',
    ' AAAA',
    'AAÀA',
    'AAA\u0000',
  ])('has one spelling: %j is refused', (text) => {
    expect(decodeBase64(text)).toBeNull();
  });
});

describe('a keyring', () => {
  const [ana, ben] = [formatPublicKey(makeKey().publicKey), formatPublicKey(makeKey().publicKey)];
  const good = [
    { name: 'ana', publicKey: ana },
    { name: 'ben', publicKey: ben },
  ];
  const small = formatPublicKey(hex(IDENTITY));
  const faultsOf = (value: unknown): readonly string[] => {
    const decoded = decodeKeyring(value);
    return decoded.ok ? [] : decoded.faults.map(({ pointer, message }) => `${pointer} ${message}`);
  };

  it('holds keys by name, with their ids', () => {
    expect(decodeKeyring({ threshold: 2, keys: good })).toMatchObject({
      ok: true,
      keyring: {
        threshold: 2,
        keys: [{ name: 'ana', keyId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }, { name: 'ben' }],
      },
    });
  });

  test.each([
    ['a threshold of 0', { threshold: 0, keys: good }, '/threshold `threshold` must be a whole number from 1'],
    ['a negative threshold', { threshold: -1, keys: good }, '/threshold `threshold` must'],
    ['half a threshold', { threshold: 1.5, keys: good }, '/threshold `threshold` must'],
    ['a threshold as text', { threshold: '1', keys: good }, '/threshold `threshold` must'],
    ['no threshold', { keys: good }, '/threshold `threshold` must'],
    ['an unreachable threshold', { threshold: 3, keys: good }, '/threshold `threshold` is 3, more than'],
    ['no keys', { threshold: 1 }, '/keys `keys` must be'],
    ['an empty list', { threshold: 1, keys: [] }, '/keys `keys` must be'],
    [
      'too many keys',
      { threshold: 1, keys: Array(STATEMENT_LIMITS.keys + 1).fill(good[0]) },
      '/keys `keys` has more than',
    ],
    [
      'one key under two names',
      { threshold: 2, keys: [good[0], { name: 'twin', publicKey: ana }] },
      '/keys/1/publicKey `publicKey` is the key of `ana` again',
    ],
    [
      'one name for two keys',
      { threshold: 1, keys: [good[0], { name: 'ana', publicKey: ben }] },
      '/keys/1/name `ana` is the name of another key',
    ],
    [
      'a key of small order',
      { threshold: 1, keys: [{ name: 'x', publicKey: small }] },
      '/keys/0/publicKey `publicKey` must not be trusted',
    ],
    [
      'a key of another kind',
      { threshold: 1, keys: [{ name: 'x', publicKey: ana.replace('MCowBQYDK2Vw', 'MCowBQYDK2Vu') }] },
      '/keys/0/publicKey `publicKey` must be the middle line',
    ],
    [
      'loose base64',
      { threshold: 1, keys: [{ name: 'x', publicKey: `${ana}\n` }] },
      '/keys/0/publicKey `publicKey` is not strict base64',
    ],
    [
      'a short key',
      { threshold: 1, keys: [{ name: 'x', publicKey: ana.slice(0, -4) }] },
      '/keys/0/publicKey `publicKey` is not an Ed25519 public key: it must have 32 bytes',
    ],
    ['a key without a name', { threshold: 1, keys: [{ publicKey: ana }] }, '/keys/0 `name` must be'],
    [
      'an unknown member',
      { threshold: 1, keys: [{ ...good[0], algorithm: 'none' }] },
      '/keys/0/algorithm there is no `algorithm` here',
    ],
    ['a list', [], ' must be a mapping'],
    ['nothing', null, ' must be a mapping'],
  ])('is refused with %s', (_name, value, message) => {
    expect(faultsOf(value).join('\n')).toContain(message);
  });

  it('tells every fault at once', () => {
    expect(faultsOf({ threshold: 0, more: 1, keys: [{ name: 'X', publicKey: 'x' }, 7] })).toHaveLength(5);
  });
});
