// "Who read record X?", asked of the log for every record, after all the ways in which an answer can show one. What each answer showed is
// read from its own body, so the expectation knows nothing of the log.
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { openTrail } from '../../server/audit/trail.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { SILENT } from '../support/audit-log.js';
import { ask } from '../support/authzen-client.js';
import { type Call, call, openGateway, snapshotOf, type TestGateway } from '../support/gateway.js';
import { loadLines } from '../support/loaded-records.js';
import { runCli } from '../support/run-cli.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const idOf = (n: number): string => `0190c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const RECORDS = Array.from({ length: 60 }, (_, n) => ({
  ...{ family: 'resource', id: idOf(n), name: `lens-${String(n)}`, properties: { rank: n } },
  namespace: n < 40 ? '/labs/x' : n < 50 ? '/labs' : '/vault',
}));

let dataDir: string;
let db: Database;

beforeEach(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await loadLines(
    db,
    RECORDS.map((record) => JSON.stringify(record)),
  );
});

afterEach(async () => {
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

interface Seen {
  /** By the request's id, the records that its answer showed, counted alone, or that it named. */
  readonly about: Map<string, Set<string>>;
  readonly call: (asked: Call, named?: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

function watching({ port }: TestGateway, key: string): Seen {
  const about = new Map<string, Set<string>>();
  const noted = async (asked: Call, named: readonly string[] = []): Promise<Readonly<Record<string, unknown>>> => {
    const reply = await call(port, { ...asked, key });
    const id = reply.headers['x-request-id'];
    if (typeof id === 'string') about.set(id, new Set([...named, ...(reply.text.match(UUID) ?? [])]));
    return reply.json ?? {};
  };
  return { about, call: noted };
}

const page = (namespace: string, more: object = {}): Call => ({ body: { family: 'resource', namespace, ...more } });

it.each(['set', 'ids'] as const)(
  'names exactly the answers that showed a record, or named it, with `%s`',
  async (records) => {
    const folder = await makeFolder();
    const ports = { db, clock: systemClock, nextId: makeIdSource(), log: SILENT };
    const trail = await openTrail({ ...ports, folder, queries: 'all', records, onFailure: 'refuse', lag: 10_000 });
    const { policy, bytes } = snapshotOf([
      [ADA, '/labs', ['resource:read', 'resource:write', 'namespace:read']],
      [ADA, '/', ['namespace:write']],
      [ADA, '/spare', ['resource:write']],
    ]);
    // Whoever searches asks a snapshot that the store has.
    await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at: instantOf(Date.now()) });
    const gateway = await openGateway({
      ...{ db, audit: trail, authzen: { baseUrl: 'https://pdp.example.org', vocabulary: null } },
      mode: { kind: 'serve', policy },
    });
    const { text: key } = await gateway.key();
    const { text: decider } = await gateway.key({ actor: 'pep', identities: [], decide: true });
    const { about, call: send } = watching(gateway, key);

    // Pages, whole and one after another by cursor; without ids among what is selected; empty ones.
    await send(page('/labs/x', { page: { size: 500 } }));
    for (let after: unknown = null, n = 0; n === 0 || after !== null; n += 1) {
      const reply = await send(
        page('/labs', { reach: 'subtree', orderBy: [{ 'properties.rank': 'desc' }], page: { size: 18, after } }),
      );
      after = (reply['page'] as { readonly next: unknown }).next;
      expect(n).toBeLessThan(4);
    }
    const names = await send(page('/labs/x', { select: ['name'], where: { 'properties.rank': { lt: 20 } } }));
    expect(names['items']).toHaveLength(20);
    [...about.values()].at(-1)?.clear();
    for (const { id } of RECORDS.slice(0, 20)) [...about.values()].at(-1)?.add(id);
    await send(page('/labs/x', { where: { name: { eq: 'nothing' } } }));
    await send(page('/vault'));
    // Included: the record of a namespace beside one record of it.
    const included = await send(page('/labs/x', { where: { name: { eq: 'lens-5' } }, includes: { namespace: {} } }));
    expect(included).toMatchObject({
      items: [{ id: idOf(5) }],
      included: { namespace: { '/labs/x': { family: 'namespace' } } },
    });
    // Counts: one record can be told only where a filter leaves one.
    const count = { path: '/api/v1/query/count' };
    expect(
      await send({ ...page('/labs/x', { where: { name: { eq: 'lens-7' } } }), ...count }, [idOf(7)]),
    ).toMatchObject({ count: 1 });
    expect(await send({ ...page('/labs/x'), ...count })).toMatchObject({ count: 50 });
    expect(await send({ ...page('/labs/x', { where: { 'properties.rank': { lt: 2 } } }), ...count })).toMatchObject({
      count: 2,
    });
    // Aggregates: a record that is alone in its group.
    const aggregate = { path: '/api/v1/query/aggregate' };
    const values = [{ max: 'properties.rank' }];
    await send(
      { ...page('/labs/x', { where: { 'properties.rank': { lt: 2 } }, groupBy: 'name', values }), ...aggregate },
      [idOf(0), idOf(1)],
    );
    await send({ ...page('/labs/x', { where: { name: { eq: 'lens-9' } }, values }), ...aggregate }, [idOf(9)]);
    // One record, by GET and HEAD, there and hidden; a namespace by its path.
    await send({ method: 'GET', path: `/api/v1/resources/${idOf(3)}` }, [idOf(3)]);
    await send({ method: 'HEAD', path: `/api/v1/resources/${idOf(4)}` }, [idOf(4)]);
    await send({ method: 'GET', path: `/api/v1/resources/${idOf(55)}` }, [idOf(55)]);
    const labs = await send({ method: 'GET', path: '/api/v1/namespaces/labs' });
    await send({ method: 'HEAD', path: '/api/v1/namespaces/labs' }, [String(labs['id'])]);
    // Writes. The answer to a copy without read shows no more than its id, and what it copied was read.
    const idempotent = (one: string): Record<string, string> => ({ 'idempotency-key': `${records}-${one}` });
    const copy = {
      path: `/api/v1/resources/${idOf(5)}/copies`,
      body: { destination: '/spare' },
      headers: idempotent('copy'),
    };
    await send({ method: 'PUT', path: '/api/v1/namespaces/spare', body: {} });
    await send(copy, [idOf(5)]);
    await send(
      {
        ...{ path: '/api/v1/batch', headers: idempotent('batch') },
        body: {
          commands: [
            { method: 'PATCH', path: `/api/v1/resources/${idOf(8)}`, body: { description: 'new' }, ifMatch: '"1"' },
            { method: 'POST', path: `/api/v1/resources/${idOf(9)}/copies`, body: { destination: '/labs/x' } },
          ],
        },
      },
      [idOf(8), idOf(9)],
    );
    // What others ask about them.
    const decide = async (path: string, body: object, named: readonly string[]): Promise<unknown> => {
      const said = await ask(gateway.port, path, { key: decider, body });
      about.set(
        String(said.headers['x-request-id']),
        new Set([...named, ...(JSON.stringify(said.body).match(UUID) ?? [])]),
      );
      return said.body;
    };
    const [subject, action] = [{ type: 'orcid', id: 'ada' }, { name: 'resource:read' }];
    const resource = { type: 'resource', id: idOf(11) };
    expect(await decide('/access/v1/evaluation', { subject, action, resource }, [idOf(11)])).toMatchObject({
      decision: true,
    });
    await decide('/access/v1/search/action', { subject, resource }, [idOf(11)]);
    await decide('/access/v1/search/subject', { subject: { type: 'orcid' }, action, resource }, [idOf(11)]);
    const searched = await decide(
      '/access/v1/search/resource',
      { subject, action, resource: { type: 'resource' } },
      [],
    );
    expect((searched as { readonly results: readonly unknown[] }).results.length).toBeGreaterThan(16);

    await gateway.dispose();
    await trail.close();
    const asked = [...RECORDS.map(({ id }) => id), String(labs['id']), idOf(999)];
    for (const id of asked) {
      const run = await runCli(['audit', 'query', '--record', id.toUpperCase(), '--format', 'json', folder]);
      const found = run.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
      const expected = [...about].flatMap(([request, ids]) => (ids.has(id) ? [request] : []));
      expect([id, [...new Set(found.map(({ requestId }) => requestId))].sort()]).toEqual([id, expected.sort()]);
      expect(run.status).toBe(0);
      // `shown` stands in events whose request did not name the record.
      for (const event of found) {
        const names = JSON.stringify(event['records'] ?? []).includes(id);
        const listed = JSON.stringify(event['listed'] ?? {});
        expect(event['shown']).toBe(names ? undefined : listed.includes('"set"') ? 'maybe' : 'yes');
      }
      expect(run.stderr).toBe(
        `${found.length === 0 ? `0 of ${/\d+/.exec(run.stderr.slice(5))?.[0] ?? ''} events\n` : ''}not recorded: which records 2 counts counted; none was shown\n`,
      );
    }
  },
);
