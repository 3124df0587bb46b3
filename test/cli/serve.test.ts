import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeFolder } from '../support/temp-folder.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { issue, makeAuthority } from '../support/certificates.js';
import { call, openSocket } from '../support/gateway.js';
import { serveHere } from '../support/serve-here.js';
import { argumentsOf, type Served, startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { until } from '../support/until.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: serve-test\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - id: ada\n    identity: orcid:ada\n    namespace: /\n    scopes: [namespace:read]\n',
};

const CLEAR_TEXT = 'keys travel in clear text to this address: ';

/** Of the log: every line is one of it, also what is said before the gateway listens. */
function messagesOf(stderr: string): readonly string[] {
  const lines = stderr.trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
}

let dataDir: string;
let policy: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  policy = await makeFolder(POLICY);
});

afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

function start(verb: string, ...args: readonly string[]): Promise<Served> {
  return startServing(dataDir, verb, ...args);
}

function bailiwick(...args: readonly string[]): ReturnType<typeof runCli> {
  return runCli([...args, '--data-dir', dataDir]);
}

describe('serve', () => {
  it('compiles a folder, serves it, takes keys made meanwhile, and ends in order on SIGTERM', async () => {
    const served = await start('serve', '--policy', policy);
    expect(served.ready).toMatchObject({
      mode: 'serve',
      policy: 'serve-test',
      store: { kind: 'embedded' },
      snapshot: expect.stringMatching(/^sha256:/),
    });
    const key = (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
    const reply = await call(served.port, { key, body: { family: 'namespace', namespace: '/' } });
    expect([reply.status, reply.headers['bailiwick-snapshot']]).toEqual([200, served.ready['snapshot']]);
    const id = key.split('_')[1] ?? '';
    expect((await bailiwick('keys', 'revoke', id)).status).toBe(0);
    expect((await call(served.port, { key, body: { family: 'namespace', namespace: '/' } })).status).toBe(401);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
    expect(served.stderr()).not.toMatch(CLEAR_TEXT);
  });

  it('ends at once on a second signal', async () => {
    const served = await start('serve', '--policy', policy);
    // In order, it would close this connection after a second, and end with status 0.
    const silent = await openSocket(served.port);
    const closed = once(
      silent.resume().on('error', () => undefined),
      'close',
    );
    served.child.kill('SIGTERM');
    await until(() => served.stderr().includes('shutting down'));
    served.child.kill('SIGINT');
    expect(await served.ended).toBe(1);
    await closed;
  });

  it('needs a policy that can be used', async () => {
    const none = join(await makeFolder(), 'data');
    const bare = await runCli(['serve', '--data-dir', none]);
    expect(bare).toMatchObject({ status: 2, stderr: expect.stringContaining('--policy') });
    expect(existsSync(none)).toBe(false);
    expect(await bailiwick('serve', '--policy', '/nowhere')).toMatchObject({ status: 2 });
    const bad = await makeFolder({ ...POLICY, 'grants.yaml': 'grants: 7\n' });
    expect(await bailiwick('serve', '--policy', bad)).toMatchObject({ status: 3, stdout: '' });
    const torn = await makeFolder({ 'snapshot.json': '{"bailiwick":1' });
    expect(await bailiwick('serve', '--policy', `${torn}/snapshot.json`)).toMatchObject({ status: 8 });
  });

  it('says which port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    // As a process of its own, which ends.
    const listen = ['--listen', `127.0.0.1:${String(port)}`, '--data-dir', dataDir];
    const ran = await spawnCli(['serve', '--policy', policy, ...listen]);
    expect(ran.status).toBe(10);
    expect(ran.stderr).toContain(`cannot listen on \`127.0.0.1:${String(port)}\`: another process uses the port`);
    expect(ran.stdout).toBe('');
    taken.close();
  });

  it('refuses an API and an admin listener at one address, before there is a store', async () => {
    const none = join(await makeFolder(), 'data');
    const at = ['--listen', '127.0.0.1:8090', '--admin-listen', '0.0.0.0:8090', '--data-dir', none];
    const ran = await runCli(['serve', '--policy', policy, ...at]);
    expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining('`adminListen` has the port of `listen`') });
    expect(existsSync(none)).toBe(false);
  });

  it('leaves what is in the place of its admin socket, and waits for somebody to move it away', async () => {
    const path = join(await makeFolder({ 'admin.sock': 'mine' }), 'admin.sock');
    const quiet = ['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--admin-socket', path];
    const ran = await bailiwick('serve', '--policy', policy, ...quiet);
    expect(ran).toMatchObject({ status: 6, stdout: '', stderr: expect.stringContaining('help: move it away, or ') });
    expect(ran.stderr).toContain(`\`${path}\`: something that is not a socket is in its place`);
    expect(await readFile(path, 'utf8')).toBe('mine');
  });

  it('ends with a status for which it is started again where its address has not come to this machine yet', async () => {
    const listen = ['--listen', '192.0.2.1:8080', '--admin-listen', 'none', '--admin-socket', 'none'];
    const ran = await spawnCli(['serve', '--policy', policy, '--data-dir', dataDir, ...listen]);
    expect(ran).toMatchObject({
      status: 10,
      stderr: expect.stringContaining('this machine does not have the address'),
    });
  });

  it('ends with a status for which it is started again where its admin socket is taken, or its source is away', async () => {
    const path = join(await makeFolder(), 'admin.sock');
    const taken = createServer().listen(path);
    await once(taken, 'listening');
    const quiet = ['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--admin-socket'];
    const ran = await spawnCli(['serve', '--policy', policy, '--data-dir', dataDir, ...quiet, path]);
    expect(ran).toMatchObject({ status: 10, stdout: '', stderr: expect.stringContaining('another gateway listens') });
    taken.close();
    const source = ['--policy-url', 'http://127.0.0.1:1/snapshot.json', '--data-dir', await newDataDir()];
    const away = await spawnCli(['serve', ...source, ...quiet, 'none']);
    expect(away).toMatchObject({ status: 10, stdout: '', stderr: expect.stringContaining('cannot be reached') });
  });

  it('warns once that keys travel in clear text where other machines reach it', async () => {
    const served = await serveHere(dataDir, 'serve', '--policy', policy, '--listen', '0.0.0.0:0');
    expect(await served.stop()).toBe(0);
    const said = messagesOf(served.stderr());
    expect(said.filter((message) => message.startsWith(CLEAR_TEXT))).toHaveLength(1);
    const isOld = Number.parseInt(process.versions.node) < 22;
    expect(said.some((message) => /^Node \S+ gets no security fixes any more; /.test(message))).toBe(isOld);
  });

  it('serves under TLS what the settings name, without that warning, and reads it again on SIGHUP', async () => {
    const folder = await makeFolder();
    const authority = await makeAuthority(folder);
    const { certFile, keyFile } = await issue(folder, 'server', { authority });
    const clientCa = await issue(folder, 'clients', { authority, days: -1 });
    const mtls = `mtls: { caFile: ${clientCa.certFile}, provider: orcid, subjectFrom: san:uri }`;
    const settings = await makeFolder({
      'bailiwick.yaml': `tls: { certFile: ${certFile}, keyFile: ${keyFile} }\nauthentication: { ${mtls} }\n`,
    });
    const config = ['--config', `${settings}/bailiwick.yaml`];
    const served = await start('serve', '--policy', policy, '--listen', '0.0.0.0:0', ...config);
    expect(served.ready['url']).toMatch(/^https:/);
    expect(served.stderr()).not.toMatch(CLEAR_TEXT);
    expect(served.stderr()).toMatch(
      /client certificates are refused if they are of the authority `[^`]+`, which expired at 20/,
    );
    await issue(folder, 'server', { authority });
    served.child.kill('SIGHUP');
    while (!served.stderr().includes('the TLS certificate was renewed')) await sleep(20);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);

    await rm(keyFile);
    const ran = await bailiwick('serve', '--policy', policy, ...config);
    expect(ran).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(`\`${keyFile}\` does not exist`),
    });
  });

  describe('where its snapshot cannot be kept beside the audit log', () => {
    const argumentsWith = async (settings: string): Promise<readonly [folder: string, ...string[]]> => {
      const folder = await makeFolder({
        'audit/snapshots': 'not a folder',
        'bailiwick.yaml': `audit: { folder: audit, ${settings} }\n`,
      });
      return [join(folder, 'audit/snapshots'), '--policy', policy, '--config', join(folder, 'bailiwick.yaml')];
    };

    it('ends with the status of a folder that somebody must mend, and leaves the log to the next start', async () => {
      const [snapshots, ...args] = await argumentsWith('onFailure: refuse');
      const ran = await runCli(argumentsOf(dataDir, ['serve', ...args]));
      expect([ran.status, JSON.parse(ran.stdout)]).toEqual([
        6,
        {
          error: {
            code: 'audit.folder',
            message: expect.stringMatching(/the audit folder .* cannot be used \(E\w+\)$/),
          },
        },
      ]);
      await rm(snapshots);
      const served = await serveHere(dataDir, 'serve', ...args);
      expect(await served.stop()).toBe(0);
      const logs = (await readdir(dirname(snapshots))).filter((name) => name.endsWith('.jsonl'));
      expect(logs).toHaveLength(1);
    });

    it('goes on if queries are answered all the same, and keeps it later', async () => {
      const [snapshots, ...args] = await argumentsWith('onFailure: continue');
      const served = await serveHere(dataDir, 'serve', ...args);
      expect(messagesOf(served.stderr())).toContainEqual(expect.stringContaining('could not be kept'));
      await rm(snapshots);
      await until(() => served.stderr().includes('the snapshot is kept beside the audit log now'));
      expect(await readdir(snapshots)).toHaveLength(1);
      expect(await served.stop()).toBe(0);
    });
  });

  it('refuses to start where nobody could authenticate', async () => {
    const settings = await makeFolder({ 'bailiwick.yaml': 'authentication:\n  keys: { enabled: false }\n' });
    const ran = await bailiwick('serve', '--policy', policy, '--config', `${settings}/bailiwick.yaml`);
    expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining('authenticat') });
  });
});

describe('local', () => {
  it('serves this machine without a key, and ends in order on SIGINT', async () => {
    const served = await start('local');
    expect(served.ready).toMatchObject({ mode: 'local', store: { kind: 'embedded' } });
    expect((await call(served.port, { body: { family: 'namespace', namespace: '/' } })).status).toBe(200);
    served.child.kill('SIGINT');
    expect(await served.ended).toBe(0);
  });

  it('may have the port of an admin listener, of which it has none', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const at = `127.0.0.1:${String((free.address() as AddressInfo).port)}`;
    free.close();
    const settings = await makeFolder({ 'bailiwick.yaml': `adminListen: ${at}\n` });
    const served = await start('local', '--config', `${settings}/bailiwick.yaml`, '--listen', at);
    expect(served.ready['url']).toBe(`http://${at}`);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
  });

  it('listens on loopback only', async () => {
    const ran = await bailiwick('local', '--listen', '0.0.0.0:0');
    expect(ran).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('loopback') });
  });
});
