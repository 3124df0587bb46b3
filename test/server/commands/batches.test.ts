// Batches: several writes as one, all of them or none, each by the same rules as alone.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answered, type CommandDoors, openCommandDoors, type Sending } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';

interface Result {
  readonly status: number;
  readonly etag?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

describeOnStores('a batch', (store) => {
  let doors: CommandDoors;
  const send = (request: string, sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    doors.send(actor, request, sending);
  const batch = (commands: readonly object[], sending: Sending = {}, actor = 'ada'): Promise<Answered> =>
    send('POST /api/v1/batch', { body: { commands }, ...sending }, actor);
  const put = (path: string): object => ({ method: 'PUT', path: `/api/v1/namespaces${path}`, body: {} });
  const post = (collection: string, body: object, as?: string): object => ({
    method: 'POST',
    path: `/api/v1/${collection}`,
    body,
    ...(as === undefined ? {} : { as }),
  });
  const stored = async (): Promise<unknown> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly unknown[] }>(
      'SELECT id, revision, archived_at FROM records WHERE revision > ? ORDER BY id',
      [0],
    );
    const { rows: events } = await store.db.knex.raw<{ rows: readonly unknown[] }>(
      'SELECT id FROM audit_outbox WHERE id <> ? ORDER BY id',
      [''],
    );
    return { rows, events };
  };

  beforeAll(async () => {
    const actors = { ada: { '/': '*:*' }, wes: { '/': '*:write' }, lab: { '/labs/optics': '*:*' }, una: {} };
    doors = await openCommandDoors({ db: store.db, actors });
    await batch([put('/labs'), put('/labs/optics')]);
  });

  afterAll(async () => {
    await doors.close();
  });

  it('does what each command would, in order, and names what it makes', async () => {
    const schema = { type: 'object', required: ['n'] };
    const done = await batch([
      put('/labs/optics/run-1'),
      post('resource-templates', { namespace: '/labs/optics', name: 't', version: '1', schema }, 't'),
      post('resources', { namespace: '/labs/optics', name: 'r', template: '$t', properties: { n: 1 } }, 'r'),
      post(
        'process-templates',
        { namespace: '/labs/optics', name: 'p', version: '1', schema: {}, slots: [{ name: 's', template: '$t' }] },
        'p.1',
      ),
      post('process-runs', { namespace: '/labs/optics/run-1', template: '$p.1', resources: { s: '$r' } }),
      { method: 'PATCH', path: '/api/v1/resources/$r', body: { properties: { m: '$r' } }, ifMatch: '"1"' },
      post('resources/$r/copies', { destination: '/labs/optics/run-1' }, 'copy'),
      { method: 'POST', path: '/api/v1/resources/$copy/archive', ifMatch: '"1"' },
      { method: 'PATCH', path: '/api/v1/namespaces/labs/optics/run-1', body: { description: 'd' }, ifMatch: '"1"' },
    ]);
    expect([done.status, done.text.slice(0, 200)]).toEqual([200, expect.anything()]);
    const results = done.json['results'] as readonly Result[];
    expect(results.map(({ status, etag }) => [status, etag])).toEqual([
      [201, '"1"'],
      [201, '"1"'],
      [201, '"1"'],
      [201, '"1"'],
      [201, '"1"'],
      [200, '"2"'],
      [201, '"1"'],
      [200, '"2"'],
      [200, '"2"'],
    ]);
    const [, template, resource, process, run, changed, copy] = results.map(({ body }) => body);
    expect(resource).toMatchObject({ template: template?.['id'] });
    expect(process).toMatchObject({ slots: [{ name: 's', template: template?.['id'], required: false }] });
    expect(run).toMatchObject({ template: process?.['id'], resources: { s: resource?.['id'] } });
    // Names stand for ids where ids stand, and nowhere else.
    expect(changed).toMatchObject({ id: resource?.['id'], properties: { n: 1, m: '$r' }, revision: 2 });
    expect(copy).toMatchObject({ copiedFrom: resource?.['id'], properties: { n: 1, m: '$r' } });
    const read = await send(`GET /api/v1/resources/${String(resource?.['id'])}`);
    expect(read.json).toEqual(changed);
  });

  it('does nothing where one of them is refused, and says which', async () => {
    const before = await stored();
    const good = post('resources', { namespace: '/labs', name: 'r' }, 'r');
    const refusals = [
      [[good, post('resources', { namespace: '/none', name: 'r' })], '404 namespace.not_found', 1],
      [
        [good, { method: 'PATCH', path: '/api/v1/resources/$r', body: {}, ifMatch: '"2"' }],
        '412 record.precondition',
        1,
      ],
      [[good, { method: 'PATCH', path: '/api/v1/resources/$r', body: {} }], '428 request.precondition_required', 1],
      [[good, { method: 'PATCH', path: '/api/v1/resources/$r', body: {}, ifMatch: '*' }], '400 request.schema', 1],
      // As alone, the condition is read before the body.
      ...[[], 5, null, 'x'].flatMap((body) => [
        [
          [good, { method: 'PATCH', path: '/api/v1/resources/$r', body }],
          '428 request.precondition_required',
          1,
        ] as const,
        [
          [good, { method: 'PATCH', path: '/api/v1/resources/$r', body, ifMatch: '"1"' }],
          '400 request.schema',
          1,
        ] as const,
      ]),
      [
        [good, { method: 'PATCH', path: `/api/v1/resources/${ABSENT}`, body: {}, ifMatch: '"1"' }],
        '404 record.not_found',
        1,
      ],
      [[good, good], '400 request.schema', 1],
      [
        [
          { ...good, as: undefined },
          { method: 'POST', path: '/api/v1/resources/$r/archive', ifMatch: '"1"' },
        ],
        '400 request.schema',
        1,
      ],
      [[put('/labs'), good, put('/none/x'), good], '400 request.schema', 3],
      [[put('/labs'), good, put('/none/x')], '404 namespace.not_found', 2],
      [[good, put('/')], '403 authz.denied', 1],
      [[good, { ...put('/labs/x'), as: 'x' }], '400 request.schema', 1],
      // As alone: no query string, no fragment.
      [
        [good, { method: 'PATCH', path: '/api/v1/resources/$r?x=1', body: {}, ifMatch: '"1"' }],
        '400 request.schema',
        1,
      ],
      [
        [good, { method: 'PATCH', path: `/api/v1/resources/${ABSENT}?`, body: {}, ifMatch: '"1"' }],
        '400 request.schema',
        1,
      ],
      [[good, { method: 'POST', path: '/api/v1/resources/$r/archive#x', ifMatch: '"1"' }], '400 request.malformed', 1],
      [[good, { method: 'POST', path: '/api/v1/batch', body: { commands: [] } }], '400 request.schema', 1],
      [[good, { method: 'GET', path: '/api/v1/whoami' }], '400 request.schema', undefined],
      [
        [good, { method: 'POST', path: '/api/v1/query', body: { family: 'resource', namespace: '/' } }],
        '400 request.schema',
        1,
      ],
      [[post('resources', { namespace: '/labs', name: 'r', template: '$r' })], '400 request.schema', 0],
    ] as const;
    for (const [commands, expected, place] of refusals) {
      const refused = await batch(commands);
      expect([codeOf(refused), refused.json['command']]).toEqual([expected, place]);
    }
    const pointed = await batch([good, post('resources', { namespace: '/labs', name: 'r', template: ABSENT })]);
    expect([codeOf(pointed), pointed.json['command'], pointed.json['errors']]).toEqual([
      '422 reference.not_found',
      1,
      [expect.objectContaining({ pointer: '/commands/1/body/template' })],
    ]);
    expect(await stored()).toEqual(before);
  });

  it('is refused with the mistakes of all of its commands, each at its place', async () => {
    const refused = await batch([
      { method: 'PATCH', path: '/api/v1/resources/$nope', body: {}, ifMatch: '"1"' },
      post('resources', { namespace: '/labs' }, 'sample'),
      post('resources', { namespace: '/labs', name: 'r', template: '$later', nmae: 1 }),
      post('process-runs', { namespace: '/labs', resources: { a: '$sample', b: '$gone' } }),
      { method: 'POST', path: '/api/v1/nothing', body: {} },
      post('resources', { namespace: '/labs', name: 'r' }, 'later'),
      post('resources', { namespace: '/labs', name: 'r' }, 'later'),
    ]);
    expect([codeOf(refused), refused.json['command']]).toEqual(['400 request.schema', 0]);
    const errors = refused.json['errors'] as readonly { readonly pointer: string; readonly message: string }[];
    expect(errors.map(({ pointer, message }) => `${pointer} ${message}`)).toEqual([
      '/commands/0/path has a `$`, but no earlier command has the name after it',
      '/commands/1/body/name is required',
      '/commands/2/body/template begins with `$`, but no earlier command has the name after it',
      '/commands/2/body/nmae is not known here; did you mean `name`?',
      '/commands/3/body/resources/b begins with `$`, but no earlier command has the name after it',
      '/commands/4/path is not a write that a batch accepts',
      '/commands/6/as an earlier command has the same name',
    ]);
    expect(refused.text).not.toMatch(/nope|later|gone/);
    const empty = await batch([]);
    expect(empty.json['errors']).toEqual([
      { pointer: '/commands', code: 'request.schema', message: 'must have at least 1 element' },
    ]);
  });

  it('takes each of its commands without a body where that is taken alone, and nowhere else', async () => {
    const made = await batch([post('resources', { namespace: '/labs', name: 'bare' })]);
    const [first] = made.json['results'] as readonly Result[];
    const path = `/api/v1/resources/${String(first?.body['id'])}`;
    const before = await stored();
    for (const command of [
      { method: 'PATCH', path, ifMatch: '"1"' },
      { method: 'PUT', path: '/api/v1/namespaces/labs/bare' },
      { method: 'POST', path: '/api/v1/resources' },
    ]) {
      const refused = await batch([command]);
      expect([command.method, codeOf(refused)]).toEqual([command.method, '400 request.schema']);
      expect(refused.json['errors']).toMatchObject([{ pointer: '/commands/0/body' }]);
    }
    expect(await stored()).toEqual(before);
    const done = await batch([
      { method: 'POST', path: `${path}/archive`, ifMatch: '"1"' },
      { method: 'DELETE', path, ifMatch: '"2"' },
    ]);
    expect((done.json['results'] as readonly Result[]).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('I15: holds 1 to 100 commands, each of them allowed', async () => {
    const one = post('resources', { namespace: '/labs/optics', name: 'many' });
    expect(codeOf(await batch([]))).toBe('400 request.schema');
    expect(codeOf(await batch(Array.from({ length: 101 }, () => one)))).toBe('400 request.schema');
    expect(codeOf(await batch(Array.from({ length: 1_000 }, () => one)))).toBe('400 request.schema');
    const all = await batch(Array.from({ length: 100 }, () => one));
    expect((all.json['results'] as readonly Result[]).length).toBe(100);
    const before = await stored();
    const mixed = await batch([one, post('resources', { namespace: '/labs', name: 'x' })], {}, 'lab');
    expect([codeOf(mixed), mixed.json['command'], mixed.json['step']]).toEqual([
      '403 authz.denied',
      1,
      'no_matching_grant',
    ]);
    expect(await stored()).toEqual(before);
    expect(codeOf(await batch([one], { key: null }))).toBe('400 request.schema');
  });

  it('is done once under its key, and answered again to actors who may still do all of it', async () => {
    const commands = [
      post('resources', { namespace: '/labs/optics', name: 'once' }, 'r'),
      { method: 'PATCH', path: '/api/v1/resources/$r', body: { description: 'd' }, ifMatch: '"1"' },
    ];
    const first = await batch(commands, { key: 'batch' }, 'lab');
    const again = await batch(commands, { key: 'batch' }, 'lab');
    expect([again.status, again.text, again.header('idempotency-replayed')]).toEqual([200, first.text, 'true']);
    expect(codeOf(await batch(commands.slice(0, 1), { key: 'batch' }, 'lab'))).toBe('422 idempotency.key_reused');
    const policy = { ada: { '/': '*:*' }, lab: { '/labs/optics': 'resource:write' }, wes: { '/': '*:write' }, una: {} };
    doors.decree(policy);
    const untold = (await batch(commands, { key: 'batch' }, 'lab')).json['results'] as readonly Result[];
    const id = (first.json['results'] as readonly Result[])[0]?.body['id'];
    expect(untold.map((result) => result.body)).toEqual([
      { id, revision: 1 },
      { id, revision: 2 },
    ]);
    doors.decree({ ...policy, lab: { '/labs/optics': '*:read' } });
    expect(codeOf(await batch(commands, { key: 'batch' }, 'lab'))).toBe('403 authz.denied');
    doors.decree({ ...policy, lab: { '/labs/optics': '*:*' } });
  });

  it('shows a writer who may not read no more than each of its commands would', async () => {
    const done = await batch(
      [put('/labs/optics'), put('/labs/wes'), post('resources', { namespace: '/labs/wes', name: 'r' })],
      {},
      'wes',
    );
    expect(done.json['results']).toEqual([
      { status: 200, body: { namespace: '/labs/optics' } },
      { status: 200, body: { namespace: '/labs/wes' } },
      { status: 201, etag: '"1"', body: { id: expect.any(String) as unknown, revision: 1 } },
    ]);
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}
