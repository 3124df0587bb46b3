// A gateway that starts before its PostgreSQL: it waits and says so, ends in order when told to, and serves once the
// store is there. Other commands, and a gateway that may not wait, end with the status that says "try again".
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findPostgres, startPostgres, type TestPostgres } from '../support/postgres.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const SETTINGS =
  'policy: policy\nlisten: 127.0.0.1:0\nadminListen: none\nadminSocket: none\naudit: { folder: audit }\n';

if (findPostgres() === null) {
  test.skip('a gateway before its PostgreSQL (none is installed here)', () => undefined);
} else {
  describe('a gateway before its PostgreSQL', () => {
    let server: TestPostgres;
    let cwd = '';
    let env: Readonly<Record<string, string>> = {};
    beforeAll(async () => {
      const started = await startPostgres();
      if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
      server = started;
      cwd = await makeFolder({
        'policy/policy.yaml': 'bailiwick: 1\nname: waits\nproviders:\n  orcid: {}\n',
        'bailiwick.yaml': SETTINGS,
      });
      env = { DATABASE_URL: server.url };
      expect((await runCli(['migrate'], { cwd, env })).status).toBe(0);
      await server.crash();
    });
    afterAll(async () => {
      await server.stop();
    });

    /** Starts it, and resolves when it waits. */
    const waiting = async (): Promise<{
      child: ChildProcess;
      lines: AsyncIterator<string, undefined>;
      ended: Promise<unknown[]>;
    }> => {
      const child = spawn(process.execPath, [CLI, 'serve'], {
        cwd,
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', 'inherit', 'pipe'],
      });
      const ended = once(child, 'exit');
      const lines = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
      expect(await next(lines)).toMatchObject({
        level: 'warn',
        code: 'store.unreachable',
        msg: 'the store is not there yet: waiting for it',
      });
      return { child, lines, ended };
    };

    const next = async (lines: AsyncIterator<string, undefined>): Promise<unknown> =>
      JSON.parse((await lines.next()).value ?? '');

    test('ends in order while it waits', async () => {
      const { child, lines, ended } = await waiting();
      child.kill('SIGTERM');
      expect(await next(lines)).toMatchObject({ level: 'info', signal: 'SIGTERM', msg: 'shutting down' });
      expect((await ended)[0]).toBe(0);
    });

    test('ends with a status of its own where it may not wait, as other commands do', async () => {
      await writeFile(join(cwd, 'hasty.yaml'), `${SETTINGS}database: { waitAtStart: false }\n`);
      expect(await spawnCli(['serve', '--config', 'hasty.yaml'], { cwd, env })).toMatchObject({ status: 10 });
      expect(await runCli(['migrate'], { cwd, env })).toMatchObject({ status: 10 });
    });

    test('serves once the store is there, and says how long that took', async () => {
      const { child, lines, ended } = await waiting();
      await server.start();
      expect(await next(lines)).toMatchObject({
        level: 'info',
        msg: 'the store is there',
        seconds: expect.any(Number),
      });
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
    });
  });
}
