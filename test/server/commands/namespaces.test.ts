// Namespaces by their path: created with PUT below existing ones, read, changed, archived and restored; and what each
// of these tells an actor who may not do it, or may not read.
import { beforeAll, expect, it } from '@jest/globals';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('namespaces', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    wes: { '/': 'namespace:write' },
    ray: { '/': '*:read' },
    una: {},
    lab: { '/labs': 'namespace:write namespace:read' },
  };
  const { send } = useCommandDoors(store, actors);
  const put = (path: string, body: object = {}, actor = 'ada'): Promise<Answered> =>
    send(`PUT /api/v1/namespaces${path}`, { body }, actor);

  beforeAll(async () => {
    await put('/labs');
  });

  it('are made once, and are then what they were made', async () => {
    const made = await put('/labs/optics', { description: 'Optics', properties: { floor: 2 } });
    expect([made.status, made.header('etag')]).toEqual([201, '"1"']);
    expect(made.json).toMatchObject({
      family: 'namespace',
      namespace: '/labs/optics',
      name: '/labs/optics',
      description: 'Optics',
      properties: { floor: 2 },
      revision: 1,
      createdBy: 'ada',
      archivedAt: null,
    });
    const again = await put('/labs/optics', { properties: { floor: 2.0 }, description: 'Optics' });
    expect([again.status, again.text]).toEqual([200, made.text]);
    expect(codeOf(await put('/labs/optics', { description: 'Other' }))).toBe('409 record.conflict');
    expect(codeOf(await put('/labs/optics'))).toBe('409 record.conflict');
    expect((await send('GET /api/v1/namespaces/labs/optics')).text).toBe(made.text);
  });

  it('need a parent that is there, and the right to write there', async () => {
    expect(codeOf(await put('/none/below'))).toBe('404 namespace.not_found');
    expect(codeOf(await put('/none/below', {}, 'wes'))).toBe('404 namespace.not_found');
    expect(stepOf(await put('/labs/x', {}, 'ray'))).toBe('no_matching_grant');
    expect(stepOf(await put('/none/x', {}, 'ray'))).toBe('no_matching_grant');
    // The right is at the parent, whatever is held below.
    expect(stepOf(await put('/labs', {}, 'lab'))).toBe('no_matching_grant');
    expect((await put('/labs/of-lab', {}, 'lab')).status).toBe(201);
  });

  it('have a root that cannot be made, archived or restored, but described', async () => {
    for (const actor of ['ada', 'una']) expect(stepOf(await put('/', {}, actor))).toBe('canonicalize');
    const root = await send('GET /api/v1/namespaces/');
    const changed = await send('PATCH /api/v1/namespaces/', {
      body: { description: 'All' },
      ifMatch: root.header('etag') ?? '',
    });
    expect(changed.json).toMatchObject({ namespace: '/', description: 'All' });
    for (const verb of ['archive', 'restore']) {
      expect(stepOf(await send(`POST /api/v1/namespaces//${verb}`, { ifMatch: 1 }))).toBe('canonicalize');
    }
    expect(codeOf(await send('POST /api/v1/namespaces/', { ifMatch: 1, key: null }))).toBe('405 request.method');
    expect(codeOf(await send('POST /api/v1/namespaces/labs', { ifMatch: 1, key: null }))).toBe('405 request.method');
  });

  it.each(['/Labs', '/labs//x', '/labs/..', '/l%61bs', `/${'a'.repeat(64)}`])('are not made of %s', async (path) => {
    for (const actor of ['ada', 'una']) {
      expect(codeOf(await put(path, {}, actor))).toBe('400 namespace.invalid');
      const patched = await send(`PATCH /api/v1/namespaces${path}`, { body: {}, ifMatch: 1 }, actor);
      expect(codeOf(patched)).toBe('400 namespace.invalid');
    }
  });

  it('say the same to a writer who may not read, whether they were there or not', async () => {
    await put('/labs/there', { description: 'secret' });
    const answers = [
      await put('/labs/there', {}, 'wes'),
      await put('/labs/there', { description: 'guess' }, 'wes'),
      await put('/labs/there', { description: 'secret' }, 'wes'),
    ];
    for (const { status, text, header } of answers) {
      expect([status, text, header('etag')]).toEqual([200, '{"namespace":"/labs/there"}', undefined]);
    }
    const made = await put('/labs/new', { description: 'mine' }, 'wes');
    expect([made.status, made.text, made.header('etag')]).toEqual([200, '{"namespace":"/labs/new"}', undefined]);
    expect((await send('GET /api/v1/namespaces/labs/there')).json['description']).toBe('secret');
    expect((await send('GET /api/v1/namespaces/labs/new')).json['description']).toBe('mine');
    expect(stepOf(await send('GET /api/v1/namespaces/labs/new', {}, 'wes'))).toBe('no_matching_grant');
  });

  it('are changed by requests that name their revision', async () => {
    await put('/labs/changed', { description: 'a', properties: { keep: 1, drop: 2, deep: { x: 1, y: 2 } } });
    const path = 'PATCH /api/v1/namespaces/labs/changed';
    const body = { description: null, properties: { drop: null, deep: { y: 3 }, list: [null] } };
    expect(codeOf(await send(path, { body }))).toBe('428 request.precondition_required');
    expect(codeOf(await send(path, { body, ifMatch: 2 }))).toBe('412 record.precondition');
    for (const tag of ['*', 'W/"1"', '"1", "2"', '1', '']) {
      expect(codeOf(await send(path, { body, ifMatch: tag }))).toBe('400 request.schema');
    }
    const changed = await send(path, { body, ifMatch: 1, headers: { 'content-type': 'application/merge-patch+json' } });
    expect([changed.status, changed.header('etag')]).toEqual([200, '"2"']);
    expect(changed.json).toMatchObject({
      description: null,
      properties: { keep: 1, deep: { x: 1, y: 3 }, list: [null] },
      revision: 2,
    });
    expect(codeOf(await send(path, { body, ifMatch: 1 }))).toBe('412 record.precondition');
    const emptied = await send(path, { body: { properties: null }, ifMatch: 2 });
    expect(emptied.json).toMatchObject({ properties: {}, revision: 3 });
    const untold = await send(path, { body: { properties: { only: 1 } }, ifMatch: 3 }, 'wes');
    expect(untold.text).toMatch(/^\{"id":"[0-9a-f-]{36}","revision":4\}$/);
    expect(untold.header('etag')).toBe('"4"');
    for (const part of ['name', 'namespace', 'id', 'revision', 'createdAt', 'owner', 'archivedAt', '_version']) {
      expect(codeOf(await send(path, { body: { [part]: 'x' }, ifMatch: 4 }))).toBe('400 request.schema');
    }
  });

  it('are decided before a missing one is reported', async () => {
    for (const path of ['/labs', '/labs/none']) {
      expect(stepOf(await send(`PATCH /api/v1/namespaces${path}`, { body: {}, ifMatch: 1 }, 'una'))).toBe(
        'no_matching_grant',
      );
      expect(stepOf(await send(`POST /api/v1/namespaces${path}/archive`, { ifMatch: 1 }, 'ray'))).toBe(
        'no_matching_grant',
      );
    }
    for (const actor of ['ada', 'wes']) {
      const patched = await send('PATCH /api/v1/namespaces/labs/none', { body: {}, ifMatch: 1 }, actor);
      expect(codeOf(patched)).toBe('404 namespace.not_found');
      const archived = await send('POST /api/v1/namespaces/labs/none/archive', { ifMatch: 1 }, actor);
      expect(codeOf(archived)).toBe('404 namespace.not_found');
    }
  });

  it('take no new records at or below an archived one, and keep what is there', async () => {
    await put('/labs/old');
    await put('/labs/old/deep');
    const resource = { namespace: '/labs/old/deep', name: 'r' };
    const made = await send('POST /api/v1/resources', { body: resource });
    const archived = await send('POST /api/v1/namespaces/labs/old/archive', { ifMatch: 1, body: {} });
    expect([archived.status, archived.header('etag')]).toEqual([200, '"2"']);
    expect(archived.json['archivedAt']).toBe(archived.json['updatedAt']);
    for (const namespace of ['/labs/old', '/labs/old/deep']) {
      const refused = await send('POST /api/v1/resources', { body: { ...resource, namespace } });
      expect(codeOf(refused)).toBe('409 record.archived');
    }
    expect(codeOf(await put('/labs/old/deep/new'))).toBe('409 record.archived');
    // Whether it is there or not.
    expect(codeOf(await put('/labs/old/deep', {}, 'wes'))).toBe('409 record.archived');
    expect(codeOf(await put('/labs/old/deep/new', {}, 'wes'))).toBe('409 record.archived');
    expect((await put('/labs/old/deep')).status).toBe(200);
    const id = String(made.json['id']);
    const renamed = await send(`PATCH /api/v1/resources/${id}`, { body: { name: 's' }, ifMatch: 1 });
    expect(renamed.json['name']).toBe('s');
    const copied = await send(`POST /api/v1/resources/${id}/copies`, { body: { destination: '/labs/old' } });
    expect(codeOf(copied)).toBe('409 record.archived');
    expect(codeOf(await send('PATCH /api/v1/namespaces/labs/old', { body: {}, ifMatch: 2 }))).toBe(
      '409 record.archived',
    );
    expect(codeOf(await send('PATCH /api/v1/namespaces/labs/old', { body: {}, ifMatch: 1 }))).toBe(
      '409 record.archived',
    );
    expect(codeOf(await send('POST /api/v1/namespaces/labs/old/archive', { ifMatch: 2 }))).toBe('409 record.archived');
    expect(codeOf(await send('POST /api/v1/namespaces/labs/old/restore', { ifMatch: 1 }))).toBe(
      '412 record.precondition',
    );
    const restored = await send('POST /api/v1/namespaces/labs/old/restore', { ifMatch: 2 });
    expect(restored.json).toMatchObject({ archivedAt: null, revision: 3 });
    const again = await send('POST /api/v1/namespaces/labs/old/restore', { ifMatch: 3 });
    expect([again.status, again.text]).toEqual([200, restored.text]);
    expect((await send('POST /api/v1/resources', { body: resource })).status).toBe(201);
  });

  it('may be called like a verb', async () => {
    expect((await put('/labs/archive')).status).toBe(201);
    expect((await send('GET /api/v1/namespaces/labs/archive')).json['namespace']).toBe('/labs/archive');
    const archived = await send('POST /api/v1/namespaces/labs/archive/archive', { ifMatch: 1 });
    expect(archived.json).toMatchObject({ namespace: '/labs/archive', revision: 2 });
  });

  it('of a dataset are those of anybody, and what is described over HTTP is described', async () => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, implied)
       VALUES (gen_random_uuid(), 0, '/implied/', '/implied', '{}', 1, now(), now(), 'load', ?)`,
      [true],
    );
    expect((await put('/implied')).status).toBe(200);
    expect(codeOf(await put('/implied', { description: 'x' }))).toBe('409 record.conflict');
    const changed = await send('PATCH /api/v1/namespaces/implied', { body: { description: 'x' }, ifMatch: 1 });
    expect(changed.json).toMatchObject({ description: 'x', revision: 2 });
    const { rows } = await store.db.knex.raw<{ rows: readonly { implied: boolean }[] }>(
      'SELECT implied FROM records WHERE path = ?',
      ['/implied/'],
    );
    expect(rows).toEqual([{ implied: false }]);
  });
});

function codeOf({ status, json }: Answered): string {
  return `${String(status)} ${String(json['code'])}`;
}

function stepOf({ status, json }: Answered): unknown {
  return status === 403 && json['code'] === 'authz.denied' ? json['step'] : codeOf({ status, json } as Answered);
}
