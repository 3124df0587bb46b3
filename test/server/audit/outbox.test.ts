// Changes of the store without a gateway leave their events in the outbox, in the same transaction.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { main } from '../../../server/cli/main.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { makeIo } from '../../support/cli-io.js';
import { newDataDir } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

let dataDir: string;
let held: Database;

beforeAll(async () => {
  dataDir = await newDataDir('migrated');
  held = await openDatabase({ kind: 'embedded', dataDir });
});

afterAll(async () => {
  await held.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function run(...args: readonly string[]): Promise<string> {
  const made = makeIo({ env: { BAILIWICK_DATA_DIR: dataDir } });
  await main(args, made.io);
  return made.stdout();
}

async function takeEvents(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { rows } = await held.knex.raw<{ rows: { event: string }[] }>(
    'WITH gone AS (DELETE FROM audit_outbox RETURNING *) SELECT event FROM gone ORDER BY position',
  );
  return rows.map(({ event }) => JSON.parse(event) as Readonly<Record<string, unknown>>);
}

describe('the outbox', () => {
  it('has an event for each key that is made or revoked, and none for a key that does not exist', async () => {
    const text = await run('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada');
    const id = text.slice(4, 20);
    await run('keys', 'revoke', id);
    await run('keys', 'revoke', '0'.repeat(16));
    const events = await takeEvents();
    expect(events).toMatchObject([
      { kind: 'admin', operation: 'key.create', key: id, outcome: 'allowed', actor: { kind: 'operator' } },
      { kind: 'admin', operation: 'key.revoke', key: id, outcome: 'allowed', snapshot: null, status: null },
    ]);
    expect(JSON.stringify(events)).not.toContain(text.trim().slice(21));
  });

  it('has an event of each batch that is loaded, and none of a dry run or of one that changes nothing', async () => {
    const line = { family: 'resource', namespace: '/labs', name: 'lens' };
    const file = `${await makeFolder({ 'lens.jsonl': `${JSON.stringify(line)}\n` })}/lens.jsonl`;
    await run('load', '--dry-run', file);
    expect(await takeEvents()).toEqual([]);
    await run('load', file);
    // The record and its namespace.
    expect(await takeEvents()).toMatchObject([{ kind: 'admin', operation: 'dataset.load', items: 2 }]);
    await run('load', file);
    expect(await takeEvents()).toEqual([]);
  });

  it('has an event of a load that only says what was deleted, once', async () => {
    const id = '0197bc63-6539-7ccb-b217-d1b0f3fab080';
    const line = { family: 'resource', namespace: '/labs', id, deletedAt: '2026-01-02T03:04:05.678Z' };
    const file = `${await makeFolder({ 'gone.jsonl': `${JSON.stringify(line)}\n` })}/gone.jsonl`;
    await run('load', file);
    expect(await takeEvents()).toMatchObject([{ operation: 'dataset.load', items: 1 }]);
    await run('load', file);
    expect(await takeEvents()).toEqual([]);
  });
});
