// A gateway that starts before its PostgreSQL: it waits and says so, ends in order when told to, and serves once the
// store is there. Other commands, and a gateway that may not wait, end with the status that says "try again".
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { STATUS_ANSWER } from '../../server/api/admin-schemas.js';
import { awaitStore } from '../../server/cli/open-store.js';
import { loadConfig } from '../../server/config/index.js';
import { openDatabase } from '../../server/db/database.js';
import { storedActivations } from '../../server/policy/store/activations.js';
import { issue, makeAuthority } from '../support/certificates.js';
import { makeIo } from '../support/cli-io.js';
import { keptLog, type LogLine } from '../support/kept-log.js';
import { startPolicyServer } from '../support/policy-server.js';
import { findPostgres, startPostgres, type TestPostgres } from '../support/postgres.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const SETTINGS =
  'policy: policy\nlisten: 127.0.0.1:0\nadminListen: none\nadminSocket: none\naudit: { folder: audit }\n';

const WAITS = 'the store cannot be reached yet: waiting for it';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('a TCP server without an address');
  return address.port;
}

test('says again what it waits for: when the reason changes, and from time to time', async () => {
  const port = await freePort();
  const cwd = await makeFolder({ 'bailiwick.yaml': `databaseUrl: postgres://gateway@127.0.0.1:${String(port)}/b\n` });
  const config = await loadConfig({ flags: {}, env: {}, cwd });
  const waits = async (isOver: (reasons: readonly unknown[]) => boolean, reminder?: number): Promise<void> => {
    const lines: LogLine[] = [];
    const end = new Promise<void>((resolve) => {
      void until(() => isOver(lines.map(({ reason }) => reason))).then(resolve);
    });
    const answerProbes = (): Promise<() => Promise<void>> => Promise.resolve(() => Promise.resolve());
    const waiting = { log: keptLog(lines), ended: end, answerProbes, ...(reminder === undefined ? {} : { reminder }) };
    expect(await awaitStore(makeIo({ cwd }).io, config, waiting)).toBeNull();
    expect(new Set(lines.map(({ message }) => message))).toEqual(new Set([WAITS]));
  };
  await waits((reasons) => reasons.length === 2, 1);
  const hangUp = createServer((socket) => socket.destroy());
  await waits((reasons) => {
    if (reasons.length === 1 && !hangUp.listening) hangUp.listen(port, '127.0.0.1');
    return new Set(reasons).size === 2;
  });
  hangUp.close();
});

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
    const waiting = async (
      ...flags: readonly string[]
    ): Promise<{
      child: ChildProcess;
      lines: AsyncIterator<string, undefined>;
      ended: Promise<unknown[]>;
    }> => {
      const child = spawn(process.execPath, [CLI, 'serve', ...flags], {
        cwd,
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', 'inherit', 'pipe'],
      });
      const ended = once(child, 'exit');
      const lines = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
      expect(await next(lines)).toMatchObject({
        level: 'warn',
        code: 'store.unreachable',
        msg: WAITS,
      });
      return { child, lines, ended };
    };

    const next = async (lines: AsyncIterator<string, undefined>): Promise<unknown> =>
      JSON.parse((await lines.next()).value ?? '');

    /** What comes once it waits no more. A server that starts gives other reasons to wait. */
    const after = async (lines: AsyncIterator<string, undefined>): Promise<unknown> => {
      const line = (await lines.next()).value ?? '';
      return line.includes(WAITS) ? after(lines) : JSON.parse(line);
    };

    test('ends in order while it waits', async () => {
      const { child, lines, ended } = await waiting();
      child.kill('SIGTERM');
      expect(await next(lines)).toMatchObject({ level: 'info', signal: 'SIGTERM', msg: 'shutting down' });
      expect((await ended)[0]).toBe(0);
    });

    test('answers probes at its address for admins: it is alive and not ready', async () => {
      const port = await freePort();
      const admin = `adminListen: 127.0.0.1:${String(port)}\nadminSocket: admin.sock`;
      const settings = SETTINGS.replace('adminListen: none\nadminSocket: none', admin);
      await writeFile(join(cwd, 'probed.yaml'), settings);
      const { child, lines, ended } = await waiting('--config', 'probed.yaml');
      const ask = async (path: string, method = 'GET'): Promise<readonly [number, string]> => {
        const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, { method });
        return [answer.status, await answer.text()];
      };
      // The line comes before the listener.
      await until(() =>
        ask('/livez').then(
          () => true,
          () => false,
        ),
      );
      expect(await ask('/livez')).toEqual([200, '{"status":"ok","checks":{}}']);
      expect(await ask('/livez', 'HEAD')).toEqual([200, '']);
      expect(await ask('/readyz')).toEqual([503, '{"status":"failed","checks":{"store":"failed"}}']);
      expect(await ask('/metrics')).toEqual([200, expect.stringContaining('\nbailiwick_ready{check="store"} 0\n')]);
      expect(await ask('/admin/v1/keys')).toEqual([503, expect.stringContaining('"code":"db.unavailable"')]);
      const shown =
        /^ready +no: store; waiting for the store: .* cannot be reached: .*\nversion +\S+\nstarted +\S+\nstore +external, not ready\n/;
      for (const door of [
        ['--admin-socket', 'admin.sock'],
        ['--admin-url', `http://127.0.0.1:${String(port)}`],
      ]) {
        const { status, stdout } = await runCli(['status', ...door], { cwd, env });
        expect([status, stdout]).toEqual([0, expect.stringMatching(shown)]);
      }
      const told: unknown = JSON.parse((await ask('/admin/v1/status'))[1]);
      expect(told).toMatchObject({ ready: false, waiting: expect.stringContaining('cannot be reached') });
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      expect([ajv.validate(STATUS_ANSWER, told), ajv.errors]).toEqual([true, null]);
      // A page that somebody points here under another name is told nothing.
      const rebound = await fetch(`http://127.0.0.1:${String(port)}/admin/v1/status`, {
        headers: { origin: 'http://x' },
      });
      expect(rebound.status).toBe(421);
      await server.start();
      expect(await after(lines)).toMatchObject({ msg: 'the store can be reached' });
      // The gateway takes the address over; for a moment nothing listens there.
      while ((await ask('/readyz').catch(() => [0]))[0] !== 200) await sleep(20);
      const { stdout } = await runCli(['status', '--admin-socket', 'admin.sock'], { cwd, env });
      expect(stdout).toMatch(/^ready +yes\n/);
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
      await server.crash();
    });

    test('has a new certificate there at once after SIGHUP', async () => {
      const [folder, port] = [await makeFolder(), await freePort()];
      const authority = await makeAuthority(folder);
      const { certFile, keyFile } = await issue(folder, 'admin', { authority });
      const admin = `adminListen: 0.0.0.0:${String(port)}\ntls: { certFile: ${certFile}, keyFile: ${keyFile} }`;
      await writeFile(join(cwd, 'tls.yaml'), SETTINGS.replace('adminListen: none', admin));
      const child = spawn(process.execPath, [CLI, 'serve', '--config', 'tls.yaml'], {
        cwd,
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', 'inherit', 'pipe'],
      });
      const ended = once(child, 'exit');
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      const shown = async (): Promise<string | undefined> => {
        const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const { fingerprint256 } = socket.getPeerCertificate();
        socket.destroy();
        return fingerprint256;
      };
      const fingerprint = async (): Promise<string> => new X509Certificate(await readFile(certFile)).fingerprint256;
      await until(() =>
        shown().then(
          () => true,
          () => false,
        ),
      );
      expect(await shown()).toBe(await fingerprint());
      await issue(folder, 'admin', { authority });
      child.kill('SIGHUP');
      await until(() => stderr.includes('the TLS certificate was renewed'));
      expect(await shown()).toBe(await fingerprint());
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
    });

    test('ends with a status of its own where it may not wait, as other commands do', async () => {
      await writeFile(join(cwd, 'hasty.yaml'), `${SETTINGS}database: { waitAtStart: false }\n`);
      expect(await spawnCli(['serve', '--config', 'hasty.yaml'], { cwd, env })).toMatchObject({ status: 10 });
      expect(await runCli(['migrate'], { cwd, env })).toMatchObject({ status: 10 });
    });

    test('serves what its source has once the store is there, and not what it had before', async () => {
      const name = (text: string): Promise<void> =>
        writeFile(join(cwd, 'policy/policy.yaml'), `bailiwick: 1\nname: ${text}\nproviders:\n  orcid: {}\n`);
      await name('outdated');
      const { child, lines, ended } = await waiting();
      await name('present');
      await server.start();
      expect(await after(lines)).toMatchObject({ msg: 'the store can be reached' });
      const db = await openDatabase({ kind: 'external', url: server.url });
      const offered = async (): Promise<readonly string[]> =>
        (await storedActivations(db).list(9)).map(({ policy }) => policy);
      await until(async () => (await offered()).includes('present'));
      expect(await offered()).not.toContain('outdated');
      await db.close();
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
      await server.crash();
    });

    test('ends in order while it looks again for its policy', async () => {
      const [source, snapshot] = [await startPolicyServer(), join(cwd, 'snapshot.json')];
      expect((await runCli(['compile', join(cwd, 'policy'), '-o', snapshot])).status).toBe(0);
      source.put('/snapshot.json', await readFile(snapshot));
      const url = `http://127.0.0.1:${String(source.port)}/snapshot.json`;
      const { child, lines, ended } = await waiting('--policy-url', url);
      let isAsked = false;
      source.misbehave(() => {
        isAsked = true;
      });
      await server.start();
      expect(await after(lines)).toMatchObject({ msg: 'the store can be reached' });
      await until(() => isAsked);
      child.kill('SIGTERM');
      expect(await next(lines)).toMatchObject({ level: 'info', signal: 'SIGTERM', msg: 'shutting down' });
      expect((await lines.next()).value).toBeUndefined();
      expect((await ended)[0]).toBe(0);
      await source.stop();
      await server.crash();
    });

    test('serves once the store is there, and says how long that took', async () => {
      const { child, lines, ended } = await waiting();
      await server.start();
      expect(await after(lines)).toMatchObject({
        level: 'info',
        msg: 'the store can be reached',
        seconds: expect.any(Number),
      });
      child.kill('SIGTERM');
      expect((await ended)[0]).toBe(0);
    });
  });
}
