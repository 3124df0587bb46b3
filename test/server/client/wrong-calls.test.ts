// Calls that do not compile: each wrong line has an error, and this file does not compile where one has none. Nothing of them runs.
import { expect, it } from '@jest/globals';
import type { Client, Conditions, QueryEnvelope } from '../../../server/client/index.js';

const at = { id: '0197bc63-6539-7ccb-b217-d1b0f3fab080', revision: 1 };
const base = { namespace: '/labs', name: 'a' };

/** Never called. */
export async function wrong(records: Client): Promise<void> {
  // @ts-expect-error -- a misspelt field
  await records.query({ family: 'resource', namespace: '/labs', where: { nmae: { eq: 'x' } } });
  // @ts-expect-error -- a misspelt operator
  await records.query({ family: 'resource', namespace: '/labs', where: { name: { eqq: 'x' } } });
  // @ts-expect-error -- a misspelt operator of a property
  await records.count({ family: 'resource', namespace: '/labs', where: { 'properties.rank': { gtt: 3 } } });
  // @ts-expect-error -- a text operator on a number
  await records.count({ family: 'resource', namespace: '/labs', where: { revision: { containsIgnoreCase: '3' } } });
  // @ts-expect-error -- in a nested group
  await records.count({ family: 'resource', namespace: '/labs', where: { or: [{ nmae: { eq: 'x' } }] } });
  // @ts-expect-error -- a misspelt field to group by
  await records.aggregate({ family: 'resource', namespace: '/labs', groupBy: 'nmae', values: [{ count: true }] });
  // @ts-expect-error -- a sum of texts
  await records.aggregate({ family: 'resource', namespace: '/labs', values: [{ sum: 'name' }] });
  // @ts-expect-error -- a misspelt field to select
  await records.query({ family: 'resource', namespace: '/labs', select: ['nmae'] });
  // @ts-expect-error -- a reference that the family has not
  await records.query({ family: 'resource', namespace: '/labs', includes: { resources: {} } });
  // @ts-expect-error -- a misspelt field of an included record
  await records.query({ family: 'resource', namespace: '/labs', includes: { template: { select: ['nmae'] } } });
  // @ts-expect-error -- a misspelt field to order by
  await records.query({ family: 'resource', namespace: '/labs', orderBy: [{ nmae: 'asc' }] });
  // @ts-expect-error -- a reach that there is not
  await records.query({ family: 'process-run', namespace: '/labs', reach: 'subtre' });
  // @ts-expect-error -- slots are of runs
  await records.query({ family: 'resource', namespace: '/labs', where: { 'resources.sample': { eq: at.id } } });
  // @ts-expect-error -- a slot holds an id
  await records.query({ family: 'process-run', namespace: '/labs', where: { 'resources.sample': { eq: 3 } } });
  // @ts-expect-error -- a state that there is not, in a condition
  await records.query({ family: 'process-run', namespace: '/labs', where: { state: { eq: 'runing' } } });
  // @ts-expect-error -- members of a template for a resource
  await records.create('resource', { ...base, version: '1', schema: {} });
  // @ts-expect-error -- without a name
  await records.create('resource', { namespace: '/labs' });
  // @ts-expect-error -- a state that there is not
  await records.create('process-run', { namespace: '/labs', state: 'runing' });
  // @ts-expect-error -- a resource has no state
  await records.change('resource', at, { state: 'running' });
  // @ts-expect-error -- a state that there is not
  await records.change('process-run', at, { state: 'runing' });
  // @ts-expect-error -- a change without the revision that it is made on
  await records.change('resource', { id: at.id }, { description: 'b' });
  // @ts-expect-error -- a namespace is found by its path
  await records.archive('namespace', at);
  // @ts-expect-error -- templates are not copied
  await records.copy('resource-template', at.id, { destination: '/labs' });
  // @ts-expect-error -- an operation that there is not
  await records.call('makeResource', { body: base });
}

/** Never called. What it gives has the types that are written here. */
export async function right(records: Client): Promise<readonly unknown[]> {
  const page = await records.query({
    family: 'resource',
    namespace: '/labs',
    where: {
      or: [{ name: { containsIgnoreCase: 'x' } }, { 'properties.rank': { gte: 3 } }],
      createdAt: { gte: '2027-01-01T00:00:00Z' },
    },
    orderBy: [{ 'properties.rank': 'desc' }, { name: 'asc' }],
    select: ['id', 'properties.rank', 'properties.at.x'],
  });
  const id: string | undefined = page.items[0]?.id;
  const at: { readonly x?: unknown } | undefined = page.items[0]?.properties.at;
  // @ts-expect-error -- was not selected
  const name: unknown = page.items[0]?.name;
  const all = await records.query({ family: 'process-run', namespace: '/labs', where: { state: { in: ['running'] } } });
  const state: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled' | undefined = all.items[0]?.state;
  const runs = await records.query({
    family: 'process-run',
    namespace: '/labs',
    includes: { template: { select: ['name', 'properties.kind'] }, resources: {} },
  });
  const named: string | null | undefined = runs.included.template['x']?.name;
  const version: string | undefined = runs.included.resources['x']?.createdAt;
  // @ts-expect-error -- was not selected
  const schema: unknown = runs.included.template['x']?.schema;
  // @ts-expect-error -- was not included
  const there: unknown = runs.included.namespace;
  // @ts-expect-error -- nothing was included
  const nothing: unknown = all.included;
  const kept = {
    family: 'resource',
    namespace: '/labs',
    where: { name: { eq: 'x' } },
  } satisfies QueryEnvelope<'resource'>;
  await records.count({ ...kept, family: 'resource' });
  const where: Conditions<'process-run'> = { 'parameters.energy': { lt: 4 }, not: { state: { eq: 'failed' } } };
  await records.count({ family: 'process-run', namespace: '/labs', where });
  const batch = records.batch();
  const template = batch.create('resource-template', { ...base, version: '1', schema: {} });
  const made = batch.create('resource', { ...base, template: template.id });
  batch.change('resource', made, { description: 'b' });
  const written: { readonly id: string } = (await batch.send()).of(made);
  return [id, at, name, state, written, named, version, schema, there, nothing];
}

it('compiles', () => {
  expect([wrong.length, right.length]).toEqual([1, 1]);
});
