// `bailiwick status` against a gateway: through its socket, by URL with a key, and where there is none.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { main } from '../../server/cli/main.js';
import type { ReplicaState } from '../../server/db/replica.js';
import { makeIo } from '../support/cli-io.js';
import { openGateway, type TestGateway } from '../support/gateway.js';
import { makeFolder } from '../support/temp-folder.js';

let open: TestGateway;
let socket: string;
let url: string;
let folder: string;
let key: string;

beforeAll(async () => {
  open = await openGateway({ admin: true });
  socket = open.admin?.socket ?? '';
  url = `http://127.0.0.1:${String(open.admin?.port)}`;
  const [admin, data] = [await open.key({ actor: 'root', identities: [], admin: true }), await open.key()];
  key = admin.text;
  folder = await makeFolder({ 'admin.key': `${key}\n`, 'data.key': data.text, 'no.key': 'hunter2', 'admin.pipe': '' });
});

afterAll(async () => {
  await open.dispose();
});

async function status(...args: readonly string[]): Promise<readonly [status: number, stdout: string, stderr: string]> {
  const made = makeIo({ cwd: folder });
  const ended = await main(['status', ...args], made.io);
  return [ended, made.stdout(), made.stderr()];
}

describe('status', () => {
  it('shows what a gateway serves, through its socket and by its URL', async () => {
    const [ended, text, errors] = await status('--admin-socket', socket);
    expect([ended, errors]).toEqual([0, '']);
    expect(text).toMatch(/^ready +yes\nversion +\S+\nstarted +\S+Z\npolicy +test\nsnapshot +sha256:/);
    const [, json] = await status('--admin-socket', socket, '--format', 'json');
    expect(JSON.parse(json)).toMatchObject({ policy: 'test', store: { kind: 'embedded', ok: true, replicas: [] } });
    expect(text).toMatch(/\nreplicas +none\nworkers +none\npeers +none seen\n$/);
    for (const more of [[], ['--admin-key-file', 'admin.key']]) {
      const [, byUrl] = await status('--admin-url', url, ...more, '--format', 'json');
      expect(JSON.parse(byUrl)).toMatchObject({ policy: 'test' });
    }
  });

  it('tells of each replica whether it is used, how old it is, and what is wrong with it', async () => {
    const replicas = (): readonly ReplicaState[] => states;
    const first: ReplicaState = { address: 'one:5432', isUsed: true, age: 250, fault: null, reason: null };
    let states = [first];
    const other = await openGateway({ admin: true, db: { ...open.db, replicas } });
    const shown = async (): Promise<string | undefined> =>
      /\nreplicas +(.*)\n/.exec((await status('--admin-socket', other.admin?.socket ?? ''))[1])?.[1];
    expect(await shown()).toBe('one:5432 used, 0.25 seconds old at most');
    states = [first, { address: 'two:5432', isUsed: false, age: null, fault: 'other_cluster', reason: null }];
    expect(await shown()).toBe(
      'one:5432 used, 0.25 seconds old at most; two:5432 not used, of unknown age (other_cluster)',
    );
    states = [{ address: 'two:5432', isUsed: false, age: null, fault: 'away', reason: 'no such database' }];
    expect(await shown()).toBe('two:5432 not used, of unknown age (away: no such database)');
    await other.dispose();
  });

  test.each<[string, readonly string[], number, string]>([
    ['no gateway', [], 6, 'there is no such socket'],
    ['a file in place of the socket', ['--admin-socket', 'admin.pipe'], 6, 'it is not a socket of this user'],
    ['a port of nobody', ['--admin-url', 'http://127.0.0.1:1'], 6, 'nothing listens there'],
    [
      'a key that is none',
      ['--admin-url', 'http://localhost:1', '--admin-key-file', 'no.key'],
      2,
      'does not hold an API key',
    ],
    [
      'a key file that is not there',
      ['--admin-url', 'http://[::1]:1', '--admin-key-file', 'x'],
      2,
      '`x` does not exist',
    ],
    ['a key without a URL', ['--admin-key-file', 'admin.key'], 2, '`--admin-key-file` needs `--admin-url`'],
    ['clear text over a network', ['--admin-url', 'http://gateway.example.org'], 2, 'must begin with `https:`'],
    [
      'a URL with a path',
      ['--admin-url', 'https://gateway.example.org/x'],
      2,
      'must be the address of an admin listener',
    ],
    ['a URL with a password', ['--admin-url', 'https://a:hunter2@b'], 2, 'must be the address of an admin listener'],
    ['what is no URL', ['--admin-url', 'gateway:8081'], 2, 'must be the address of an admin listener'],
    ['no socket by the settings', ['--admin-socket', 'none'], 2, 'the settings turn the admin socket off'],
  ])('of %s says what is wrong and what to do', async (_, args, ended, words) => {
    const [got, stdout, stderr] = await status(...args);
    expect([got, stdout, stderr]).toEqual([ended, '', expect.stringContaining(words)]);
    expect(stderr).not.toContain('hunter2');
  });

  it('of a gateway that refuses the key says so', async () => {
    const [got, , stderr] = await status('--admin-url', url, '--admin-key-file', 'data.key');
    expect([got, stderr]).toEqual([6, expect.stringContaining('refused with 401 `auth.invalid`')]);
  });

  it('follows no link to the socket of somebody', async () => {
    symlinkSync(socket, join(folder, 'link.sock'));
    const [got, , stderr] = await status('--admin-socket', 'link.sock');
    expect([got, stderr]).toEqual([6, expect.stringContaining('it is not a socket of this user')]);
  });

  it('says which checks fail, and of what has expired that it has', async () => {
    const expiresAt = '2020-01-01T00:00:00Z';
    const server = createServer((_, response) => {
      const certificate = { expiresAt: '2999-01-01T00:00:00Z', clientCaExpiresAt: expiresAt };
      const checks = { certificate: 'ok', policy: 'failed', audit: 'failed' };
      const body = {
        ready: false,
        checks,
        undecided: 'it expired',
        certificate,
        store: { kind: 'external', ok: true, fault: 'the database user lacks rights: INSERT on records' },
        statement: { generation: 7, expires: expiresAt, expiresAt, signers: ['ana', 'ben'] },
        audit: {
          ...{ ok: false, lagSeconds: 3, fileLagSeconds: 3, storeLagSeconds: 0, error: 'ENOSPC: no space left' },
          ...{ checkpointLagSeconds: 61.5, stuckEvents: 2 },
        },
      };
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const [, text] = await status('--admin-url', at);
    server.close();
    expect(text).toMatch(/^statement +generation 7, signed by ana, ben, expired at 2020-/m);
    expect(text).toMatch(/^audit log +its files could not be written for 3.0 seconds \(ENOSPC: no space left\): /m);
    expect(text).toMatch(
      /^audit log .*; no checkpoint could be signed for 61\.5 seconds: .*; 2 events of .*`bailiwick audit release`$/m,
    );
    expect(text).toMatch(/^certificate +expires at 2999-\S+; the client CA expired at 2020-/m);
    expect(text).toMatch(/^store +external, reachable; the database user lacks rights: INSERT on records$/m);
    expect(text).toMatch(/^ready +no: policy, audit; decides nothing: it expired$/m);
  });

  it('does not trust what is not a gateway, and shows nothing that a terminal would obey', async () => {
    const answers = ['<html>', String.raw`{"policy":"\u001b[2J","ready":true,"ageSeconds":1}`, '"x"'];
    let server: Server | null = null;
    const seen: string[] = [];
    for (const answer of answers) {
      server = createServer((request, response) => {
        seen.push(String(request.headers.authorization));
        response.end(answer);
      });
      await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
      const at = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
      const [got, stdout, stderr] = await status('--admin-url', at);
      if (answer.startsWith('{')) {
        expect([got, stdout.includes('\u001b')]).toEqual([0, false]);
        expect(stdout).toMatch(/^confirmed +1 second ago$/m);
      } else expect([got, stderr]).toEqual([6, expect.stringContaining('the answer does not come from a gateway')]);
      server.close();
    }
    expect(seen).toEqual(['undefined', 'undefined', 'undefined']);
  });
});
