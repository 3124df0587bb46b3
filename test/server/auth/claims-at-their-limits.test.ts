// Claims at their limits, and what the operator's log says of those that are refused.
import { describe, expect, it, test } from '@jest/globals';
import { ALL_SCOPES, carriedNames, unrestrictedPolicy } from '../../../engine/index.js';
import {
  audiencesOf,
  boundCertificate,
  type ClaimNames,
  holderOf,
  timeOf,
  validityOf,
} from '../../../server/auth/token-claims.js';
import { KEY_LIMITS, TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { refusedCredential } from '../../support/refused-credential.js';

const claims = (fields: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(fields));

const NONE: ClaimNames = {
  provider: 'orcid',
  scopeClaim: null,
  groupsClaim: null,
  groupsSeparator: null,
  restrictionsClaim: null,
};

const texts = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `g${String(i)}`);
const holder = (names: Partial<ClaimNames>, more: Readonly<Record<string, unknown>>) =>
  holderOf(claims({ sub: 'alice', ...more }), { ...NONE, ...names });

describe('a holder', () => {
  it('is named by `sub` and nothing else, unless the settings name claims', () => {
    const all = { scope: 'resource:read', groups: ['staff'], ns: ['/labs'], null: ['staff'] };
    const alice = { provider: 'orcid', subject: 'alice' };
    expect(holder({}, all)).toEqual({ id: 'orcid:alice', identities: [alice], scopes: null, restrictions: null });
    expect(refusedCredential(() => holder({}, { sub: 7 }))).toEqual(['unusable', '`sub` is not a subject']);
  });

  it('has as many groups, scopes and restrictions as the limits allow, and no more', () => {
    const { groups, scopes } = TOKEN_LIMITS;
    const { restrictions } = KEY_LIMITS;
    expect(holder({ groupsClaim: 'g' }, { g: texts(groups) }).identities).toHaveLength(groups + 1);
    expect(refusedCredential(() => holder({ groupsClaim: 'g' }, { g: texts(groups + 1) }))).toEqual([
      'unusable',
      'the groups claim has more than 1000 groups',
    ]);
    const words = texts(scopes).map((text) => `mail:${text}`);
    expect(holder({ scopeClaim: 's' }, { s: words }).scopes).not.toBeNull();
    for (const s of [[...words, 'openid'], [...words, 'openid'].join(' ')])
      expect(refusedCredential(() => holder({ scopeClaim: 's' }, { s }))).toEqual([
        'unusable',
        'the scope claim has more than 1000 scopes',
      ]);
    expect(holder({ restrictionsClaim: 'n' }, { n: texts(restrictions) }).restrictions).toHaveLength(restrictions);
    expect(refusedCredential(() => holder({ restrictionsClaim: 'n' }, { n: texts(restrictions + 1) }))).toEqual([
      'unusable',
      'the restrictions claim is missing, not a list, or too long',
    ]);
  });

  it('has groups and restrictions of so many bytes together, and no more', () => {
    const names = { groupsClaim: 'g', restrictionsClaim: 'n' };
    const own = 'orcid:alice'.length;
    // Each group is named with its provider, and each path with the slash.
    const g = Array.from({ length: 500 }, (_, i) => String(i).padStart(200, 'g'));
    const inGroups = 500 * ('orcid-group:'.length + 200);
    const left = KEY_LIMITS.carriedBytes - own - inGroups;
    const n = Array.from({ length: Math.floor(left / 51) }, (_, i) => String(i).padStart(50, 'n'));
    const rest = left - n.length * 51;
    expect(rest).toBeGreaterThan(1);
    expect(holder(names, { g, n: [...n, 'r'.repeat(rest - 1)] }).identities).toHaveLength(501);
    expect(refusedCredential(() => holder(names, { g, n: [...n, 'r'.repeat(rest)] }))).toEqual([
      'unusable',
      'its groups and restrictions have more than 131072 bytes',
    ]);
  });

  it('is in one group by a string without a separator, whatever it spells', () => {
    const { identities } = holder({ groupsClaim: 'g' }, { g: 'annullment' });
    expect(identities.map(({ subject }) => subject)).toEqual(['alice', 'annullment']);
  });

  it('carries the scopes of records that are named whole, and ignores words for others', () => {
    const { scopes } = holder({ scopeClaim: 's' }, { s: 'resources resource :read openid resource:read' });
    expect(carriedNames(scopes ?? ALL_SCOPES, unrestrictedPolicy())).toEqual(['resource:read']);
  });

  test.each<[Partial<ClaimNames>, unknown, string]>([
    [{ groupsClaim: 'c' }, 7, 'the groups claim is neither a list nor a string'],
    [{ groupsClaim: 'c' }, [7], 'the groups claim is not a subject'],
    [{ scopeClaim: 'c' }, 7, 'the scope claim is neither a string nor a list of strings'],
    [{ scopeClaim: 'c' }, ['resource:read', 7], 'the scope claim is neither a string nor a list of strings'],
    [{ scopeClaim: 'c' }, 'resource:fly', 'the scope claim has a scope that does not exist'],
    [{ restrictionsClaim: 'c' }, undefined, 'the restrictions claim is missing, not a list, or too long'],
    [{ restrictionsClaim: 'c' }, '/labs', 'the restrictions claim is missing, not a list, or too long'],
    [{ restrictionsClaim: 'c' }, ['/La bs'], 'the restrictions claim has an entry that is not a namespace'],
  ])('is refused: %j %j', (names, value, reason) => {
    expect(refusedCredential(() => holder(names, { c: value }))).toEqual(['unusable', reason]);
  });
});

describe('times', () => {
  const rules = { clockTolerance: 30_000, maxTokenAge: 3_600_000 };
  const LAST = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

  it('are seconds from 1970 to the year 9999', () => {
    expect([timeOf(claims({ iat: 0 }), 'iat'), timeOf(claims({ exp: LAST }), 'exp')]).toEqual([0, LAST * 1000]);
    for (const iat of [undefined, null, '0', -1, LAST + 1, NaN, Infinity])
      expect(refusedCredential(() => timeOf(claims({ iat }), 'iat'))).toEqual([
        'unusable',
        '`iat` is missing or not a time',
      ]);
  });

  it('are those in which a token is valid, with the tolerance on both sides, and no longer than its greatest age', () => {
    const of = (fields: object) => validityOf(claims({ ...fields }), rules);
    expect(of({ iat: 1000, exp: 1600 })).toEqual({ from: 970_000, until: 1_630_000 });
    expect(of({ iat: 1000, exp: 1600, nbf: 1100 })).toEqual({ from: 1_070_000, until: 1_630_000 });
    expect(of({ iat: 1000, exp: 1600, nbf: 900 })).toEqual({ from: 970_000, until: 1_630_000 });
    expect(of({ iat: 1000, exp: 9000 })).toEqual({ from: 970_000, until: 4_630_000 });
    expect(of({ iat: 1000, exp: 1000.5 }).until).toBe(1_030_500);
    for (const exp of [1000, 999])
      expect(refusedCredential(() => of({ iat: 1000, exp }))).toEqual(['unusable', 'it ends before it was issued']);
    expect(refusedCredential(() => of({ iat: 1000, exp: 1600, nbf: null }))).toEqual([
      'unusable',
      '`nbf` is missing or not a time',
    ]);
  });
});

describe('a proof that a token asks for', () => {
  it('is the certificate with a thumbprint, or none', () => {
    expect(boundCertificate(claims({}))).toBeNull();
    expect(boundCertificate(claims({ cnf: { 'x5t#S256': 'print' } }))).toBe('print');
  });

  test.each([
    [null],
    ['x5t#S256'],
    [7],
    [[]],
    [{}],
    [[['x5t#S256', 'print']]],
    [{ jkt: 'key' }],
    [{ 'x5t#S256': 7 }],
    [{ 'x5t#S256': null }],
    [{ 'x5t#S256': 'print', jkt: 'key' }],
    [{ jkt: 'key', 'x5t#S256': 'print' }],
  ])('is refused where it is %j', (cnf) => {
    expect(refusedCredential(() => boundCertificate(claims({ cnf })))).toEqual([
      'misdirected',
      'bound to a proof that is not supported',
    ]);
  });
});

test('audiences are one string, or a list of strings', () => {
  expect([audiencesOf(claims({ aud: 'a' })), audiencesOf(claims({ aud: ['a', 'b'] }))]).toEqual([['a'], ['a', 'b']]);
  for (const aud of [undefined, null, [], 7, ['a', 7], [7, 'a'], { a: 1 }])
    expect(refusedCredential(() => audiencesOf(claims({ aud })))).toEqual([
      'unusable',
      '`aud` is missing, or neither a string nor a list of strings',
    ]);
});
