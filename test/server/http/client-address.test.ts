// The address under which a request is counted, logged and judged: that of the connection, or from behind proxies that
// the settings name.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { makeClientAddress } from '../../../server/http/client-address.js';
import { call, openGateway, type Reply, type TestGateway } from '../../support/gateway.js';

describe('behind 10.0.0.0/8 and ::1', () => {
  const addressOf = makeClientAddress(['10.0.0.0/8', '::1', '2001:db8::/32']);

  test.each<[string, string | null, string | undefined, string | null]>([
    ['who connects without it', '10.1.2.3', undefined, '10.1.2.3'],
    ['a proxy is believed', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['as IPv4 in IPv6, too', '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['over IPv6', '::1', '2001:470::7', '2001:470::7'],
    ['nobody else is believed', '198.51.100.4', '203.0.113.9', '198.51.100.4'],
    ['what the client wrote itself counts for nothing', '10.1.2.3', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['through two proxies', '10.1.2.3', '127.0.0.1, 203.0.113.9, 10.9.9.9', '203.0.113.9'],
    ['from one proxy to another', '10.1.2.3', '10.9.9.9', '10.9.9.9'],
    ['a port is none of it', '10.1.2.3', '203.0.113.9:4711', '203.0.113.9'],
    ['nor brackets', '10.1.2.3', '[2001:470::7]:443', '2001:470::7'],
    ['what is no address ends it', '10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['before a proxy, too', '10.1.2.3', '203.0.113.9, unknown, 10.9.9.9', '10.9.9.9'],
    ['an empty one', '10.1.2.3', '', '10.1.2.3'],
    ['octal numbers', '10.1.2.3', '0177.0.0.1', '10.1.2.3'],
    ['a number', '10.1.2.3', '2130706433', '10.1.2.3'],
    ['many', '10.1.2.3', Array<string>(900).fill('10.0.0.1').join(','), '10.0.0.1'],
    ['a Unix socket has none', null, '203.0.113.9', null],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(addressOf(peer, forwarded)).toBe(expected);
  });

  it('is that of the connection where no proxy is named', () => {
    expect(makeClientAddress([])('127.0.0.1', '203.0.113.9')).toBe('127.0.0.1');
  });
});

describe('a gateway', () => {
  let behind: TestGateway;
  let bare: TestGateway;
  let key: string;

  beforeAll(async () => {
    behind = await openGateway({ trustProxy: ['127.0.0.1'], rate: { perAddress: 3 } });
    bare = await openGateway({ db: behind.db, rate: { perAddress: 3 } });
    key = (await behind.key()).text;
  });

  afterAll(async () => {
    await bare.dispose();
    await behind.dispose();
  });

  const from = ({ port }: TestGateway, forwarded: string): Promise<Reply> =>
    call(port, { method: 'GET', path: '/api/v1/whoami', key, headers: { 'x-forwarded-for': forwarded } });

  it('logs and counts the client behind its proxy, whatever the client writes before', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await from(behind, `192.0.2.${String(n)}, 203.0.113.9`)).status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect((await from(behind, '203.0.113.10')).status).toBe(200);
    expect(behind.lines.at(-1)).toMatchObject({ address: '203.0.113.10', proxy: '127.0.0.1' });
  });

  it('A16 trusts no proxy by default', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await from(bare, `203.0.113.${String(n)}`)).status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(bare.lines.find(({ message }) => message === 'request')).toMatchObject({ address: '127.0.0.1' });
    expect(bare.lines.at(-1)).not.toHaveProperty('proxy');
  });

  it('tells of its limits on every answer that they were counted for', async () => {
    const { headers } = await from(behind, '203.0.113.77');
    expect([headers['ratelimit-policy'], headers['ratelimit']]).toEqual(['"address";q=3;w=1', '"address";r=2;t=1']);
    const seen: Reply[] = [];
    for (let n = 0; n < 5; n += 1) seen.push(await from(behind, '203.0.113.78'));
    const refused = seen.find(({ status }) => status === 429);
    expect(refused?.headers).toMatchObject({ ratelimit: '"address";r=0;t=1', 'retry-after': '1' });
  });
});
