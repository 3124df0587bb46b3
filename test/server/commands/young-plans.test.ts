// What the statements of commands read, as they are planned while the store is empty. A plan stays for as long as its
// connection does, so it may be older than nearly all records.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import type { AuditEvent } from '../../../server/audit/event.js';
import { localActor } from '../../../server/auth/request-actor.js';
import { atOnceStatement } from '../../../server/commands/at-once.js';
import { readGround } from '../../../server/commands/stored.js';
import type { Database } from '../../../server/db/database.js';
import { type Fragment, sql } from '../../../server/db/sql.js';
import type { Rows } from '../../../server/db/writing.js';
import { contentOf } from '../../../server/records/content.js';
import { pathOf } from '../../engine/oracle/worlds.js';
import { openCommandDoors } from '../../support/command-doors.js';
import { planOf, readsOf } from '../../support/query-plans.js';
import { describeOnStores } from '../../support/stores.js';

describeOnStores('statements planned while the store is empty', (store) => {
  it('read only what they name', async () => {
    const [namespace, id] = [pathOf('/a/b'), '00000000-0000-4000-8000-000000000000'];
    const content = contentOf('resource', { name: 'x', template: id });
    const place = { id, family: 'resource', namespace } as const;
    const dependsOn = [{ id, namespace, revision: 1 }];
    const session = { at: instantOf(0), actor: localActor('f') };
    const keeping = { key: { owner: 'o', fingerprint: 'f' }, keepFor: 1 };
    const around = { generation: 1, keeping, event: {} as AuditEvent };
    const [created, changed] = (
      [
        { kind: 'create', record: { ...place, content, copiedFrom: null }, dependsOn },
        { kind: 'change', record: { ...place, revision: 1, archived: false, columns: [] }, dependsOn },
      ] as const
    ).map((what) => atOnceStatement(session, what, around));
    const ground: Fragment[] = [];
    const rows: Rows = (statement) => {
      ground.push(statement);
      return Promise.resolve([]);
    };
    await readGround({ rows }, { namespaces: [namespace], ids: [id] });
    const readsBy = async (statement: Fragment | undefined): Promise<readonly string[]> => {
      const reads = readsOf(await planOf(store.db, statement ?? sql``));
      const indexed = reads.filter(({ node }) => node['Index Name'] !== undefined);
      const found = indexed.map(({ node }) => `${String(node['Index Name'])} ${String(node['Index Cond'])}`);
      return found.map((text) => text.replaceAll(/\w+\.|_\d+|\(|\)|::\w+/g, '')).sort();
    };
    const byId: unknown = expect.stringMatching(/^records_pkey id = (?:id|ANY \$\d+|\$\d+|'[-0-9a-f]+')$/);
    expect(await readsBy(created)).toEqual(['records_namespace_path path = path', byId]);
    expect(await readsBy(ground[0])).toEqual(['records_namespace_path path = path', byId]);
    expect(await readsBy(changed)).toEqual([byId, byId, byId]);
  });
});

/** A store like this one, which notes each statement by its text. */
function noting(db: Database, seen: Map<string, Fragment>): Database {
  const note = (statement: Fragment): Fragment => {
    seen.set(statement.text, statement);
    return statement;
  };
  return {
    ...db,
    read: (statement, options) => db.read(note(statement), options),
    write: (work, options) =>
      db.write(
        (writing) =>
          work({
            rows: (statement) => writing.rows(note(statement)),
            run: (statement) => {
              writing.run(note(statement));
            },
          }),
        options,
      ),
    writeOne: (make, options) =>
      db.writeOne(() => {
        const statement = make();
        return statement === null ? null : note(statement);
      }, options),
  };
}

/** By an id, by a path or what is below one, or by a unique name. */
const LOOKED_UP = /^records_pkey: \(id = |^records_(?:path_\w+|namespace_path|unique_name): \(.*\bpath (?:=|>=) /;

describeOnStores('every statement of commands and of reads by id', (store) => {
  it('looks each record up by itself, planned on an empty, an unanalyzed and an analyzed store', async () => {
    const seen = new Map<string, Fragment>();
    const doors = await openCommandDoors({ db: noting(store.db, seen), actors: { ada: { '/': '*:*' } } });
    const done = async (request: string, body?: unknown, ifMatch?: number): Promise<string> => {
      const { status, json, text } = await doors.send('ada', request, {
        body,
        ...(ifMatch === undefined ? {} : { ifMatch }),
      });
      if (status >= 300) throw new Error(`${request}: ${text}`);
      return String(json['id']);
    };
    for (const path of ['/a', '/a/b']) await done(`PUT /api/v1/namespaces${path}`, {});
    await done('PATCH /api/v1/namespaces/a/b', { description: 'x' }, 1);
    await done('GET /api/v1/namespaces/a/b');
    const place = { namespace: '/a/b' } as const;
    const asks = { schema: {}, version: '1', uniqueName: true };
    const template = await done('POST /api/v1/resource-templates', { namespace: '/a', name: 'asks', ...asks });
    const slots = [{ name: 's', template }];
    const process = await done('POST /api/v1/process-templates', { namespace: '/a', name: 'p', ...asks, slots });
    await done(`POST /api/v1/resource-templates/${template}/versions`, { version: '2' });
    const byName = 'PUT /api/v1/resources/by-name?namespace=/a/b&name=lens';
    const lens = await done(byName, { template });
    await done(byName, { template, properties: { n: 1 } });
    const other = await done('POST /api/v1/resources', { ...place, name: 'other', template });
    const run = await done('POST /api/v1/process-runs', {
      ...place,
      name: 'r',
      template: process,
      parameters: {},
      resources: { s: lens },
    });
    await done(`GET /api/v1/resources/${lens}`);
    await done(`POST /api/v1/resources/${lens}/copies`, { destination: '/a/b', name: 'copy' });
    await done(`PATCH /api/v1/resources/${other}`, { name: 'another' }, 1);
    await done(`POST /api/v1/resources/${other}/move`, { namespace: '/a' }, 2);
    const commands = [
      { method: 'PATCH', path: `/api/v1/process-runs/${run}`, ifMatch: '"1"', body: { state: 'running' } },
      { method: 'PATCH', path: `/api/v1/resources/${other}`, ifMatch: '"3"', body: { name: 'again' } },
      { method: 'PATCH', path: '/api/v1/namespaces/a/b', ifMatch: '"2"', body: { description: 'y' } },
    ];
    await done('POST /api/v1/batch', { commands });
    await done(`POST /api/v1/process-runs/${run}/archive`, {}, 2);
    await done(`POST /api/v1/process-runs/${run}/restore`, {}, 3);
    await done(`POST /api/v1/process-runs/${run}/archive`, {}, 4);
    await done(`DELETE /api/v1/process-runs/${run}`, undefined, 5);

    const walks = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for (const [text, statement] of seen) {
        const reads = readsOf(await planOf(store.db, statement)).map(({ node }) => node);
        const told = reads.map((node) => `${node['Index Name'] ?? 'table'}: ${node['Index Cond'] ?? ''}`);
        const walked = told.filter((one, at) => reads[at]?.['Node Type'] !== 'ModifyTable' && !LOOKED_UP.test(one));
        if (walked.length > 0) found.push(`${walked.join('; ')} of ${text}`);
      }
      return found;
    };
    expect(await walks()).toEqual([]);
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        SELECT gen_random_uuid(), 2 + i % 3, '/a/b/', 'lens', '{}', 1, now(), now(), 'test' FROM generate_series(1, 5000) AS i`,
    );
    expect(await walks()).toEqual([]);
    await store.db.knex.raw('ANALYZE records');
    expect(await walks()).toEqual([]);
    await doors.close();
  });
});
