// The commands of the client, over HTTP and in this process: one suite for both, with all five families. Over HTTP each
// exchange is also checked against the API's description.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client, Family, Records } from '../../../server/client/index.js';
import { CLIENT_WAYS } from '../../support/client-ways.js';
import { newDataDir } from '../../support/stores.js';

type Made = Exclude<Family, 'namespace'>;
/** Whoever may read what was written gets all of it. */
type Whole = Records[Family];

/** Of each family the calls that write it, with `name` an id or, of a namespace, its path. */
function callsOf(client: Client) {
  const { call } = client;
  const whole = async (answer: Promise<object>): Promise<Whole> => {
    const record = await answer;
    if (!('createdAt' in record)) throw new Error('the record is not shown');
    return record as Whole;
  };
  const body = { description: 'changed' };
  const of = {
    namespace: {
      change: (path: string, revision: number) => call('changeNamespace', { path, revision, body }),
      archive: (path: string, revision: number) => call('archiveNamespace', { path, revision }),
      restore: (path: string, revision: number) => call('restoreNamespace', { path, revision }),
    },
    'resource-template': {
      change: (id: string, revision: number) => call('changeResourceTemplate', { id, revision, body }),
      archive: (id: string, revision: number) => call('archiveResourceTemplate', { id, revision }),
      restore: (id: string, revision: number) => call('restoreResourceTemplate', { id, revision }),
    },
    resource: {
      change: (id: string, revision: number) => call('changeResource', { id, revision, body }),
      archive: (id: string, revision: number) => call('archiveResource', { id, revision }),
      restore: (id: string, revision: number) => call('restoreResource', { id, revision }),
    },
    'process-template': {
      change: (id: string, revision: number) => call('changeProcessTemplate', { id, revision, body }),
      archive: (id: string, revision: number) => call('archiveProcessTemplate', { id, revision }),
      restore: (id: string, revision: number) => call('restoreProcessTemplate', { id, revision }),
    },
    'process-run': {
      change: (id: string, revision: number) => call('changeProcessRun', { id, revision, body }),
      archive: (id: string, revision: number) => call('archiveProcessRun', { id, revision }),
      restore: (id: string, revision: number) => call('restoreProcessRun', { id, revision }),
    },
  };
  const keyed = (idempotencyKey?: string): { readonly idempotencyKey?: string } =>
    idempotencyKey === undefined ? {} : { idempotencyKey };
  const create = {
    'resource-template': (name: string, key?: string) =>
      whole(
        call('createResourceTemplate', {
          body: { namespace: '/labs', name, version: '1', schema: SCHEMA },
          ...keyed(key),
        }),
      ),
    resource: (name: string, key?: string) =>
      whole(call('createResource', { body: { namespace: '/labs', name, properties: { n: 1 } }, ...keyed(key) })),
    'process-template': (name: string, key?: string) =>
      whole(
        call('createProcessTemplate', {
          body: { namespace: '/labs', name, version: '1', schema: {}, slots: [] },
          ...keyed(key),
        }),
      ),
    'process-run': (name: string, key?: string) =>
      whole(call('createProcessRun', { body: { namespace: '/labs', name, parameters: { n: 1 } }, ...keyed(key) })),
  };
  return { of, create, whole };
}

const SCHEMA = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const MADE: readonly Made[] = ['resource-template', 'resource', 'process-template', 'process-run'];
const COPIED = ['resource', 'process-run'] as const;

async function refusal(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'done',
    (error: unknown) =>
      error instanceof Error && 'code' in error && 'status' in error
        ? `${String(error.status)} ${String(error.code)}`
        : error,
  );
}

describe.each(CLIENT_WAYS)('the commands of the client $name', ({ open }) => {
  let client: Client;
  let close: () => Promise<void>;
  let dataDir: string;
  let calls: ReturnType<typeof callsOf>;

  beforeAll(async () => {
    dataDir = await newDataDir();
    ({ client, close } = await open(dataDir));
    calls = callsOf(client);
    await client.call('putNamespace', { path: '/labs', body: {} });
  });

  afterAll(async () => {
    await close();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** What may be done with a record that is there: `name` is what it is read by. */
  async function lives(family: Family, name: string, made: Whole): Promise<void> {
    const { change, archive, restore } = calls.of[family];
    expect(made).toMatchObject({ family, revision: 1, archivedAt: null });
    expect(await client.get(family, name)).toEqual(made);
    const changed = await calls.whole(change(name, 1));
    expect(changed).toMatchObject({ id: made.id, revision: 2, description: 'changed' });
    expect(await refusal(change(name, 1))).toBe('412 record.precondition');
    const archived = await calls.whole(archive(name, 2));
    expect(archived).toMatchObject({ revision: 3, archivedAt: expect.any(String) });
    expect(await refusal(change(name, 3))).toBe('409 record.archived');
    const restored = await calls.whole(restore(name, 3));
    expect(restored).toMatchObject({ revision: 4, archivedAt: null });
    expect(await client.get(family, name)).toEqual(restored);
  }

  it('make, read, change, archive and restore a namespace', async () => {
    const body = { description: 'the optics lab' };
    const put = (): Promise<Whole> => calls.whole(client.call('putNamespace', { path: '/labs/optics', body }));
    const made = await put();
    expect(await put()).toEqual(made);
    await lives('namespace', '/labs/optics', made);
    expect(await refusal(client.call('putNamespace', { path: '/none/below', body }))).toBe('404 namespace.not_found');
    expect(await refusal(client.call('putNamespace', { path: '/', body }))).toBe('403 authz.denied');
  });

  it.each(MADE)('make, read, change, archive and restore a %s', async (family) => {
    const made = await calls.create[family]('first');
    await lives(family, made.id, made);
    expect(await refusal(calls.of[family].change(ABSENT, 1))).toBe('404 record.not_found');
    expect(await refusal(client.get(family, ABSENT))).toBe('404 record.not_found');
  });

  it.each(MADE)('make a %s once for each key, and refuse the key with another body', async (family) => {
    const make = calls.create[family];
    const [made, another] = [await make('kept', 'the-key'), await make('kept')];
    expect(await make('kept', 'the-key')).toEqual(made);
    expect(another.id).not.toBe(made.id);
    expect(await refusal(make('other', 'the-key'))).toBe('422 idempotency.key_reused');
  });

  it.each(COPIED)('copy a %s, once for each key', async (family) => {
    const source = await calls.create[family]('source');
    const name = family === 'resource' ? 'copyResource' : 'copyProcessRun';
    const copy = (destination: string): Promise<Whole> =>
      calls.whole(client.call(name, { id: source.id, body: { destination }, idempotencyKey: 'copy-key' }));
    await client.call('putNamespace', { path: '/labs/copies', body: {} });
    const made = await copy('/labs/copies');
    expect(made).toMatchObject({ family, namespace: '/labs/copies', name: 'source', revision: 1 });
    expect(made.id).not.toBe(source.id);
    expect(await copy('/labs/copies')).toEqual(made);
    expect(await refusal(copy('/labs'))).toBe('422 idempotency.key_reused');
    const absent = client.call(name, { id: ABSENT, body: { destination: '/labs' } });
    expect(await refusal(absent)).toBe('404 record.not_found');
  });

  it('say where a body refers to what is not there, and where a template refuses it', async () => {
    const body = { namespace: '/labs', name: 'r', template: ABSENT, properties: {} };
    const missing = client.call('createResource', { body });
    expect(await refusal(missing)).toBe('422 reference.not_found');
    const template = await calls.create['resource-template']('strict');
    const wrong = client.call('createResource', { body: { ...body, template: template.id, properties: { n: 'x' } } });
    await expect(wrong).rejects.toMatchObject({
      code: 'record.invalid',
      status: 422,
      errors: [{ pointer: '/properties/n' }],
    });
    const elsewhere = client.call('createResource', { body: { namespace: '/none', name: 'r' } });
    expect(await refusal(elsewhere)).toBe('404 namespace.not_found');
  });

  it('do a batch over all families whole, once for each key, or not at all', async () => {
    const commands = [
      { method: 'PUT', path: '/api/v1/namespaces/labs/batch', body: {} },
      {
        method: 'POST',
        path: '/api/v1/resource-templates',
        body: { namespace: '/labs', name: 't', version: '2', schema: SCHEMA },
        as: 't',
      },
      {
        method: 'POST',
        path: '/api/v1/resources',
        body: { namespace: '/labs/batch', name: 'r', template: '$t', properties: { n: 1 } },
        as: 'r',
      },
      {
        method: 'POST',
        path: '/api/v1/process-templates',
        body: { namespace: '/labs', name: 'p', version: '1', schema: {}, slots: [{ name: 's' }] },
        as: 'p',
      },
      {
        method: 'POST',
        path: '/api/v1/process-runs',
        body: { namespace: '/labs/batch', template: '$p', resources: { s: '$r' } },
      },
    ] as const;
    const run = () => client.call('runBatch', { body: { commands }, idempotencyKey: 'batch-key' });
    const { results } = await run();
    expect(results.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(await run()).toEqual({ results });
    expect(await client.count({ family: 'process-run', namespace: '/labs/batch' })).toBe(1);
    const resource = (template: string | null) =>
      ({ method: 'POST', path: '/api/v1/resources', body: { namespace: '/labs/batch', name: 'r', template } }) as const;
    const broken = client.call('runBatch', { body: { commands: [resource(null), resource(ABSENT)] } });
    expect(await refusal(broken)).toBe('422 reference.not_found');
    expect(await client.count({ family: 'resource', namespace: '/labs/batch', reach: 'exact' })).toBe(1);
  });
});
