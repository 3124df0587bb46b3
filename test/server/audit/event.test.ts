// Events are made from parts that have no room for a secret, and their JSON is in the canonical form.
import { describe, expect, it } from '@jest/globals';
import { type Decision, instantOf, NO_SCOPES, type RawActor, SCOPES, scopeSetOf } from '../../../engine/index.js';
import {
  ANONYMOUS,
  askedOf,
  eventActor,
  eventAdmin,
  eventOperator,
  type EventParts,
  eventSubject,
  GATEWAY,
  makeEvent,
  queryAsked,
} from '../../../server/audit/event.js';
import { eventCredential } from '../../../server/audit/event-key.js';
import { eventPolicy } from '../../../server/audit/provenance.js';
import { adminOfKey } from '../../../server/auth/admin-actor.js';
import { actorOf } from '../../../server/auth/request-actor.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { pathOf } from '../../support/gateway.js';

const DIGEST = `sha256:${'0a'.repeat(32)}`;
const RECORD = '0190c0de-0000-7000-8000-000000000001';
const LAB = pathOf('/labs/x');

const actor = eventActor(
  actorOf('key', {
    id: 'ana',
    identities: [
      { provider: 'orcid', subject: '0000' },
      { provider: 'github', subject: 'ana' },
    ],
    scopes: null,
    restrictions: [pathOf('/labs')],
    credentialFingerprint: 'f'.repeat(64),
  }),
);

const PARTS: EventParts = {
  id: 'AAAAAAAAAAAAAAAA',
  at: instantOf(0),
  kind: 'command',
  requestId: 'BBBBBBBBBBBBBBBB',
  actor,
  operation: 'resource.create',
  outcome: 'allowed',
  status: 201,
  access: askedOf({ kind: 'access', scope: 'resource:write', context: LAB, target: LAB }),
  decision: { decision: 'allow', grants: [{ id: 'b' }, { id: 'a', file: 'x.yaml', line: 1 }, { id: 'b' }] },
  snapshot: DIGEST,
  records: [RECORD],
};

describe('an event', () => {
  it('says who did what where, by which grants', () => {
    expect({ ...makeEvent(PARTS) }).toMatchObject({
      time: '1970-01-01T00:00:00.000Z',
      actor: { id: 'ana', identities: ['github:ana', 'orcid:0000'], namespaceRestrictions: ['/labs'] },
      access: { scope: 'resource:write', family: 'resource', context: '/labs/x', target: '/labs/x' },
      grants: ['a', 'b'],
      status: 201,
    });
  });

  it('says the step of a denial, and of a copy the cause', () => {
    const asked = askedOf({ kind: 'copy', source: LAB, destination: pathOf('/') });
    const denied = { decision: 'deny', step: 'source_read', cause: 'restriction' } as const;
    const event = makeEvent({ ...PARTS, outcome: 'denied', access: asked, decision: denied });
    expect({ ...event }).toMatchObject({ step: 'source_read', cause: 'restriction', access: { source: '/labs/x' } });
    expect(event).not.toHaveProperty('grants');
  });

  it('is decided at the parent where a namespace is created; the root has none', () => {
    expect(askedOf({ kind: 'create-namespace', namespace: LAB })).toMatchObject({
      creates: '/labs/x',
      context: '/labs',
      target: '/labs',
    });
    expect(askedOf({ kind: 'create-namespace', namespace: pathOf('/') })).toMatchObject({ creates: '/', target: '/' });
  });

  it('stands as JSON in its canonical form', () => {
    const event = makeEvent(PARTS);
    const text = JSON.stringify(event);
    expect(text).toBe(canonicalJson(JSON.parse(text)));
  });

  it('names a hundred grants and counts the others', () => {
    const grants = Array.from({ length: 103 }, (_, index) => ({ id: `g${String(index).padStart(3, '0')}` }));
    const event = makeEvent({ ...PARTS, decision: { decision: 'allow', grants } });
    expect([event.grants?.length, event.grantsOmitted]).toEqual([100, 3]);
  });

  it.each([
    ['id', { id: `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}` }],
    ['request id', { requestId: 'a b' }],
    ['key id', { key: `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}` }],
    ['record', { records: ['password'] }],
    ['snapshot', { snapshot: 'hunter2' }],
    ['visibility', { visibility: 'hunter2' }],
  ])('takes no other text for a %s, and repeats it nowhere', (_, part) => {
    const text = String(Object.values(part).flat()[0]);
    let said = '';
    try {
      makeEvent({ ...PARTS, ...part });
    } catch (error) {
      said = String(error);
    }
    expect(said).toContain('takes no text of this form');
    expect(said).not.toContain(text);
  });

  it('knows an admin by name and fingerprint, and nothing of a policy', () => {
    const admin = adminOfKey({ id: 'olga', credentialFingerprint: 'e'.repeat(64) });
    expect(eventAdmin(admin)).toMatchObject({ kind: 'admin', id: 'olga', identities: [], namespaceRestrictions: [] });
  });

  it('keeps an actor without scopes apart from one with all', () => {
    const holder = { id: 'ci', identities: [], restrictions: null, credentialFingerprint: 'f'.repeat(64) };
    expect(eventActor(actorOf('key', { ...holder, scopes: NO_SCOPES })).credentialScopes).toEqual([]);
    expect(eventActor(actorOf('key', { ...holder, scopes: null })).credentialScopes).toHaveLength(10);
  });
});

describe('the members of an event', () => {
  const decision: Decision = { decision: 'deny', step: 'restriction' };
  const bare = { ...PARTS, access: undefined, decision: undefined, snapshot: undefined, status: undefined };
  const { records: _, ...plain } = bare;
  const least = makeEvent(JSON.parse(JSON.stringify(plain)) as EventParts);

  it('are few where little is known, and cannot be changed', () => {
    // Not as members without a value either: a line would not be JSON.
    expect({ ...least }).toStrictEqual({
      ...{ access: null, actor, id: PARTS.id, kind: 'command', operation: 'resource.create', outcome: 'allowed' },
      ...{ requestId: PARTS.requestId, snapshot: null, status: null, time: '1970-01-01T00:00:00.000Z' },
    });
    expect(Object.isFrozen(least)).toBe(true);
  });

  it('are those that are known, each in the canonical order and without what else a caller has', () => {
    const credential = eventCredential({
      actor: 'ci',
      identities: [],
      scopes: null,
      restrictions: null,
      expires: null,
      admin: false,
    });
    const more = { extra: 'hunter2' };
    const all = {
      ...{ address: '::1', credential, items: 0, key: 'k', vocabulary: DIGEST, visibility: DIGEST },
      ...{ policy: eventPolicy({ reason: 'r' }), held: { namespace: LAB, scopes: SCOPES } },
      ...{
        lost: [{ seq: 1, log: 'l', hash: 'h', ...more }],
        recording: { records: 'ids' as const, queries: 'all' as const, ...more },
      },
      ...{ subject: { namespaceRestrictions: null, identities: ['a:b'], credentialScopes: [], ...more } },
      access: { target: LAB, scope: 'resource:read', reach: 'exact', family: 'resource', context: LAB, ...more },
      actor: { ...actor, ...more },
    } as const;
    const event = makeEvent({ ...PARTS, ...all, decision });
    const text = JSON.stringify(event);
    expect(text).toBe(canonicalJson(JSON.parse(text)));
    expect(text).not.toContain('hunter2');
    expect({ ...event }).toMatchObject({
      ...{ address: '::1', credential, items: 0, key: 'k', vocabulary: DIGEST, visibility: DIGEST },
      ...{ policy: { reason: 'r' }, held: SCOPES, namespace: LAB, lost: [{ hash: 'h', log: 'l', seq: 1 }] },
      ...{ recording: { queries: 'all', records: 'ids' }, records: [RECORD], step: 'restriction', snapshot: DIGEST },
      ...{ subject: { identities: ['a:b'] }, access: { reach: 'exact', context: LAB } },
    });
    expect(event).not.toHaveProperty('cause');
    expect(event).not.toHaveProperty('grants');
  });

  it('have a move as a move, a creation as one, and ids of records in small letters', () => {
    const access = { source: LAB, moves: true, family: 'resource', destination: LAB } as const;
    expect(makeEvent({ ...PARTS, access, records: [RECORD.toUpperCase()] })).toMatchObject({
      access: { destination: LAB, family: 'resource', moves: true, source: LAB },
      records: [RECORD],
    });
    const copied = makeEvent({ ...PARTS, access: askedOf({ kind: 'copy', source: LAB, destination: LAB }) });
    expect(copied.access).toStrictEqual({ destination: LAB, family: 'resource', source: LAB });
    const created = makeEvent({ ...PARTS, access: askedOf({ kind: 'create-namespace', namespace: LAB }) });
    expect(created.access).toStrictEqual({
      ...{ context: '/labs', creates: LAB, family: 'namespace', scope: 'namespace:write', target: '/labs' },
    });
    expect(makeEvent(PARTS).access).toStrictEqual({
      ...{ context: LAB, family: 'resource', scope: 'resource:write', target: LAB },
    });
  });

  it('name exactly a hundred grants without counting others', () => {
    const grants = Array.from({ length: 100 }, (_, index) => ({ id: `g${String(index).padStart(3, '0')}` }));
    const event = makeEvent({ ...PARTS, decision: { decision: 'allow', grants } });
    expect(event.grants).toEqual(grants.map(({ id }) => id));
    expect(event).not.toHaveProperty('grantsOmitted');
  });

  it.each([
    ['id', ['', 'a'.repeat(33), 'a b', ' a', 'a\n'], ['a', 'a'.repeat(32), 'aZ-_09']],
    ['address', [':', 'x', '1'.repeat(46), ' ::1', '::1 '], ['::', '192.0.2.7', 'FE80::1']],
    ['snapshot', [`x${DIGEST}`, `${DIGEST}0`, DIGEST.toUpperCase(), DIGEST.slice(0, -1)], [DIGEST]],
    ['vocabulary', ['hunter2'], [DIGEST]],
  ])('take a text for %s in one form alone', (name, wrong, right) => {
    for (const text of wrong)
      expect(() => makeEvent({ ...PARTS, [name]: text })).toThrow('an audit event takes no text of this form');
    for (const text of right) expect(makeEvent({ ...PARTS, [name]: text })).toMatchObject({ [name]: text });
  });

  it.each([`${RECORD}0`, `0${RECORD}`, RECORD.replaceAll('-', ''), RECORD.slice(0, -1)])(
    'take no id of a record like %s',
    (record) => {
      expect(() => makeEvent({ ...PARTS, records: [record] })).toThrow(TypeError);
    },
  );
});

const SECRET = `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}`;

describe('who is named', () => {
  it('is the gateway, an operator, an admin or nobody, and holds nothing', () => {
    const nobody = { credentialScopes: [], fingerprint: null, identities: [], namespaceRestrictions: [] };
    expect(GATEWAY).toEqual({ ...nobody, id: 'gateway', kind: 'gateway' });
    expect(ANONYMOUS).toEqual({ ...nobody, id: 'anonymous', kind: 'anonymous' });
    expect([GATEWAY, ANONYMOUS].map(Object.isFrozen)).toEqual([true, true]);
    expect(eventOperator('root')).toEqual({ ...nobody, id: 'root', kind: 'operator' });
    const admin = adminOfKey({ id: 'olga', credentialFingerprint: 'e'.repeat(64) });
    expect(eventAdmin(admin)).toEqual({ ...nobody, id: 'olga', kind: 'admin', fingerprint: 'e'.repeat(64) });
  });

  it('carries the scopes of records in their order, unless a policy has others', () => {
    expect(actor).toEqual({
      ...{ credentialScopes: [...SCOPES].sort(), fingerprint: 'f'.repeat(64), id: 'ana', kind: 'key' },
      ...{ identities: ['github:ana', 'orcid:0000'], namespaceRestrictions: ['/labs'] },
    });
  });

  it('is no credential, where one was typed for a name', () => {
    const subject: RawActor = {
      kind: 'request',
      identities: [
        { provider: 'orcid', subject: SECRET },
        { provider: 'github', subject: 'ana' },
      ],
      credentialScopes: null,
      namespaceRestrictions: null,
    };
    const policy = { scopes: SCOPES };
    expect(eventSubject(subject, policy)).toEqual({
      ...{ identities: ['github:ana', 'orcid:[credential]'], credentialScopes: SCOPES, namespaceRestrictions: null },
    });
    const narrow = { credentialScopes: ['resource:read', 'openid'], namespaceRestrictions: ['labs/', '/A', '/b'] };
    expect(eventSubject({ ...subject, ...narrow }, policy)).toMatchObject({
      ...{ credentialScopes: ['resource:read'], namespaceRestrictions: ['/labs', '/b'] },
    });
    const admin = eventAdmin(adminOfKey({ id: SECRET, credentialFingerprint: 'e'.repeat(64) }));
    expect(makeEvent({ ...PARTS, actor: admin }).actor.id).toBe('[credential]');
    expect(() => eventSubject({ kind: 'local' }, policy)).toThrow(
      'the local actor cannot be the subject of a question',
    );
  });
});

describe('a query', () => {
  it('asks at its context, to read unless it says otherwise', () => {
    const asked = { family: 'resource', context: LAB, reach: 'lineage' } as const;
    const access = { ...asked, scope: 'resource:read', target: LAB };
    expect(queryAsked(asked)).toEqual(access);
    expect(queryAsked({ ...asked, action: 'write' })).toEqual({ ...access, scope: 'resource:write' });
    expect(() => queryAsked({ ...asked, family: 'Resource' })).toThrow('a query of something that is not a family');
  });
});

describe('a key', () => {
  const key = {
    actor: 'ci',
    identities: [
      { provider: 'p', subject: 'b' },
      { provider: 'p', subject: 'a' },
    ],
    scopes: scopeSetOf(['resource:write', 'process-template:read']),
    restrictions: [pathOf('/b'), pathOf('/a')],
    expires: instantOf(0),
    admin: true,
    decide: true,
  };

  it('is held with all that it may do, in one order', () => {
    expect(JSON.stringify(eventCredential(key))).toBe(
      canonicalJson({
        ...{ actor: 'ci', admin: true, decide: true, expires: '1970-01-01T00:00:00.000Z', identities: ['p:a', 'p:b'] },
        ...{ namespaceRestrictions: ['/a', '/b'], scopes: ['process-template:read', 'resource:write'] },
      }),
    );
    expect(key.restrictions).toEqual(['/b', '/a']);
    const { decide: _, ...open } = { ...key, scopes: null, restrictions: null, expires: null, admin: false };
    const none = { admin: false, decide: false, expires: null, namespaceRestrictions: null, scopes: null };
    expect(eventCredential(open)).toMatchObject(none);
    expect(eventCredential({ ...open, decide: false })).toMatchObject(none);
  });

  it('has no credential for a name, not even of one that was made when that was possible', () => {
    const identities = [{ provider: 'orcid', subject: SECRET }];
    expect(eventCredential({ ...key, actor: SECRET, identities })).toMatchObject({
      ...{ actor: '[credential]', identities: ['orcid:[credential]'] },
    });
  });
});

describe('where a policy came from', () => {
  const commit = 'c0ffee'.padEnd(40, '0');
  const said = {
    ...{ snapshot: DIGEST, policy: 'p', environment: 'production', generation: 7 },
    ...{ issued: instantOf(0), expires: instantOf(1_000) },
  };
  const statement = {
    ...{ environment: 'production', expires: '1970-01-01T00:00:01.000Z', generation: 7 },
    issued: '1970-01-01T00:00:00.000Z',
  };

  it('has the members that are known, in one order', () => {
    expect(eventPolicy({})).toStrictEqual({});
    expect(eventPolicy({ askedBy: null, signers: [], statement: null })).toEqual({});
    const source = { kind: 'git', ref: 'main', path: 'p', commit, repository: 'https://u:p@git.example.org/r' };
    const signers = ['b', 'a'];
    const all = eventPolicy({ askedBy: 'a', generation: 3, reason: 'r', fault: 'f', signers, source, statement: said });
    expect(JSON.stringify(all)).toBe(
      canonicalJson({
        ...{ askedBy: 'a', commit, fault: 'f', generation: 3, path: 'p', reason: 'r', ref: 'main', source: 'git' },
        ...{ repository: 'https://git.example.org/r', signers: ['a', 'b'], statement },
      }),
    );
    expect(signers).toEqual(['b', 'a']);
  });

  it('says what the signer says of its source, without a password', () => {
    const from = (repository: string | null): unknown =>
      eventPolicy({ statement: { ...said, source: { commit, repository } } }).statement?.source;
    expect(from(null)).toEqual({ commit });
    expect(from('https://ci:s3cret@git.example.org/r')).toEqual({ commit, repository: 'https://git.example.org/r' });
    expect(eventPolicy({ statement: said }).statement).toEqual(statement);
  });

  it.each([
    ['https://a@b.example/x', 'https://b.example/x'],
    ['see https://u:p@a.example and ssh://git@b.example/y', 'see https://a.example and ssh://b.example/y'],
    ['https://a.example/x@y', 'https://a.example/x@y'],
    ['// two words@home', '// two words@home'],
    ['https://@a.example', 'https://a.example'],
    ['git@b.example:y', 'git@b.example:y'],
    ['x'.repeat(501), 'x'.repeat(500)],
    [`${'x'.repeat(499)}\u{1f600}`, 'x'.repeat(499)],
    [`${'x'.repeat(498)}\u{1f600}`, `${'x'.repeat(498)}\u{1f600}`],
    [`\ud83d${'x'.repeat(4)}`, `\ud83d${'x'.repeat(4)}`],
  ])('holds %p as %p', (reason, held) => {
    expect(eventPolicy({ reason })).toEqual({ reason: held });
  });
});
