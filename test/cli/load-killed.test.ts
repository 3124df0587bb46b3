// A `load` that is killed in the middle, as often as it takes: what was stored stays, each next run goes on from there, and the end
// is what one run would have made of it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase, type Database, type DatabaseConfig } from '../../server/db/database.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { type MadeStore, testStores } from '../support/stores.js';
import { times } from '../support/test-runs.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

function lineOf(index: number): string {
  return JSON.stringify({
    family: 'resource',
    namespace: `/labs/l${String(index % 97)}`,
    name: `r${String(index)}`,
    properties: { rank: index },
    createdAt: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    ...(index % 20 === 0 ? { archivedAt: '2026-11-01T00:00:00.000Z' } : {}),
  });
}

async function recordsIn(db: Database): Promise<number> {
  const { rows } = await db.knex.raw<{ rows: readonly { count: number }[] }>(
    'SELECT count(*)::int AS count FROM records WHERE family <> 0',
  );
  return rows[0]?.count ?? 0;
}

function isOwner(dataDir: string, pid: number | undefined): boolean {
  const folder = join(dataDir, 'store.lock');
  return (
    existsSync(folder) &&
    readdirSync(folder).some((name) => readFileSync(join(folder, name), 'utf8').includes(`"pid":${String(pid)},`))
  );
}

/** More than a batch of the store each time; a run that is killed stores some, and has more to wait for. */
const LINES = {
  embedded: times({ usual: 1_300, deep: 3_200 }),
  postgres: times({ usual: 24_000, deep: 45_000 }),
} as const;
/** How much of it the runs that are killed are given. */
const GIVEN = [0.5, 0.9].slice(-times({ usual: 1, deep: 2 }));

interface Content {
  readonly records: number;
  readonly digest: string | null;
  readonly counted: number;
}

/** All that a line decides on, and what the counters say. */
async function contentOf(config: DatabaseConfig): Promise<Content> {
  const db = await openDatabase({ ...config, statementTimeout: 0 });
  try {
    const { rows } = await db.knex.raw<{ rows: readonly Content[] }>(`
      SELECT (SELECT count(*)::int FROM records WHERE family <> 0) AS records,
        (SELECT md5(string_agg(md5(concat_ws('|', id, family, path, name, properties, archived_at)), '' ORDER BY id))
          FROM records WHERE family <> 0) AS digest,
        (SELECT COALESCE(sum(active + archived), 0)::int FROM record_counts WHERE family <> 0) AS counted`);
    const [content] = rows;
    if (content === undefined) throw new Error('no content');
    return content;
  } finally {
    await db.close();
  }
}

for (const store of testStores()) {
  describe(`a load that is killed, on the ${store.name} store`, () => {
    const lines = LINES[store.name];
    const texts = Array.from({ length: lines }, (_, index) => `${lineOf(index)}\n`);
    let dataset = '';
    const made: MadeStore[] = [];
    beforeAll(async () => {
      dataset = join(await makeFolder({ 'all.jsonl': texts.join('') }), 'all.jsonl');
      for (let index = 0; index < 2; index += 1) made.push(await store.make());
    });
    afterAll(async () => {
      for (const one of made) await one.remove();
    });

    const argumentsFor = (config: DatabaseConfig, from: string): readonly string[] => [
      ...['load', from, '--format', 'json'],
      ...(config.kind === 'external' ? ['--database-url', config.url] : ['--data-dir', config.dataDir]),
    ];

    /** Kills a run that has stored more than the runs before it and waits for the rest; tells how many are in. */
    async function killHalfway(config: DatabaseConfig, given: number, before: number): Promise<number> {
      const child = spawn(process.execPath, [CLI, ...argumentsFor(config, '-')], {
        stdio: ['pipe', 'ignore', 'inherit'],
        // Variables of the suite are no settings.
        env: { PATH: process.env['PATH'] },
      });
      const gone = new Promise((resolve) => child.once('close', resolve));
      child.stdin.on('error', () => undefined);
      child.stdin.write(texts.slice(0, given).join(''));
      // The child is to own the embedded store: then its death is the engine's, too.
      if (config.kind === 'embedded') await until(() => Promise.resolve(isOwner(config.dataDir, child.pid)));
      const db = await openDatabase({ ...config, statementTimeout: 0 });
      await until(async () => (await recordsIn(db)) > before);
      child.kill('SIGKILL');
      await gone;
      await db.close();
      return (await contentOf(config)).records;
    }

    it('ends as one run does', async () => {
      const [whole, killed] = made.map(({ config }) => config);
      if (whole === undefined || killed === undefined) throw new Error('no stores');
      expect(await runCli(argumentsFor(whole, dataset))).toMatchObject({ status: 0 });
      const expected = await contentOf(whole);
      expect(expected).toMatchObject({ records: lines, counted: lines });

      let stored = 0;
      for (const part of GIVEN) {
        const records = await killHalfway(killed, Math.floor(lines * part), stored);
        expect(records).toBeGreaterThan(stored);
        expect(records).toBeLessThan(lines);
        expect(await contentOf(killed)).toMatchObject({ counted: records });
        stored = records;
      }

      const last = await spawnCli(argumentsFor(killed, dataset));
      expect(last).toMatchObject({ status: 0 });
      expect(JSON.parse(last.stdout)).toMatchObject({ loaded: lines - stored, unchanged: stored });
      expect(await contentOf(killed)).toEqual(expected);
    });
  });
}
