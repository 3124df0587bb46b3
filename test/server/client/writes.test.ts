// The methods for writes, over HTTP and in this process: what they give, what their answers' headers say, and batches
// whose commands name each other.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, ProblemError } from '../../../server/client/index.js';
import { openLocal } from '../../../server/client/local.js';
import { CLIENT_WAYS } from '../../support/client-ways.js';
import { newDataDir } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

let dataDir: string;

beforeAll(async () => {
  dataDir = await newDataDir();
});

afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const readable = <T extends object>(written: T): Extract<T, { readonly createdAt: string }> => {
  if (!('createdAt' in written)) throw new Error('the record is not shown');
  return written as Extract<T, { readonly createdAt: string }>;
};

async function failure(work: Promise<unknown>): Promise<ProblemError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProblemError)) throw new Error('no problem', { cause: error });
  return error;
}

describe.each(CLIENT_WAYS)('the writes $name', ({ name, open }) => {
  let client: Client;
  let close: () => Promise<void>;
  const namespace = `/${name.replaceAll(' ', '-').toLowerCase()}`;

  beforeAll(async () => {
    ({ client, close } = await open(dataDir));
    await client.putNamespace(namespace, { description: 'of this test' });
  });

  afterAll(async () => {
    await close();
  });

  it('create, change, copy, archive and restore a record, each at the revision before', async () => {
    const made = readable(await client.create('resource', { namespace, name: 'lens', properties: { rank: 1 } }));
    const changed = readable(await client.change('resource', made, { properties: { rank: 2 } }));
    expect([changed.revision, changed.properties]).toEqual([2, { rank: 2 }]);
    const copy = readable(await client.copy('resource', made.id, { destination: namespace, name: 'another' }));
    expect([copy.name, copy.copiedFrom]).toEqual(['another', made.id]);
    const archived = readable(await client.archive('resource', changed));
    expect(archived.archivedAt).not.toBeNull();
    expect(readable(await client.restore('resource', archived))).toMatchObject({ archivedAt: null, revision: 4 });
    expect((await failure(client.archive('resource', made))).code).toBe('record.precondition');
  });

  it('find a namespace by its path', async () => {
    const made = await client.putNamespace(`${namespace}/deep`);
    if (!('revision' in made)) throw new Error('the namespace is not shown');
    expect(await client.change('namespace', made, { description: 'deep' })).toMatchObject({ revision: 2 });
    expect(await client.archive('namespace', { namespace: made.namespace, revision: 2 })).toMatchObject({
      revision: 3,
    });
  });

  it('say what the headers of an answer say', async () => {
    const asked = { body: { namespace, name: 'twice' }, idempotencyKey: `once-${namespace}` };
    const first = await client.answer('createResource', asked, { requestId: 'mine-1' });
    expect(first).toMatchObject({ status: 201, revision: 1, isReplayed: false, requestId: 'mine-1' });
    expect(first.snapshot).toMatch(/^sha256:/);
    const again = await client.answer('createResource', asked);
    expect(again).toMatchObject({ status: 201, revision: 1, isReplayed: true, body: { id: first.body.id } });
  });

  it('are done together in a batch, whose commands name what earlier ones make', async () => {
    const batch = client.batch();
    const place = batch.putNamespace(`${namespace}/batch`);
    const schema = { type: 'object' };
    const own = { namespace: `${namespace}/batch`, name: 'made' };
    const template = batch.create('resource-template', { ...own, version: '1', schema });
    const sample = batch.create('resource', { ...own, template: template.id });
    const changed = batch.change('resource', sample, { description: 'of the batch' });
    const run = batch.create('process-run', { namespace: own.namespace, resources: { sample: sample.id } });
    const answers = await batch.send();
    expect(answers.results).toHaveLength(5);
    expect(answers.of(place)).toMatchObject({ namespace: own.namespace });
    expect(answers.of(changed)).toMatchObject({ template: answers.of(template).id, description: 'of the batch' });
    expect(answers.of(run)).toMatchObject({ resources: { sample: answers.of(sample).id } });
  });

  it('fail with the position of the command that was refused', async () => {
    const batch = client.batch();
    batch.create('resource', { namespace, name: 'never' });
    const late = batch.archive('namespace', { namespace, revision: 99 });
    const error = await failure(batch.send());
    expect(error).toMatchObject({ code: 'record.precondition', command: late.position, cause: null });
    expect(error.message).toContain('command 1');
    expect(await client.count({ family: 'resource', namespace, where: { name: { eq: 'never' } } })).toBe(0);
  });
});

describe('openLocal', () => {
  it('makes a store in a folder that is new, and finds it again', async () => {
    const folder = join(await makeFolder(), 'not-there-yet');
    for (const expected of [0, 1]) {
      const client = await openLocal({ dataDir: folder });
      expect(await client.count({ family: 'resource', namespace: '/' })).toBe(expected);
      if (expected === 0) await client.create('resource', { namespace: '/', name: 'kept' });
      await client.close();
    }
  });
});
