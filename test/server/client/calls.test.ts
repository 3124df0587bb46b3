// The calls of the client, over HTTP and in this process, on the records of the demo in local mode: one suite for both.
// Over HTTP each exchange is also checked against the API's description.
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FAMILIES, instantOf } from '../../../engine/index.js';
import { readLines } from '../../../server/cli/files.js';
import { AnswerError, type Client, ProblemError, type Records } from '../../../server/client/index.js';
import { openDatabase } from '../../../server/db/database.js';
import { LOAD_LIMITS } from '../../../server/limits/records.js';
import { loadDataset } from '../../../server/load/load-dataset.js';
import { CLIENT_WAYS } from '../../support/client-ways.js';
import { fromRoot } from '../../support/root.js';
import { newDataDir, PATIENT } from '../../support/stores.js';

let dataDir: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  const db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  const lines = readLines(createReadStream(fromRoot('fixtures/records/facility.jsonl')), LOAD_LIMITS.lineBytes);
  await loadDataset(db, lines, { onConflict: 'report', now: instantOf(0) });
  await db.close();
});

afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

describe.each(CLIENT_WAYS)('the calls $name', ({ open }) => {
  let client: Client;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ client, close } = await open(dataDir));
  });

  afterAll(async () => {
    await close();
  });

  const everything = { family: 'resource', namespace: '/', reach: 'subtree' } as const;

  it('give a page, typed by what was asked', async () => {
    const page = await client.query({ ...everything, page: { size: 2 } });
    const names: readonly (string | null)[] = page.items.map(({ name }) => name);
    const templates: readonly (string | null)[] = page.items.map(({ template }) => template);
    expect([names.length, templates.length, page.page.size]).toEqual([2, 2, 2]);
    expect(page.snapshot).toMatch(/^sha256:/);
    const picked = await client.query({ ...everything, select: ['id', 'name'], page: { size: 1 } });
    expect(Object.keys(picked.items[0] ?? {}).sort()).toEqual(['id', 'name']);
  });

  it('go through all pages, each record once, as many as are counted', async () => {
    const ids: string[] = [];
    for await (const { id } of client.records({ ...everything, page: { size: 17 } })) ids.push(id);
    const total = await client.count(everything);
    expect([new Set(ids).size, ids.length]).toEqual([total, total]);
    const sizes: number[] = [];
    for await (const { items } of client.pages({ ...everything, page: { size: 50 } })) sizes.push(items.length);
    expect(sizes.reduce((sum, one) => sum + one, 0)).toBe(total);
    expect(total).toBeGreaterThan(100);
  });

  it('go no further than somebody reads, and on from a cursor', async () => {
    for await (const page of client.pages({ ...everything, page: { size: 3 } })) {
      const rest = client.pages({ ...everything, page: { size: 3, after: page.page.next } });
      const { value } = await rest.next();
      expect(value?.items[0]?.id).not.toBe(page.items[0]?.id);
      break;
    }
  });

  it('get one record of each family by its id, and a namespace by its path', async () => {
    for (const family of FAMILIES) {
      const { items } = await client.query({ family, namespace: '/beamlines/amx/pass-314512', page: { size: 1 } });
      const [first] = items;
      if (first === undefined) throw new Error(`there is no ${family}`);
      const found = await client.get(family, family === 'namespace' ? first.namespace : first.id);
      expect(found).toEqual(first);
    }
    const root: Records['namespace'] = await client.get('namespace', '/');
    expect(root.namespace).toBe('/');
    const run = await client.call('getProcessRun', { id: (await firstRun()).id });
    expect(['succeeded', 'failed', 'running', 'pending', 'cancelled']).toContain(run.state);
  });

  const firstRun = async (): Promise<Records['process-run']> => {
    const { items } = await client.query({ family: 'process-run', namespace: '/beamlines/amx/pass-314512' });
    if (items[0] === undefined) throw new Error('there is none');
    return items[0];
  };

  it('create with a key of their own, and change the revision that they name', async () => {
    const body = { namespace: '/beamlines/amx', name: 'lysozyme', properties: { kind: 'crystal' } };
    const made = await client.call('createResource', { body });
    const again = await client.call('createResource', { body, idempotencyKey: 'the-same' });
    const replayed = await client.call('createResource', { body, idempotencyKey: 'the-same' });
    expect([made.id === again.id, replayed]).toEqual([false, again]);
    const { id, revision } = made;
    const changed = await client.call('changeResource', { id, revision, body: { description: 'grown twice' } });
    expect(changed).toMatchObject({ id, revision: revision + 1, description: 'grown twice' });
    const late = client.call('archiveResource', { id, revision });
    expect(await failure(late)).toMatchObject({ code: 'record.precondition', status: 412 });
  });

  it('follow what changes, from where they are told to go on', async () => {
    const { next: after } = await client.changes();
    const { id } = await client.create('resource', { namespace: '/beamlines/amx', name: 'followed' });
    await client.create('resource', { namespace: '/beamlines/fmx', name: 'elsewhere' });
    expect(await failure(client.changes({ after, namespace: '/beamlines/amx' }))).toMatchObject({
      code: 'query.cursor',
    });
    const page = await client.changes({ after, limit: 1 });
    expect(page.items).toMatchObject([
      { change: 'created', family: 'resource', id, namespace: '/beamlines/amx', revision: 1 },
    ]);
    const stop = new AbortController();
    const seen: string[] = [];
    const followed = client.follow({ after, limit: 1, every: 60_000 }, { signal: stop.signal });
    const reading = (async (): Promise<void> => {
      for await (const { items } of followed) {
        for (const item of items) if (item.change !== 'rights') seen.push(item.namespace);
        if (items.length === 0)
          setTimeout(() => {
            stop.abort(new Error('enough'));
          }, 10);
      }
    })();
    expect(await failure(reading)).toMatchObject({ message: 'enough' });
    expect(seen).toEqual(['/beamlines/amx', '/beamlines/fmx']);
    expect((await client.changes({ families: ['process-run'], namespace: '/beamlines/amx' })).items).toEqual([]);
  });

  it('say who asks', async () => {
    expect(await client.whoami()).toMatchObject({ kind: 'local', namespaceRestrictions: null });
  });

  it('fail with the problem: code, status, what is wrong where, and the id of the request', async () => {
    const where = { colour: { eq: 'red' }, name: { equals: 1 } };
    // @ts-expect-error -- what the types refuse is sent all the same
    const error = await failure(client.query({ ...everything, where }, { requestId: 'mine-1' }));
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      name: 'ProblemError',
      status: 400,
      code: 'query.unknown_field',
      requestId: 'mine-1',
      step: null,
      retryAfter: null,
      errors: [{ pointer: '/where/colour' }, { pointer: '/where/name/equals', code: 'query.unknown_operator' }],
    });
    expect(String(error)).toMatch(/^ProblemError: query.unknown_field: .*\/where\/colour /);
  });

  it('fail for what does not exist', async () => {
    const id = '01900000-0000-7000-8000-000000000000';
    expect(await failure(client.get('resource', id))).toMatchObject({ code: 'record.not_found', status: 404 });
    expect(await failure(client.get('namespace', '/nowhere'))).toMatchObject({ code: 'namespace.not_found' });
    expect(await failure(client.get('namespace', '/No Such/./Path?x#y'))).toMatchObject({ code: 'namespace.invalid' });
    expect(await failure(client.get('resource', '../whoami?x'))).toMatchObject({ code: 'record.not_found' });
    expect(await failure(client.get('resource', ''))).toBeInstanceOf(TypeError);
    expect(await failure(client.get('namespace', 'labs'))).toBeInstanceOf(TypeError);
  });

  it('end with the reason of a signal', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    expect(await failure(client.whoami({ signal }))).toBe(reason);
    const stopping = new AbortController();
    const all = client.records({ ...everything, page: { size: 1 } }, { signal: stopping.signal });
    await all.next();
    stopping.abort(reason);
    expect(await failure(all.next())).toBe(reason);
    expect(await failure(client.count({ family: 'resource', namespace: 'no path' }))).not.toBeInstanceOf(AnswerError);
  });
});
