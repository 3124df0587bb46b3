// A write of a record that is not there, or not any more, is refused in the same words whatever the actor may do. Only the
// operator's log says why.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { afterRead } from '../../support/after-read.js';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';

const ABSENT = '01900000-0000-7000-8000-00000000dead';
/** Every way to write a record, with a word for it and the body. */
const WAYS: Readonly<Record<string, readonly [method: string, path: string, body?: object]>> = {
  changed: ['PATCH', '', { description: 'd' }],
  archived: ['POST', '/archive', {}],
  restored: ['POST', '/restore', {}],
  copied: ['POST', '/copies', { destination: '/labs' }],
  moved: ['POST', '/move', { namespace: '/labs' }],
  deleted: ['DELETE', ''],
  versioned: ['POST', '/versions', { version: '2' }],
};

describeOnStores('a write of what is not there', (store) => {
  let doors: CommandDoors;
  let there = '';
  /** What the answer says, and the reason in the log. */
  const refusal = async (actor: string, way: string, id: string, revision = 1): Promise<string> => {
    const [method = '', path = '', body] = WAYS[way] ?? [];
    const isNew = way === 'copied' || way === 'versioned';
    const { status, json } = await doors.send(actor, `${method} ${pathOf(way, id)}${path}`, {
      ...(body === undefined ? {} : { body }),
      ...(isNew ? {} : { ifMatch: revision }),
    });
    const { reason } = doors.log.at(-1) as { readonly reason?: unknown };
    return `${String(status)} ${String(json['code'])}: ${String(reason)}`;
  };
  const refusals = async (actor: string, id: string): Promise<readonly string[]> => {
    const said: string[] = [];
    for (const way of Object.keys(WAYS)) said.push(await refusal(actor, way, id));
    return said;
  };
  const make = async (way: string): Promise<string> => {
    const template = { namespace: '/labs', name: 't', version: '1', schema: {} };
    const body = way === 'versioned' ? template : { namespace: '/labs', name: 'r' };
    const { json } = await doors.send('ada', `POST ${pathOf(way, '')}`.replace(/\/$/, ''), { body });
    return String(json['id']);
  };
  const always = (text: string): readonly string[] => Array.from({ length: 7 }, () => text);

  beforeAll(async () => {
    const actors = {
      ada: { '/': '*:*' },
      ray: { '/': '*:read' },
      wes: { '/': '*:write' },
      una: {},
      lab: { '/labs': '*:*' },
    };
    doors = await openCommandDoors({ db: store.db, actors });
    for (const path of ['/labs', '/other']) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    there = await make('changed');
  });

  afterAll(async () => {
    await doors.close();
  });

  it.each(['ada', 'ray', 'wes', 'una'])('is not found, whatever %s may do', async (actor) => {
    expect(await refusals(actor, ABSENT)).toEqual(always('404 record.not_found: no record of the family'));
    expect(await refusals(actor, 'no-id')).toEqual(always('404 record.not_found: no id'));
  });

  it('is refused alike where the record is there, but not for the actor', async () => {
    const notThere = '404 record.not_found: no record of the family';
    expect(await refusals('una', there)).toEqual([
      ...Array.from({ length: 6 }, () => '404 record.not_found: no_matching_grant'),
      notThere,
    ]);
  });

  it.each([
    ['changed', 'SELECT x.id, x.path, x.revision', 1],
    ['archived', 'SELECT x.id, x.path, x.revision', 1],
    ['restored', 'SELECT x.id, x.path, x.revision', 2],
    ['copied', 'SELECT (SELECT x.path', 1],
    ['moved', 'SELECT (SELECT x.path', 1],
    ['deleted', 'SELECT l.path', 2],
    ['versioned', 'SELECT (SELECT x.path', 1],
  ])('is not %s where it was moved to meanwhile, unless it may be there', async (way, found, revision) => {
    const id = await make(way);
    const at = pathOf(way, id);
    const send = async (request: string, ifMatch: number, body: object = {}): Promise<void> => {
      expect((await doors.send('ada', request, { body, ifMatch })).status).toBe(200);
    };
    const isArchived = revision === 2;
    if (isArchived) await send(`POST ${at}/archive`, 1);
    const end = afterRead(store.db, found, async () => {
      if (isArchived) await send(`POST ${at}/restore`, 2);
      await send(`POST ${at}/move`, isArchived ? 3 : 1, { namespace: '/other' });
      if (isArchived) await send(`POST ${at}/archive`, 4);
    });
    // As if the actor knew the revision that it has by then.
    expect(await refusal('lab', way, id, isArchived ? 5 : 2)).toBe('404 record.not_found: no_matching_grant');
    end();
    const { json, header } = await doors.send('ada', `GET ${at}`);
    expect([json['namespace'], header('etag')]).toEqual(['/other', isArchived ? '"5"' : '"2"']);
  });

  it.each([
    ['changed', 'SELECT x.id, x.path, x.revision', 'gone before it was locked'],
    ['archived', 'SELECT x.id, x.path, x.revision', 'gone before it was locked'],
    ['copied', 'SELECT (SELECT x.path', 'gone before it was copied'],
    ['moved', 'SELECT (SELECT x.path', 'no record of the family'],
    ['deleted', 'SELECT l.path', 'deleted before'],
    ['versioned', 'SELECT (SELECT x.path', 'gone before it was read'],
  ])('is not %s if it was deleted meanwhile', async (way, found, reason) => {
    const id = await make(way);
    const at = pathOf(way, id);
    const end = afterRead(store.db, found, async () => {
      await doors.send('ada', `POST ${at}/archive`, { body: {}, ifMatch: 1 });
      expect((await doors.send('ada', `DELETE ${at}`, { ifMatch: 2 })).status).toBe(200);
    });
    expect(await refusal('ada', way, id)).toBe(`404 record.not_found: ${reason}`);
    end();
  });

  it('was deleted before, as another revision', async () => {
    const id = await make('deleted');
    await doors.send('ada', `POST /api/v1/resources/${id}/archive`, { body: {}, ifMatch: 1 });
    expect(await refusal('ada', 'deleted', id, 2)).toBe('200 undefined: undefined');
    expect(await refusal('ada', 'deleted', id, 1)).toBe('404 record.not_found: deleted before');
    expect(await refusal('ada', 'deleted', id, 2)).toBe('200 undefined: undefined');
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>(
      `SELECT event::json ->> 'operation' AS operation, event::json -> 'access' ->> 'scope' AS scope FROM audit_outbox
        WHERE event LIKE ? AND event LIKE '%delete%' ORDER BY position`,
      [`%${id}%`],
    );
    const event = { operation: 'resource.delete', scope: 'resource:write' };
    expect(rows).toEqual([event, event]);
  });
});

function pathOf(way: string, id: string): string {
  return `/api/v1/${way === 'versioned' ? 'resource-templates' : 'resources'}/${id}`;
}
