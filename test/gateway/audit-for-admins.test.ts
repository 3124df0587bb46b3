// What admins are told of the audit log over HTTP: the same as `bailiwick audit` says where the log is, and the snapshots that it names.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { type ConsoleGateway, openConsoleGateway } from '../support/console-gateway.js';
import { runCli } from '../support/run-cli.js';

interface Found {
  readonly events: readonly {
    readonly seq: number;
    readonly requestId: string;
    readonly time: string;
    readonly fault?: string;
  }[];
  readonly found: number;
  readonly searched: number;
  readonly unverified: number;
}

let gateway: ConsoleGateway;
let logs: string;

beforeAll(async () => {
  gateway = await openConsoleGateway(['--admin-listen', '127.0.0.1:0']);
  logs = join(gateway.dataDir, 'audit');
  for (const [family, namespace] of [
    ['resource', '/beamlines/amx'],
    ['process-run', '/beamlines/amx'],
    ['resource', '/labs/detector'],
  ]) {
    const answer = await fetch(`${String(gateway.served.ready['url'])}/api/v1/query`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${gateway.dataKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ family, namespace }),
    });
    await answer.arrayBuffer();
  }
  // Events of queries are on the disk within 100 ms.
  while ((await told<Found>('/admin/v1/audit/events?actor=ines')).body.found < 4)
    await new Promise((resolve) => setTimeout(resolve, 50));
});

afterAll(() => {
  gateway.served.child.kill('SIGKILL');
});

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- each test names the shape that it then looks at
async function told<Body>(
  path: string,
  key = gateway.adminKey,
): Promise<{ readonly status: number; readonly body: Body }> {
  const answer = await fetch(gateway.url + path, { headers: { Authorization: `Bearer ${key}` } });
  return { status: answer.status, body: (await answer.json()) as Body };
}

const search = async (query: Readonly<Record<string, string>>): Promise<Found> =>
  (await told<Found>(`/admin/v1/audit/events?${new URLSearchParams(query).toString()}`)).body;

describe('a search', () => {
  it('finds what `audit query` finds, newest first', async () => {
    const { events: all, searched } = await search({ limit: '1000' });
    expect(all).toHaveLength(searched);
    expect(all.map(({ time }) => time)).toEqual(
      all
        .map(({ time }) => time)
        .sort()
        .reverse(),
    );
    const [request] = all.map(({ requestId }) => requestId);
    const middle = all[Math.floor(all.length / 2)]?.time ?? '';
    for (const query of [
      { actor: 'ines' },
      { actor: 'badge:b-11240', kind: 'refusal' },
      { kind: 'admin' },
      { outcome: 'denied' },
      { namespace: '/labs' },
      { record: '01900000-0000-7000-8000-000000000000' },
      { request: request ?? '' },
      { since: middle },
      { until: middle },
    ] as readonly Readonly<Record<string, string>>[]) {
      const flags = Object.entries(query).flatMap(([name, value]) => [`--${name}`, value]);
      const ran = await runCli(['audit', 'query', logs, ...flags, '--format', 'json']);
      const seqs = ran.stdout
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { readonly seq: number }).seq]));
      const found = await search(query);
      expect({ query, seqs: found.events.map(({ seq }) => seq).sort((a, b) => a - b) }).toEqual({ query, seqs });
      expect(found.found).toBe(seqs.length);
    }
    const two = await search({ limit: '2' });
    expect([two.events.map(({ seq }) => seq), two.found]).toEqual([all.slice(0, 2).map(({ seq }) => seq), searched]);
  });

  it.each([
    ['since=yesterday', 'request.schema'],
    ['namespace=/Labs', 'namespace.invalid'],
    ['kind=other', 'request.schema'],
    ['limit=0', 'request.schema'],
    ['limit=1001', 'request.schema'],
    ['who=ines', 'request.schema'],
  ])('refuses %s', async (query, code) => {
    const { status, body } = await told<{ readonly code: string }>(`/admin/v1/audit/events?${query}`);
    expect([status, body.code]).toEqual([400, code]);
  });
});

test('a snapshot is sent as it is, to admins alone', async () => {
  const path = `/admin/v1/snapshots/${gateway.digests.running}`;
  const answer = await fetch(gateway.url + path, { headers: { Authorization: `Bearer ${gateway.adminKey}` } });
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(await readFile(gateway.files.running));
  expect((await told(path, gateway.dataKey)).status).toBe(401);
  for (const digest of [gateway.digests.changed, 'sha256:..', '..%2f..'])
    expect((await told<{ readonly code: string }>(`/admin/v1/snapshots/${digest}`)).body.code).toBe(
      'snapshot.not_found',
    );
});

test('the log is verified, and one letter that was changed is found', async () => {
  const verified = await told<{
    readonly ok: boolean;
    readonly logs: readonly { readonly head: { readonly seq: number } }[];
  }>('/admin/v1/audit/verify');
  expect([verified.status, verified.body.ok]).toEqual([200, true]);
  expect(verified.body.logs[0]?.head.seq).toBe((await search({})).searched);
  const [name = ''] = readdirSync(logs).filter((one) => one.endsWith('.jsonl'));
  const file = join(logs, name);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('"operation":"key.create"', '"operation":"key.revoke"'));
  const edited = await told<{ readonly ok: boolean; readonly faults: readonly { readonly kind: string }[] }>(
    '/admin/v1/audit/verify',
  );
  expect([edited.body.ok, edited.body.faults[0]?.kind]).toEqual([false, 'edited']);
  const { events, unverified } = await search({ kind: 'admin' });
  expect(unverified).toBe(1);
  expect(events.flatMap(({ fault }) => fault ?? [])).toEqual(['edited']);
});
