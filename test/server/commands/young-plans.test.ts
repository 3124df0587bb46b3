// What the statements of commands read, as they are planned while the store is empty. A plan stays for as long as its
// connection does, so it may be older than nearly all records.
import { expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import type { AuditEvent } from '../../../server/audit/event.js';
import { localActor } from '../../../server/auth/request-actor.js';
import { atOnceStatement } from '../../../server/commands/at-once.js';
import { readGround } from '../../../server/commands/stored.js';
import { type Fragment, sql } from '../../../server/db/sql.js';
import type { Rows } from '../../../server/db/writing.js';
import { contentOf } from '../../../server/records/content.js';
import { pathOf } from '../../engine/oracle/worlds.js';
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
