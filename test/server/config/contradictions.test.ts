// Settings of which each is right and both are not: two listeners on one address, and a warning that would come too late.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from '@jest/globals';
import { type Config, readConfig } from '../../../server/config/index.js';
import { makeFolder } from '../../support/temp-folder.js';

interface Read {
  readonly config: Config | null;
  readonly faults: readonly string[];
}

async function read(file: string, flags: Readonly<Record<string, string>> = {}): Promise<Read> {
  const cwd = await makeFolder({ 'bailiwick.yaml': file });
  const { config, faults } = await readConfig({ flags, env: {}, cwd });
  return { config, faults: faults.map(({ place, message, fix }) => `${place}: ${message}; ${fix ?? ''}`) };
}

const SAME =
  '`adminListen` has the port of `listen`, which takes it for the API; give `listen` and `adminListen` different ports, or set `adminListen: none`';

const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ family }) => family === 'IPv6') === true);

async function open(host: string, port: number): Promise<Server> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  return server;
}

/** Whether this system has both at once. */
async function fit(hosts: readonly [string, string]): Promise<boolean> {
  const [one, other] = hosts.map((host) => host.replace(/^\[|\]$/g, ''));
  const first = await open(one ?? '', 0);
  const address = first.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  try {
    (await open(other ?? '', port)).close();
    return true;
  } catch {
    return false;
  } finally {
    first.close();
  }
}

test.each<readonly [string, string, boolean]>([
  ['127.0.0.1', '127.0.0.1', false],
  ['0.0.0.0', '127.0.0.1', false],
  ['127.0.0.1', '0.0.0.0', false],
  ['localhost', '127.0.0.1', false],
  ['localhost', 'LOCALHOST', false],
  ['127.0.0.1', '127.0.0.2', true],
  ...(hasIpv6
    ? ([
        ['[::]', '127.0.0.1', false],
        ['[::]', '0.0.0.0', false],
        ['[0:0::0]', '[::1]', false],
        ['[::1]', '[0:0:0:0:0:0:0:1]', false],
        ['[::1]', '127.0.0.1', true],
        ['0.0.0.0', '[::1]', true],
      ] as const)
    : []),
])('listeners at %s and %s of one port', async (one, other, isRight) => {
  const { faults } = await read(`listen: "${one}:8090"\nadminListen: "${other}:8090"\n`);
  expect(faults).toEqual(isRight ? [] : [`bailiwick.yaml:2:14: ${SAME}`]);
  // Where `localhost` leads is up to the machine.
  if (!/localhost/i.test(one)) expect(await fit([one, other])).toBe(isRight);
});

test('the port of a listener that is not there is free, and so is any that the system chooses', async () => {
  const at = (admin: string, api = '127.0.0.1:8081'): Promise<Read> => read(`listen: ${api}\nadminListen: ${admin}\n`);
  expect((await at('none')).faults).toEqual([]);
  expect((await at('127.0.0.1:0', '127.0.0.1:0')).faults).toEqual([]);
  // The admin listener is there by default.
  expect((await read('', { listen: '127.0.0.1:8081' })).faults).toEqual([`adminListen: ${SAME}`]);
});

test('the log warns before nothing is decided any more', async () => {
  const ages = (soft: string, hard: string): Promise<Read> =>
    read(`snapshot: { softAge: ${soft}, hardAge: ${hard} }\n`);
  expect((await ages('2h', '119m')).faults).toEqual([
    'bailiwick.yaml:1:22: `snapshot.softAge` is above `snapshot.hardAge`, so nothing would warn before that; set `snapshot.softAge` below `snapshot.hardAge`',
  ]);
  expect((await ages('1h', '2h')).config?.snapshot).toMatchObject({ softAge: 3_600_000, hardAge: 7_200_000 });
});
