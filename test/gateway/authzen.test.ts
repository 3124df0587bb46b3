// AuthZEN 1.0, rule by rule: the endpoints, the bodies that are refused, batches, searches, pages, ids of requests. The answers are those
// of `decide`, within the bounds of the key that asks.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf, scopeSetOf } from '../../engine/index.js';
import type { NewKey } from '../../server/auth/api-keys.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { readVocabulary } from '../../server/asking/vocabulary.js';
import { ask, type Said, type Saying, vocabularyOf, WORDS } from '../support/authzen-client.js';
import { callAdmin, openGateway, pathOf, snapshotOf, type TestGateway } from '../support/gateway.js';
import { ABSENT, HIDDEN, LENS, loadLensAndSecret } from '../support/loaded-records.js';
import { newDataDir, PATIENT } from '../support/stores.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const BOB = { provider: 'orcid', subject: 'bob' };
const EVE = { provider: 'github', subject: 'eve' };
const { bytes, policy } = snapshotOf([
  [ADA, '/labs', ['resource:read', 'resource:write']],
  [ADA, '/labs/x', ['resource:read', 'namespace:read']],
  [ADA, '/shared', ['resource:read']],
  [BOB, '/labs/x', ['resource:read']],
  [EVE, '/labs/x', ['resource:read']],
]);

let dataDir: string;
let db: Database;
let open: TestGateway;
let worded: TestGateway;
let key: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await loadLensAndSecret(db);
  const stored = { policy, bytes, labels: 'verified', statement: null, at: instantOf(Date.now()) } as const;
  await storedSnapshots(db).put(stored);
  const mode = { kind: 'serve', policy } as const;
  open = await openGateway({ db, mode, authzen: { baseUrl: 'https://pdp.example.org', vocabulary: null } });
  worded = await openGateway({
    ...{ db, mode, admin: true },
    authzen: { baseUrl: 'https://pdp.example.org', vocabulary: vocabularyOf(WORDS) },
  });
  key = await asker();
});

afterAll(async () => {
  await worded.dispose();
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const asker = async (fields: Partial<NewKey> = {}): Promise<string> =>
  (await open.key({ actor: 'pep', identities: [], decide: true, ...fields })).text;

const say = (
  path: string,
  body: unknown,
  { gateway = open, key: by = key, ...saying }: Saying & { gateway?: TestGateway } = {},
): Promise<Said> => ask(gateway.port, path, { body, key: by, ...saying });

const ONE = '/access/v1/evaluation';
const MANY = '/access/v1/evaluations';
const user = (id: string, type = 'orcid'): object => ({ type, id });
const at = (id: string): object => ({ type: 'namespace', id });
const act = (name = 'resource:read'): object => ({ name });
const asked = (id: string, path: string, name?: string): Readonly<Record<string, unknown>> => ({
  subject: user(id),
  action: act(name),
  resource: at(path),
});
const YES = { decision: true, context: { snapshot: policy.digest } };
const NO = { decision: false, context: { snapshot: policy.digest } };

describe('discovery', () => {
  it('names the endpoints by the settings alone, to everybody', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const {
      status,
      body,
      headers: told,
    } = await say('/.well-known/authzen-configuration', undefined, {
      ...{ method: 'GET', key: null, headers },
    });
    expect([status, told['content-type']]).toEqual([200, 'application/json']);
    expect(body).toEqual({
      policy_decision_point: 'https://pdp.example.org',
      access_evaluation_endpoint: 'https://pdp.example.org/access/v1/evaluation',
      access_evaluations_endpoint: 'https://pdp.example.org/access/v1/evaluations',
      search_subject_endpoint: 'https://pdp.example.org/access/v1/search/subject',
      search_resource_endpoint: 'https://pdp.example.org/access/v1/search/resource',
      search_action_endpoint: 'https://pdp.example.org/access/v1/search/action',
    });
  });

  it('is not there unless the settings say so', async () => {
    const plain = await openGateway({ db, mode: { kind: 'serve', policy } });
    const { status } = await say(ONE, asked('ada', '/labs'), { gateway: plain });
    await plain.dispose();
    expect(status).toBe(404);
  });
});

describe('an evaluation', () => {
  it('that is refused repeats no credential', async () => {
    const { status, body } = await say(ONE, `{"${key}":1,"${key}":2}`);
    expect([status, body]).toEqual([400, expect.stringContaining('/[credential]')]);
  });

  it.each([
    ['what a grant gives', asked('ada', '/labs/x'), YES],
    ['what none gives', asked('bob', '/labs'), NO],
    ['an unknown subject', asked('nobody', '/labs'), NO],
    ['a subject that is no identity', { ...asked('ada', '/labs'), subject: user('', 'NOT A NAME') }, NO],
    ['an unknown action', asked('ada', '/labs', 'can_fly'), NO],
    ['an unknown type of resource', { ...asked('ada', '/labs'), resource: { type: 'todo', id: '/labs' } }, NO],
    ['a path that is none', asked('ada', '/labs/../x'), NO],
    ['another context', { ...asked('ada', '/labs'), context: { namespace: '/labs/x', time: 'never' } }, YES],
    ['an unrelated context', { ...asked('ada', '/labs'), context: { namespace: '/vault' } }, NO],
    ['a context that is no path', { ...asked('ada', '/labs'), context: { namespace: 7 } }, NO],
    ['a record by its id', { ...asked('bob', '/'), resource: { type: 'resource', id: LENS } }, YES],
    ['a short action on a record', { ...asked('bob', '/', 'read'), resource: { type: 'resource', id: LENS } }, YES],
    [
      'a scope of another family',
      { ...asked('ada', '/', 'namespace:read'), resource: { type: 'resource', id: LENS } },
      NO,
    ],
    ['a record out of reach', { ...asked('bob', '/'), resource: { type: 'resource', id: HIDDEN } }, NO],
    ['a record that is not there', { ...asked('bob', '/'), resource: { type: 'resource', id: ABSENT } }, NO],
    ['an id that is none', { ...asked('bob', '/'), resource: { type: 'resource', id: 'lens' } }, NO],
    [
      'properties, unknown members and null for what may be absent',
      {
        subject: { ...user('bob'), properties: { role: 'admin', scopes: ['resource:write'] } },
        action: { ...act(), properties: null },
        resource: { ...at('/labs'), properties: { ownerID: 'bob' }, more: 1 },
        context: null,
        options: { any: true },
      },
      NO,
    ],
  ])('answers 200 about %s', async (_, body, expected) => {
    expect(await say(ONE, body)).toMatchObject({ status: 200, body: expected });
  });

  it.each([
    ['no body', ''],
    ['no object', '[]'],
    ['no JSON', '{"subject":'],
    ['a key twice', '{"subject":{"type":"orcid","id":"ada"},"subject":null}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['no subject', { ...asked('ada', '/'), subject: undefined }],
    ['a null subject', { ...asked('ada', '/'), subject: null }],
    ['a subject without id', { ...asked('ada', '/'), subject: { type: 'orcid' } }],
    ['a subject without type', { ...asked('ada', '/'), subject: { id: 'ada' } }],
    ['an id that is a number', { ...asked('ada', '/'), subject: { type: 'orcid', id: 7 } }],
    ['a subject that is a text', { ...asked('ada', '/'), subject: 'orcid:ada' }],
    ['properties that are a list', { ...asked('ada', '/'), subject: { ...user('ada'), properties: [] } }],
    ['no action', { ...asked('ada', '/'), action: undefined }],
    ['an action without a name', { ...asked('ada', '/'), action: {} }],
    ['no resource', { ...asked('ada', '/'), resource: undefined }],
    ['a resource without id', { ...asked('ada', '/'), resource: { type: 'namespace' } }],
    ['a context that is a text', { ...asked('ada', '/'), context: 'here' }],
  ])('refuses %s with 400 and a text', async (_, body) => {
    const { status, body: told, headers } = await say(ONE, body);
    expect([status, typeof told, headers['content-type']]).toEqual([400, 'string', 'application/json']);
  });

  it('refuses another type of content with 400, too large a body with 400, and strangers with 401', async () => {
    const typed = await say(ONE, asked('ada', '/'), { headers: { 'content-type': 'text/plain' } });
    expect([typed.status, typeof typed.body]).toEqual([400, 'string']);
    const large = await say(ONE, { ...asked('ada', '/'), more: 'x'.repeat(1024 * 1024) });
    expect([large.status, typeof large.body]).toEqual([400, 'string']);
    const stranger = await say(ONE, asked('ada', '/'), { key: null });
    expect([stranger.status, typeof stranger.body, stranger.headers['www-authenticate']]).toEqual([
      ...[401, 'string', 'Bearer realm="bailiwick"'],
    ]);
    const { text } = await open.key();
    expect((await say(ONE, asked('ada', '/'), { key: text })).status).toBe(403);
  });

  it('echoes any printable id of a request', async () => {
    const id = 'a b/c"{}"; drop-table; ~'.padEnd(1_024, 'x');
    for (const body of [asked('ada', '/labs'), {}])
      expect((await say(ONE, body, { headers: { 'x-request-id': id } })).headers['x-request-id']).toBe(id);
    const { headers } = await say(ONE, asked('ada', '/labs'), { headers: { 'x-request-id': 'x'.repeat(1_025) } });
    expect(String(headers['x-request-id']).length).toBeLessThan(100);
  });

  it('stays within the bounds of the key', async () => {
    const narrow = await asker({ restrictions: [pathOf('/labs/x')], scopes: scopeSetOf(['resource:read']) });
    for (const [body, expected] of [
      [asked('ada', '/labs/x'), YES],
      [asked('ada', '/labs'), NO],
      [asked('ada', '/labs/x', 'namespace:read'), NO],
    ])
      expect((await say(ONE, body, { key: narrow })).body).toEqual(expected);
  });
});

describe('evaluations', () => {
  it('take what an item lacks from the request, as whole objects', async () => {
    const { body } = await say(MANY, {
      ...asked('ada', '/labs/x'),
      evaluations: [
        {},
        { subject: user('bob') },
        { resource: at('/labs'), subject: null },
        { subject: user('bob'), action: act('resource:write') },
        { subject: user('eve', 'github') },
        { subject: user('eve') },
      ],
    });
    expect(body).toEqual({ evaluations: [YES, YES, YES, NO, YES, NO] });
  });

  it('without items are one evaluation', async () => {
    for (const evaluations of [undefined, null, []])
      expect(await say(MANY, { ...asked('ada', '/labs'), evaluations })).toMatchObject({ status: 200, body: YES });
    expect((await say(MANY, { evaluations: [] })).status).toBe(400);
  });

  it('deny an item that cannot be read, say why, and answer the others', async () => {
    const error = { decision: false, context: { error: { status: 400, message: expect.any(String) } } };
    const { status, body } = await say(MANY, {
      subject: user('ada'),
      evaluations: [
        { action: act(), resource: at('/labs') },
        { action: act() },
        7,
        { action: 'read', resource: at('/labs') },
        { action: act(), resource: at('/shared') },
      ],
    });
    expect([status, body]).toEqual([200, { evaluations: [YES, error, error, error, YES] }]);
  });

  it.each([
    ['execute_all', [YES, NO, YES]],
    ['deny_on_first_deny', [YES, NO]],
    ['permit_on_first_permit', [YES]],
  ])('end as %s has it', async (evaluations_semantic, expected) => {
    const evaluations = [{ resource: at('/labs') }, { resource: at('/vault') }, { resource: at('/shared') }];
    const { body } = await say(MANY, { ...asked('ada', '/'), options: { evaluations_semantic }, evaluations });
    expect(body).toEqual({ evaluations: expected });
  });

  it.each([
    ['an unknown semantic', { options: { evaluations_semantic: 'best_of_three' } }],
    ['options that are a text', { options: 'all' }],
    ['evaluations that are an object', { evaluations: {} }],
    ['a default that is a text', { subject: 'ada' }],
    ['more than a hundred', { evaluations: Array.from({ length: 101 }, () => ({})) }],
  ])('refuse %s', async (_, more) => {
    const { status, body } = await say(MANY, { ...asked('ada', '/labs'), evaluations: [{}], ...more });
    expect([status, typeof body]).toEqual([400, 'string']);
  });
});

describe('searches', () => {
  const search = async (what: string, body: object, saying?: Saying): Promise<Said['body']> => {
    const { status, body: told } = await say(`/access/v1/search/${what}`, body, saying);
    expect([status, told]).toEqual([200, expect.anything()]);
    return told;
  };
  const found = (...results: readonly object[]): object => ({
    page: { next_token: '', count: results.length, total: results.length },
    results,
  });
  const NONE = found();

  it('for subjects give those of one type, whatever their id, sorted', async () => {
    const body = { subject: { type: 'orcid', id: 'ignored' }, action: act(), resource: at('/labs/x') };
    expect(await search('subject', body)).toEqual(found(user('ada'), user('bob')));
    expect(await search('subject', { ...body, subject: { type: 'github' } })).toEqual(found(user('eve', 'github')));
    expect(await search('subject', { ...body, resource: { type: 'resource', id: LENS } })).toEqual(
      found(user('ada'), user('bob')),
    );
    for (const other of [
      { subject: { type: 'user' } },
      { action: act('can_fly') },
      { resource: at('/labs/../x') },
      { resource: { type: 'todo', id: '1' } },
      { context: { namespace: '/vault' } },
    ])
      expect(await search('subject', { ...body, ...other })).toEqual(NONE);
    const narrow = await asker({ restrictions: [pathOf('/shared')] });
    expect(await search('subject', body, { key: narrow })).toEqual(NONE);
  });

  it('for resources give the places that are held, or the records there', async () => {
    const body = { subject: user('ada'), action: act(), resource: { type: 'namespace' } };
    const root = (id: string): object => ({ type: 'namespace', id, properties: { extent: 'subtree' } });
    expect(await search('resource', body)).toEqual(found(root('/labs'), root('/shared')));
    const near = { ...body, context: { namespace: '/labs/x/y' } };
    const node = (id: string): object => ({ type: 'namespace', id, properties: { extent: 'node' } });
    expect(await search('resource', near)).toEqual(found(node('/labs'), node('/labs/x'), node('/labs/x/y')));
    const narrow = await asker({ restrictions: [pathOf('/labs/x/deep')] });
    expect(await search('resource', body, { key: narrow })).toEqual(found(root('/labs/x/deep')));
    const records = { ...body, resource: { type: 'resource' } };
    expect(await search('resource', records)).toEqual(found({ type: 'resource', id: LENS }));
    expect(await search('resource', { ...records, subject: user('nobody') })).toEqual(NONE);
    expect(await search('resource', { ...body, resource: { type: 'todo' } })).toEqual(NONE);
  });

  it('for actions give the names of what is held', async () => {
    const body = { subject: user('ada'), resource: at('/labs/x') };
    const names = (...all: readonly string[]): object => found(...all.map((name) => ({ name })));
    expect(await search('action', body)).toEqual(names('namespace:read', 'resource:read', 'resource:write'));
    const record = { ...body, resource: { type: 'resource', id: LENS } };
    expect(await search('action', record)).toEqual(names('resource:read', 'resource:write'));
    expect(await search('action', { ...body, subject: user('nobody') })).toEqual(NONE);
    const narrow = await asker({ scopes: scopeSetOf(['resource:read']) });
    expect(await search('action', body, { key: narrow })).toEqual(names('resource:read'));
  });

  it('come in pages that belong to one search, one key and one policy', async () => {
    const body = { subject: { type: 'orcid' }, action: act(), resource: at('/labs/x') };
    const first = (await search('subject', { ...body, page: { limit: 1 } })) as Paged;
    expect(first).toMatchObject({ page: { count: 1, total: 2 }, results: [user('ada')] });
    const token = first.page.next_token;
    expect(await search('subject', { ...body, page: { token } })).toEqual({
      page: { next_token: '', count: 1, total: 2 },
      results: [user('bob')],
    });
    for (const [more, by] of [
      [{ action: act('resource:write'), page: { token } }, key],
      [{ page: { token } }, await asker({ actor: 'other' })],
      [{ page: { token: `${token}x` } }, key],
      [{ page: { token: 7 } }, key],
      [{ page: { limit: 0 } }, key],
      [{ page: { limit: '1' } }, key],
      [{ page: 'next' }, key],
    ] as const) {
      const { status, body: told } = await say('/access/v1/search/subject', { ...body, ...more }, { key: by });
      expect([status, typeof told]).toEqual([400, 'string']);
    }
  });

  it.each([
    ['subject', { subject: {}, action: act(), resource: at('/labs') }],
    ['subject', { subject: { type: 'orcid' }, action: act(), resource: { type: 'namespace' } }],
    ['subject', { subject: { type: 'orcid' }, resource: at('/labs') }],
    ['resource', { subject: { type: 'orcid' }, action: act(), resource: { type: 'namespace' } }],
    ['resource', { subject: user('ada'), action: act(), resource: {} }],
    ['action', { subject: { type: 'orcid' }, resource: at('/labs') }],
    ['action', { subject: user('ada'), resource: { type: 'namespace' } }],
  ])('for a %s refuse a request without what is not searched for', async (what, body) => {
    expect((await say(`/access/v1/search/${what}`, body)).status).toBe(400);
  });
});

interface Paged {
  readonly page: { readonly next_token: string };
}

describe('the vocabulary', () => {
  const decided = (subject: object, name: string, resource: object): Promise<Said> =>
    say(ONE, { subject, action: act(name), resource }, { gateway: worded });

  it.each([
    ['a place for every id', { type: 'lab', id: 'What Ever' }, 'can_read', true],
    ['an id as one segment', { type: 'room', id: 'x' }, 'can_update', true],
    ['an id of the table', { type: 'room', id: 'Main' }, 'can_read', true],
    ['an id that is no segment', { type: 'room', id: 'X' }, 'can_read', false],
    ['an id that goes up', { type: 'room', id: '..' }, 'can_read', false],
    ['an id that goes down', { type: 'room', id: 'x/y' }, 'can_read', false],
    ['an id of a table alone', { type: 'route', id: '/users/{userId}' }, 'can_read', true],
    ['an id that it lacks', { type: 'route', id: '/labs/x' }, 'can_read', false],
    ['a record', { type: 'thing', id: LENS }, 'can_read', true],
    ['a natural type', { type: 'namespace', id: '/labs' }, 'can_read', false],
    ['a natural action', { type: 'lab', id: '1' }, 'resource:read', false],
  ])('says what %s means', async (_, resource, name, decision) => {
    expect((await decided({ type: 'user', id: 'ada' }, name, resource)).body).toMatchObject({ decision });
    expect((await decided({ type: 'orcid', id: 'ada' }, name, resource)).body).toMatchObject({ decision: false });
  });

  it('is searched as far as it lists its ids', async () => {
    const search = (what: string, body: object): Promise<Said> =>
      say(`/access/v1/search/${what}`, body, { gateway: worded });
    const subject = { type: 'user', id: 'ada' };
    const routes = await search('resource', { subject, action: act('can_read'), resource: { type: 'route' } });
    expect(routes.body).toMatchObject({ results: [{ type: 'route', id: '/users/{userId}' }] });
    const rooms = await search('resource', { subject, action: act('can_read'), resource: { type: 'room' } });
    expect([rooms.status, typeof rooms.body]).toEqual([400, 'string']);
    const actions = await search('action', { subject, resource: { type: 'lab', id: '1' } });
    expect(actions.body).toMatchObject({ results: [{ name: 'can_read' }, { name: 'can_update' }] });
    const users = await search('subject', {
      subject: { type: 'user' },
      action: act('can_read'),
      resource: { type: 'room', id: 'x' },
    });
    expect(users.body).toMatchObject({ results: [user('ada', 'user'), user('bob', 'user')] });
  });

  it.each([
    ['an action that is no scope', { actions: { a: 'resource:fly' } }, 'not a scope'],
    ['a provider that is none', { subjects: { a: { provider: 'Ä' } } }, 'provider'],
    ['two meanings of one type', { resources: { a: { at: '/labs', store: 'resource' } } }, 'needs one of'],
    ['a path that is none', { resources: { a: { at: '/Labs' } } }, 'not a namespace'],
    ['a family that is none', { resources: { a: { store: 'todo' } } }, 'not a family'],
  ])('is refused with %s', (_, written, message) => {
    expect(readVocabulary(written)).toEqual({ ok: false, message: expect.stringContaining(message) });
  });

  it('warns of actions that no policy tells apart, and has a digest that status and log show', async () => {
    const words = vocabularyOf({ actions: { a: 'resource:read', b: 'resource:read', c: 'resource:write' } });
    expect(words.warnings).toEqual(['`a` and `b` both mean resource:read, so no policy tells them apart']);
    expect(vocabularyOf(WORDS).digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(vocabularyOf({ ...WORDS, actions: {} }).digest).not.toBe(vocabularyOf(WORDS).digest);
    const status = await callAdmin(worded.admin?.port ?? 0);
    expect(status.json?.['authzen']).toEqual({ vocabulary: vocabularyOf(WORDS).digest });
    const line = worded.lines.find(({ message }) => message.includes('AuthZEN'));
    expect(line).toMatchObject({ vocabulary: vocabularyOf(WORDS).digest });
  });
});
