// `migrate --partitions` as an operator runs it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { testStores } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const postgres = testStores().find(({ name }) => name === 'postgres');
const itOnPostgres = postgres === undefined ? it.skip : it;

/** Nobody listens there: what is wrong with the list is reported before anything is asked. */
const NOWHERE = { DATABASE_URL: 'postgres://bailiwick@127.0.0.1:1/bailiwick' };
const MANY = Array.from({ length: 33 }, (_, n) => `/n${String(n)}`).join(',');

describe('--partitions', () => {
  it.each([
    ['/a/b', '`/a/b` in `--partitions` is not a top-level namespace'],
    ['/', '`/` in `--partitions` is not a top-level namespace'],
    ['', '`` in `--partitions` is no namespace'],
    ['/a,,/b', '`` in `--partitions` is no namespace'],
    ['/A', '`/A` in `--partitions` is no namespace'],
    ["/a'b", "`/a'b` in `--partitions` is no namespace"],
    ['/a,a', '`/a` is in `--partitions` twice'],
    [MANY, '`--partitions` names 33 namespaces; 32 are allowed'],
  ])('refuses %j', async (list, message) => {
    const run = await runCli(['migrate', '--partitions', list], { cwd: await makeFolder(), env: NOWHERE });
    expect([run.status, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toContain(`error: ${message}`);
    expect(run.stderr).toContain('  help: ');
  });

  it('is refused for the embedded store, which is not made', async () => {
    const cwd = await makeFolder();
    const run = await runCli(['migrate', '--partitions', '/a', '--data-dir', 'data'], { cwd });
    expect([run.status, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toBe(
      'error: `--partitions` is for an external PostgreSQL, and the settings name the embedded store\n' +
        '  help: name a PostgreSQL with DATABASE_URL or `databaseUrlFile`, or leave the option out\n',
    );
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  itOnPostgres('says what it did, and does it once', async () => {
    const opened = await postgres?.openEmpty();
    if (opened?.config.kind !== 'external') throw new Error('there is no PostgreSQL');
    try {
      const [cwd, env] = [await makeFolder(), { DATABASE_URL: opened.config.url }];
      const migrate = (...more: readonly string[]): ReturnType<typeof runCli> =>
        runCli(['migrate', ...more], { cwd, env });
      const first = await migrate('--partitions', '/asia, /europe');
      expect(first.status).toBe(0);
      expect(first.stdout).toMatch(
        /^0001-store\n[^]*\d+ migrations applied\n2 namespaces with a partition: \/asia, \/europe\nNext: restart the gateways of this store, so that their queries read only the partitions they need\.\n$/,
      );
      expect(await migrate('--partitions', '/europe,/asia')).toMatchObject({ stdout: 'the store is up to date\n' });
      expect(await migrate()).toMatchObject({ stdout: 'the store is up to date\n' });
      const same = await migrate('--partitions', '/europe', '--partitions', '/asia', '--format', 'json');
      expect(JSON.parse(same.stdout)).toEqual({ applied: [], partitioned: false });
      const other = await migrate('--partitions', '/asia', '--format', 'json');
      expect(JSON.parse(other.stdout)).toEqual({ applied: [], partitioned: true });
    } finally {
      await opened.dispose();
    }
  });
});
