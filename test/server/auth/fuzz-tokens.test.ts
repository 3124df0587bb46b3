// Tokens of every kind against a reference that is written from the documents and shares no code with the product. A
// token with a changed text is refused. A token that the issuer signed is accepted if each of its parts is good, and
// only then.
import { KeyObject, sign as signBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NOW, openTokenWorld, type TokenWorld } from '../../support/token-world.js';
import { testRuns } from '../../support/test-runs.js';

let world: TokenWorld;

beforeAll(async () => {
  world = await openTokenWorld();
});

afterAll(async () => {
  await world.close();
});

/** By the key `k1`; a library would refuse to sign some of these headers. */
function signed(headers: object, payload: object): string {
  const text = [{ alg: 'ES256', ...headers }, payload]
    .map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))
    .join('.');
  const key = KeyObject.from(world.keyOf('k1').privateKey);
  return `${text}.${signBytes('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const LETTERS =
  'A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 - _ . = + / \0 é'.split(
    ' ',
  );

/** One change of a text; `at` is a part of its length. */
type Change = (text: string, at: number) => string;

const change = fc.oneof(
  fc.constantFrom(' ', ...LETTERS).map(
    (letter): Change =>
      (text, at) =>
        text.slice(0, at) + letter + text.slice(at + 1),
  ),
  fc.constantFrom(' ', ...LETTERS).map(
    (letter): Change =>
      (text, at) =>
        text.slice(0, at) + letter + text.slice(at),
  ),
  fc.integer({ min: 1, max: 40 }).map(
    (count): Change =>
      (text, at) =>
        text.slice(0, at) + text.slice(at + count),
  ),
  fc.constantFrom<Change>(
    (text, at) => text.slice(0, at),
    (text, at) => text.slice(at),
    (text, at) => text.slice(0, at) + text.slice(at).toUpperCase(),
    (text) => text.split('.').reverse().join('.'),
    (text) => text.split('.').slice(0, 2).join('.'),
    (text) => `${text}.${text}`,
    (text) => text + text,
  ),
);

/** A part of a token: whether it is good, and its value. Undefined is absent. */
interface Part {
  readonly isGood: boolean;
  readonly value: unknown;
}

function part(good: readonly unknown[], bad: readonly unknown[]): fc.Arbitrary<Part> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...good).map((value) => ({ isGood: true, value })) },
    { weight: 1, arbitrary: fc.constantFrom(...bad).map((value) => ({ isGood: false, value })) },
  );
}

/** What `iss` is called below. */
const issuers = (): Readonly<Record<string, string>> => ({
  ours: world.issuer.url,
  'ours/': `${world.issuer.url}/`,
  theirs: world.other.url,
});

const NO_TEXT = [undefined, null, 1, true, {}, [], ''];
const NO_TIME = [null, '1800000300', '', true, [NOW], {}, -1, 1e300];
const HOUR = 3_600;

const claims = fc.record({
  iss: part(['ours'], [...NO_TEXT, 'theirs', 'ours/', ['ours']]),
  aud: part(['bailiwick', ['bailiwick']], [...NO_TEXT, 'Bailiwick', 'bailiwick ', ['bailiwick', 'other'], [1]]),
  sub: part(['alice', 'bob', 'a b'], [...NO_TEXT, ['alice'], 'a\nb', 'x'.repeat(10_000)]),
  iat: part([NOW, NOW - 60, NOW - HOUR], [...NO_TIME, undefined, NOW + HOUR, NOW - 25 * HOUR]),
  exp: part([NOW + 1, NOW + 300, NOW + HOUR], [...NO_TIME, undefined, NOW - 60, NOW - HOUR]),
  nbf: part([undefined, NOW, NOW - 60], [...NO_TIME, NOW + HOUR]),
  jti: part([undefined, 't1', ''], ['t2']).map(({ value }) => ({ isGood: true, value })),
  cnf: part([undefined], [null, 'x', {}, { jkt: 'x' }, { 'x5t#S256': 'x' }]),
});
const header = fc.record({
  typ: part([undefined, 'JWT', 'at+jwt', 'application/at+jwt'], [1, null, '', 'dpop+jwt', 'secevent+jwt']),
  kid: part(['k1'], ['rsa', 'theirs', 'oct', 'weak', 'none', '', 1, null]),
  crit: part([undefined], [[], ['exp'], ['b64'], 'exp', null]),
  b64: part([undefined], [false, null]),
  jku: part([undefined], ['https://example.org/keys']),
});

describe('any token', () => {
  it('whose text was changed is nobody’s', async () => {
    const token = signed({ kid: 'k1' }, world.claims());
    const authenticator = world.open();
    expect(await world.refusalOf(token, authenticator)).toBe('accepted');
    await fc.assert(
      fc.asyncProperty(change, fc.nat(10_000), async (changed, place) => {
        const text = changed(token, place % token.length);
        fc.pre(text !== token);
        expect([text, await world.refusalOf(text, authenticator)]).not.toEqual([text, 'accepted']);
      }),
      testRuns({ usual: 1_000, deep: 50_000 }),
    );
  });

  it('that its issuer signed is accepted if all of it is good, and only then', async () => {
    const authenticator = world.open();
    const seen = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(claims, header, async (payload, head) => {
        const named = (value: unknown): unknown =>
          Array.isArray(value) ? value.map(named) : typeof value === 'string' ? (issuers()[value] ?? value) : value;
        const values = Object.fromEntries(Object.entries(payload).map(([name, { value }]) => [name, value]));
        const headers = Object.fromEntries(Object.entries(head).map(([name, { value }]) => [name, value]));
        const token = signed(headers, { ...values, iss: named(payload.iss.value) });
        const isGood = [...Object.values(payload), ...Object.values(head)].every((one) => one.isGood);
        const said = await world.refusalOf(token, authenticator);
        expect([said === 'accepted', said, values, headers]).toEqual([isGood, said, values, headers]);
        seen[isGood ? 'accepted' : 'refused'] += 1;
      }),
      testRuns({ usual: 1_000, deep: 50_000 }),
    );
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100);
  });
});
