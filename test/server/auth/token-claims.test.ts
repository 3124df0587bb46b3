// What signed tokens claim, row by row: audience, issuer, times, subject, scopes, groups and namespaces.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NO_SCOPES, carriedNames, unrestrictedPolicy } from '../../../engine/index.js';
import type { IssuerSettings } from '../../../server/auth/oidc-authenticator.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { sign } from '../../support/token-issuer.js';
import { NOW, openTokenWorld, type TokenWorld } from '../../support/token-world.js';

let world: TokenWorld;

beforeAll(async () => {
  world = await openTokenWorld();
});

afterAll(async () => {
  await world.close();
});

describe('C15 to C19 and C25: claims', () => {
  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['C15 another audience', { aud: 'other' }],
    ['C15 no audience', { aud: undefined }],
    ['C15 an empty list of audiences', { aud: [] }],
    ['C15 a longer audience', { aud: 'bailiwick2' }],
    ['C15 an audience of another case', { aud: 'Bailiwick' }],
    ['C15 an audience in an object', { aud: { bailiwick: true } }],
    ['C15 for others, too', { aud: ['other', 'bailiwick'] }],
    ['C15 a number among the audiences', { aud: ['bailiwick', 1] }],
    ['C15 no issuer', { iss: undefined }],
    ['C15 a list of issuers', { iss: ['x'] }],
    ['C17 it ended', { exp: NOW - 30 }],
    ['C17 no end', { exp: undefined }],
    ['C17 an end in text', { exp: String(NOW + 300) }],
    ['C17 an end beyond the calendar', { exp: 9e15 }],
    ['C17 an end before the beginning', { exp: NOW - 1, iat: NOW }],
    ['C17 a negative end', { exp: -1 }],
    ['C17 null for the end', { exp: null }],
    ['C17 not yet', { nbf: NOW + 31 }],
    ['C17 an unreadable beginning', { nbf: 'now' }],
    ['C17 issued in an hour', { iat: NOW + 3_600, exp: NOW + 7_200 }],
    ['C17 issued ten years ago', { iat: NOW - 315_360_000 }],
    ['C17 issued a day and the tolerance ago', { iat: NOW - 86_430 }],
    ['C17 no instant of issue', { iat: undefined }],
    ['C18 no subject', { sub: undefined }],
    ['C18 an empty subject', { sub: '' }],
    ['C18 a number for the subject', { sub: 7 }],
    ['C18 a list for the subject', { sub: ['alice'] }],
    ['C18 null for the subject', { sub: null }],
    ['C18 a subject of 256 bytes', { sub: 'a'.repeat(256) }],
    ['C18 a subject with a control character', { sub: 'ali\u0007ce' }],
    ['C18 a subject with a blank at its end', { sub: 'alice ' }],
    ['C18 a subject that is not in composed form', { sub: 'zoe\u0308' }],
    ['C25 an ID token', { nonce: 'n', at_hash: 'h' }],
    ['C25 a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
    ['C25 a refresh token of Keycloak', { typ: 'Refresh' }],
    ['C25 an ID token of Keycloak', { typ: 'ID' }],
    ['D12 bound to a key that is not shown here', { cnf: { jkt: 'x' } }],
    ['D12 bound to a certificate, and there is none', { cnf: { 'x5t#S256': 'x' } }],
    ['D12 bound to nothing that can be read', { cnf: 'x' }],
  ])('%s', async (name, more) => {
    const typ = name.startsWith('C25') ? 'JWT' : 'at+jwt';
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims(more), { typ }))).not.toBe('accepted');
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['C17 it ended within the tolerance', { exp: NOW - 29, iat: NOW - 300 }],
    ['C17 not yet, within the tolerance', { nbf: NOW + 30 }],
    ['C17 issued ahead, within the tolerance', { iat: NOW + 30 }],
    ['C17 parts of a second', { exp: NOW + 0.5 }],
    ['C15 a list of our audience alone', { aud: ['bailiwick'] }],
    ['an access token of Keycloak', { typ: 'Bearer' }],
  ])('%s is accepted', async (_name, more) => {
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims(more), { typ: 'JWT' }))).toBe('accepted');
  });

  test.each(['1e400', '1e308'])('C17 an end of %s', async (exp) => {
    const payload = JSON.stringify(world.claims()).replace(/"exp":\d+/, `"exp":${exp}`);
    expect(await world.refusalOf(await sign(world.keyOf('k1'), payload))).not.toBe('accepted');
  });

  test.each<[string, (url: string) => string]>([
    ['a slash at its end', (url) => `${url}/`],
    ['another case', (url) => url.replace('http', 'HTTP')],
    ['another name of the same machine', (url) => url.replace('127.0.0.1', 'localhost')],
  ])('C15 an issuer with %s is another', async (_name, spell) => {
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims({ iss: spell(world.issuer.url) })))).toBe(
      'unknown issuer',
    );
  });

  test('C15 a token of one issuer that names another', async () => {
    expect(await world.refusalOf(await sign(world.keyOf('theirs'), world.claims()))).toBe(
      'signed with a key that the issuer does not publish',
    );
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims({ iss: world.other.url })))).toBe(
      'signed with a key that the issuer does not publish',
    );
  });

  test('C15 several audiences are accepted of a client that the settings name', async () => {
    const authenticator = world.open({ clients: ['app'] });
    const ask = async (more: Readonly<Record<string, unknown>>): Promise<string> =>
      world.refusalOf(await sign(world.keyOf('k1'), world.claims(more)), authenticator);
    expect(await ask({ aud: ['other', 'bailiwick'], azp: 'app' })).toBe('accepted');
    expect(await ask({ client_id: 'app' })).toBe('accepted');
    expect(await ask({ aud: ['other'], azp: 'app' })).toBe('for another audience');
    for (const more of [{}, { azp: 'other' }, { azp: ['app'] }, { azp: 'other', client_id: 'app' }]) {
      expect(await ask(more)).toBe('issued to another client');
    }
  });

  test.each<[string, string]>([
    ['sub', '"sub":"alice"'],
    ['sub', '"s\\u0075b":"adm"'],
    ['exp', '"exp":9000000000'],
    ['aud', '"aud":"bailiwick"'],
  ])('C19 %s twice', async (_name, member) => {
    const payload = JSON.stringify(world.claims()).replace(/}$/, `,${member}}`);
    expect(await world.refusalOf(await sign(world.keyOf('k1'), payload))).toBe('the payload is not strict JSON');
  });

  test.each(['[]', '"x"', 'null', '{"sub":', '{} {}', `{"__proto__":{"sub":"adm"}}`, '['.repeat(50) + ']'.repeat(50)])(
    'C19 a payload %s',
    async (payload) => {
      expect(await world.refusalOf(await sign(world.keyOf('k1'), payload))).toMatch(
        /^the payload is not (strict JSON|an object)$/,
      );
    },
  );

  test('C25 only tokens that say they are for access, where the settings ask for that', async () => {
    const authenticator = world.open({ tokenType: 'access' });
    expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims()), authenticator)).toBe('accepted');
    for (const typ of ['JWT', undefined, 'logout+jwt', 'secevent+jwt', 'dpop+jwt', 7]) {
      expect(await world.refusalOf(await sign(world.keyOf('k1'), world.claims(), { typ }), authenticator)).not.toBe(
        'accepted',
      );
    }
  });
});

describe('what a token carries', () => {
  const ask = async (
    settings: Partial<IssuerSettings>,
    more: Readonly<Record<string, unknown>>,
  ): Promise<RequestActor> => world.actorOf(await sign(world.keyOf('k1'), world.claims(more)), world.open(settings));
  const refuse = async (settings: Partial<IssuerSettings>, more: Readonly<Record<string, unknown>>): Promise<string> =>
    world.refusalOf(await sign(world.keyOf('k1'), world.claims(more)), world.open(settings));

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    ['', []],
    ['openid profile read:org resource', []],
    ['openid resource:read', ['resource:read']],
    [
      ['resource:read', 'namespace:write', 'openid'],
      ['namespace:write', 'resource:read'],
    ],
    [[], []],
  ])('D07 scope claim %j', async (scope, expected) => {
    expect(
      carriedNames((await ask({ scopeClaim: 'scope' }, { scope })).credentialScopes, unrestrictedPolicy()),
    ).toEqual(expected);
  });

  test('D07 no scope is not all scopes', async () => {
    expect((await ask({ scopeClaim: 'scope' }, {})).credentialScopes).toBe(NO_SCOPES);
  });

  test.each([['resource:delete'], ['resource:*'], ['openid process-run:'], [['resource:read', 7]], [7], [null], [{}]])(
    'a scope claim %j is refused',
    async (scope) => {
      expect(await refuse({ scopeClaim: 'scope' }, { scope })).toMatch(/^the scope claim /);
    },
  );

  test('groups are identities of the provider of groups', async () => {
    const actor = await ask({ groupsClaim: 'groups' }, { groups: ['staff', '/labs/optics', 'staff'] });
    expect(actor.identities).toEqual([
      { provider: 'orcid', subject: 'alice' },
      { provider: 'orcid-group', subject: 'staff' },
      { provider: 'orcid-group', subject: '/labs/optics' },
    ]);
    expect((await ask({ groupsClaim: 'groups' }, {})).identities).toHaveLength(1);
    for (const groups of [' staff', [''], [7], null, { staff: true }, [' staff']]) {
      expect(await refuse({ groupsClaim: 'groups' }, { groups })).toMatch(/groups claim/);
    }
  });

  test('groups may be one string: one group, or several with a separator', async () => {
    const subjectsOf = async (groups: unknown, groupsSeparator: string | null) =>
      (await ask({ groupsClaim: 'groups', groupsSeparator }, { groups })).identities
        .slice(1)
        .map(({ subject }) => subject);
    expect(await subjectsOf('curators,staff', null)).toEqual(['curators,staff']);
    expect(await subjectsOf('curators,staff', ',')).toEqual(['curators', 'staff']);
    expect(await subjectsOf('a b', ' ')).toEqual(['a', 'b']);
    expect(await subjectsOf(['a,b'], ',')).toEqual(['a,b']);
    for (const separator of [null, ',']) expect(await subjectsOf('', separator)).toEqual([]);
    const asked = { groupsClaim: 'groups', groupsSeparator: ',' };
    for (const groups of ['a,,b', 'a,', ',', 'a, b']) expect(await refuse(asked, { groups })).toMatch(/groups claim/);
    const many = Array.from({ length: 10_000 }, (_, index) => String(index)).join(',');
    expect(await refuse(asked, { groups: many })).toMatch(/more than \d+ groups/);
  });

  test('D06 each token has its own groups, a thousand times in turn', async () => {
    const authenticator = world.open({ groupsClaim: 'groups' });
    const [with_, without] = [
      await sign(world.keyOf('k1'), world.claims({ groups: ['staff'] })),
      await sign(world.keyOf('k1'), world.claims({ groups: [] })),
    ];
    for (let turn = 0; turn < 500; turn += 1) {
      expect((await world.actorOf(with_, authenticator)).identities).toHaveLength(2);
      expect((await world.actorOf(without, authenticator)).identities).toHaveLength(1);
    }
  });

  test('D07 D10 restrictions are canonical namespaces, and a missing claim refuses the token', async () => {
    const settings = { restrictionsClaim: 'ns' };
    expect((await ask(settings, { ns: ['/labs/', 'other'] })).namespaceRestrictions).toEqual(['/labs', '/other']);
    expect((await ask(settings, { ns: [] })).namespaceRestrictions).toEqual([]);
    for (const ns of [undefined, null, '/labs', [''], ['/Labs'], ['/labs '], ['/labs/*'], ['*'], ['/a%00'], [7], {}]) {
      expect(await refuse(settings, { ns })).toMatch(/restrictions claim/);
    }
  });

  test('D02 D05 the same subject of two issuers is two identities', async () => {
    const authenticator = world.open();
    const ours = await world.actorOf(
      await sign(world.keyOf('k1'), world.claims({ email: 'a@example.org' })),
      authenticator,
    );
    const theirs = await world.actorOf(
      await sign(world.keyOf('theirs'), world.claims({ iss: world.other.url, email: 'a@example.org' })),
      authenticator,
    );
    expect([ours.id, theirs.id]).toEqual(['orcid:alice', 'github:alice']);
    expect(ours.credentialFingerprint).not.toBe(theirs.credentialFingerprint);
  });

  test('D03 subjects that look alike are others', async () => {
    const authenticator = world.open();
    const subjects = ['alice', 'Alice', 'a:lice', 'al\u200bice', 'al\u00a0ice', 'alice|1'];
    const ids = await Promise.all(
      subjects.map(
        async (sub) => (await world.actorOf(await sign(world.keyOf('k1'), world.claims({ sub })), authenticator)).id,
      ),
    );
    expect(new Set(ids).size).toBe(subjects.length);
  });
});
