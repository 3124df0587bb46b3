// A request for a new key: one kind of key, lists up to their limits, and every fault at its place.
import { describe, expect, it, test } from '@jest/globals';
import { carriedNames, instantOf, parseInstant, unrestrictedPolicy } from '../../../engine/index.js';
import { type KeyFault, type KeyRequest, readNewKey } from '../../../server/auth/new-key.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';

const NOW = parseInstant('2027-01-01T00:00:00Z') ?? instantOf(0);
const PLAIN: KeyRequest = {
  actor: 'ada',
  identities: [],
  scopes: null,
  restrictions: null,
  expires: null,
  admin: false,
  decide: false,
  monitor: false,
};
const SECRET = `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}`;
const OWN = { identities: ['orcid:ada'] };

const read = (request: Partial<KeyRequest>) => readNewKey({ ...PLAIN, ...request }, NOW);

/** `field[index] message` */
function faultsOf(request: Partial<KeyRequest>): readonly string[] {
  const reading = read(request);
  const place = ({ field, index }: KeyFault): string => (index === null ? field : `${field}[${String(index)}]`);
  return reading.ok ? [] : reading.faults.map((fault) => `${place(fault)} ${fault.message}`);
}

const ADMIN = 'admin a key for administration has no identities, scopes or namespaces';
const MONITOR = 'monitor a key for monitoring has no identities, scopes or namespaces';

describe('a key is of one kind', () => {
  test.each<[string, Partial<KeyRequest>, readonly string[]]>([
    ['of somebody', OWN, []],
    ['of somebody, narrowed', { ...OWN, scopes: ['resource:read'], restrictions: ['/labs'] }, []],
    ['of nobody', {}, ['identities at least one is needed, as `provider:subject`; a key without one can do nothing']],
    ['for administration', { admin: true }, []],
    ['for administration, of somebody', { admin: true, ...OWN }, [ADMIN]],
    ['for administration, with scopes', { admin: true, scopes: [] }, [ADMIN]],
    ['for administration, with namespaces', { admin: true, restrictions: [] }, [ADMIN]],
    ['for monitoring', { monitor: true }, []],
    ['for monitoring, of somebody', { monitor: true, ...OWN }, [MONITOR]],
    ['for monitoring, with scopes', { monitor: true, scopes: ['resource:read'] }, [MONITOR]],
    ['for monitoring, with namespaces', { monitor: true, restrictions: ['/labs'] }, [MONITOR]],
    ['that asks about others', { decide: true, scopes: ['resource:read'], restrictions: ['/labs'] }, []],
    [
      'that asks about others, of somebody',
      { decide: true, ...OWN },
      ['decide a key that asks about others has no identities of its own'],
    ],
    ['for administration that asks about others', { admin: true, decide: true }, ['decide a key is of one kind']],
    ['for administration and monitoring', { admin: true, monitor: true }, ['monitor a key is of one kind']],
    ['for monitoring that asks about others', { monitor: true, decide: true }, ['monitor a key is of one kind']],
    [
      'of every kind, of somebody',
      { admin: true, monitor: true, decide: true, ...OWN },
      [ADMIN, 'decide a key is of one kind', 'monitor a key is of one kind'],
    ],
  ])('%s', (_, request, expected) => {
    expect(faultsOf(request)).toEqual(expected);
  });
});

describe('what is read', () => {
  it('is the key, each identity and namespace once', () => {
    const reading = read({
      identities: ['orcid:ada', 'github:ada', 'orcid:ada'],
      scopes: ['resource:read'],
      restrictions: ['/labs/', '/labs', 'other'],
      expires: '2027-06-30T02:00:00+02:00',
    });
    if (!reading.ok) throw new Error('the request has no fault');
    const { scopes, ...key } = reading.key;
    expect(key).toEqual({
      actor: 'ada',
      identities: [
        { provider: 'orcid', subject: 'ada' },
        { provider: 'github', subject: 'ada' },
      ],
      restrictions: ['/labs', '/other'],
      expires: parseInstant('2027-06-30T00:00:00Z'),
      admin: false,
      decide: false,
      monitor: false,
    });
    if (scopes === null) throw new Error('the key is narrowed');
    expect(carriedNames(scopes, unrestrictedPolicy())).toEqual(['resource:read']);
  });

  it('has as many identities and namespaces as the limits allow, and no more', () => {
    const { identities, restrictions } = KEY_LIMITS;
    const named = (count: number, before: string): readonly string[] =>
      Array.from({ length: count }, (_, i) => `${before}${String(i)}`);
    const ask = (ids: number, places: number): readonly string[] =>
      faultsOf({ identities: named(ids, 'orcid:a'), restrictions: named(places, '/a') });
    expect(ask(identities, restrictions)).toEqual([]);
    expect(ask(identities + 1, restrictions)).toEqual([`identities more than ${String(identities)}`]);
    expect(ask(identities, restrictions + 1)).toEqual([`restrictions more than ${String(restrictions)}`]);
  });

  it('has identities and namespaces of so many bytes together, and no more', () => {
    const most = KEY_LIMITS.carriedBytes - 'orcid:ada'.length;
    const [above, length] = [`/${'a'.repeat(63)}/${'b'.repeat(62)}`, 191];
    const restrictions = Array.from(
      { length: Math.floor(most / length) },
      (_, i) => `${above}/${String(i).padStart(63, 'n')}`,
    );
    const rest = most - restrictions.length * length;
    expect(rest).toBeLessThan(64);
    expect(faultsOf({ ...OWN, restrictions: [...restrictions, `/${'r'.repeat(rest - 1)}`] })).toEqual([]);
    expect(faultsOf({ ...OWN, restrictions: [...restrictions, `/${'r'.repeat(rest)}`] })).toEqual([
      'restrictions has more than 131072 bytes together with the identities: name namespaces further up, or make several keys',
    ]);
  });

  test.each<[Partial<KeyRequest>, readonly string[]]>([
    [{ actor: '' }, ['actor is empty']],
    [{ actor: ' ada' }, ['actor begins or ends with white space']],
    [{ actor: 'a\u0007' }, ['actor has control characters']],
    [{ actor: 'zoe\u0308' }, ['actor is not in composed form (NFC)']],
    [{ actor: 'a'.repeat(256) }, ['actor is longer than 255 bytes']],
    [{ actor: SECRET }, ['actor holds an API key or a token, which is no name']],
    [{ identities: [`orcid:${SECRET}`] }, ['identities[0] holds an API key or a token, which is no name']],
    [
      { identities: ['ada', 'orcid:ada', 'ORCID:ada', 'orcid:'] },
      [
        'identities[0] must be `provider:subject`',
        'identities[2] the provider (before the first colon) must be a name such as `orcid`',
        'identities[3] is empty',
      ],
    ],
    [{ scopes: ['resource:read', 'read', '*:read'] }, ['scopes[1] is not a scope', 'scopes[2] is not a scope']],
    [
      { restrictions: ['/labs', '/La bs', ''] },
      ['restrictions[1] is not a namespace path', 'restrictions[2] is not a namespace path'],
    ],
    [{ expires: '2027-06-30' }, ['expires must be a time with offset, as in `2027-06-30T00:00:00Z`']],
    [{ expires: '2027-01-01T00:00:00Z' }, ['expires has passed']],
    [{ expires: '2026-12-31T23:59:59.999Z' }, ['expires has passed']],
    [{ expires: '2027-01-01T00:00:00.001Z' }, []],
  ])('%j has its faults at their places', (request, expected) => {
    expect(faultsOf({ ...OWN, ...request })).toEqual(expected);
  });

  it('is not who reads without a credential', () => {
    const identity = { provider: 'orcid', subject: 'ada' };
    const reading = readNewKey({ ...PLAIN, identities: ['orcid:eve', 'orcid:ada'] }, NOW, { identity });
    expect(reading).toEqual({
      ok: false,
      faults: [
        {
          field: 'identities',
          index: 1,
          message: 'is who reads without a credential (`authentication.anonymous`), so no key can have it',
        },
      ],
    });
  });
});
