// The schemas that editors are given accept what the gateway and `load` accept, and refuse what they refuse.
import { describe, expect, it, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { FAMILIES } from '../../engine/index.js';
import { LISTED_SCHEMA, STORED_EVENT_SCHEMA } from '../../server/api/audit-schemas.js';
import { schemaOf } from '../../server/cli/commands/schema.js';
import { checkDatasetLine } from '../../server/api/dataset-schema.js';
import { parseQuery } from '../support/parse-query.js';
import { anyContext, envelopeOf } from '../support/query-envelopes.js';
import { PLACES } from '../support/query-worlds.js';
import { fromRoot } from '../support/root.js';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const isQuery = ajv.compile(schemaOf('query'));
const isLine = ajv.compile(schemaOf('dataset'));

// Those of bodies are part of the API's description, which is held to the schema of OpenAPI.
test.each([
  ['settings', schemaOf('config')],
  ['events', STORED_EVENT_SCHEMA],
  ['listed records', LISTED_SCHEMA],
  ['queries', schemaOf('query')],
  ['dataset lines', schemaOf('dataset')],
])(
  'the schema of %s is JSON Schema, by the meta-schema',
  (_, { $schema, ...schema }: { readonly $schema?: string }) => {
    const draft = $schema?.includes('draft-07') === true ? new Ajv() : ajv;
    expect([draft.validateSchema(schema), draft.errors]).toEqual([true, null]);
  },
);

describe('the schema of a query', () => {
  it('accepts every query that the gateway accepts', () => {
    const envelopes = fc
      .constantFrom(...FAMILIES)
      .chain((family) => envelopeOf(family, anyContext({ places: PLACES })));
    fc.assert(
      fc.property(envelopes, (envelope) => {
        parseQuery(envelope, 'query');
        expect([isQuery(envelope), isQuery.errors]).toEqual([true, null]);
      }),
      { numRuns: 500, seed: 20261122 },
    );
  });

  test.each([
    [{ namespace: '/' }],
    [{ family: 'resource', namespace: '/', limit: 1 }],
    [{ family: 'resource', namespace: '/', where: { name: { equals: 'x' } } }],
    [{ family: 'resource', namespace: '/', where: { name: {} } }],
    [{ family: 'resource', namespace: '/', where: { 'properties.a': { lt: true } } }],
    [{ family: 'resource', namespace: '/', where: { 'properties.a': { has: true } } }],
    [{ family: 'resource', namespace: '/', where: { and: { name: { eq: 'x' } } } }],
    [{ family: 'resource', namespace: '/', orderBy: ['name'] }],
    [{ family: 'resource', namespace: '/', page: { size: 501 } }],
  ])('refuses %j, as the gateway does', (body) => {
    expect(isQuery(body)).toBe(false);
    expect(() => parseQuery(body, 'query')).toThrow();
  });
});

describe('the schema of a dataset line', () => {
  it('accepts every line that ships', () => {
    const lines = readFileSync(fromRoot('fixtures/records/facility.jsonl'), 'utf8').trim().split('\n');
    expect(lines.length).toBeGreaterThan(200);
    for (const line of lines) expect([isLine(JSON.parse(line)), isLine.errors]).toEqual([true, null]);
  });

  test.each([
    [{ family: 'gadget', namespace: '/' }],
    [{ family: 'resource', namespace: '/' }],
    [{ family: 'resource', namespace: '/', name: 'x', severity: 1 }],
    [{ family: 'resource', namespace: '/', name: 'x', id: '17' }],
    [{ family: 'process-run', namespace: '/', state: 'done' }],
    [[]],
  ])('refuses %j, as load does', (line) => {
    expect(isLine(line)).toBe(false);
    expect(checkDatasetLine(line).ok).toBe(false);
  });
});
