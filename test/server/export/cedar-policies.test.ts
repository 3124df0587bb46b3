// `export cedar`: Cedar decides as the engine does, on generated policies, and everything is valid under the schema.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it, test } from '@jest/globals';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import { policyRows } from '../../../engine/compiler.js';
import { lineageOf, type NamespacePath, type Policy } from '../../../engine/index.js';
import { cedarPolicies } from '../../../server/export/cedar-policies.js';
import { type Asked, askedOf, FILES, generatedQuestions } from '../../support/exported-decisions.js';
import { generousWorld } from '../../support/generous-worlds.js';
import { compiled, PLACES } from '../../support/query-worlds.js';
import { fromRoot } from '../../support/root.js';
import { runCli } from '../../support/run-cli.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testRuns } from '../../support/test-runs.js';

const cedar = createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs') as typeof Cedar;

interface Files {
  readonly policies: string;
  readonly entities: readonly Cedar.EntityJson[];
  readonly schema: string;
}

function filesOf(policy: Policy): Files {
  const { files } = cedarPolicies(policyRows(policy), { about: 'A test.' });
  const [policies = '', entities = '', schema = ''] = [...files.values()].map((pieces) => [...pieces].join(''));
  return { policies, entities: JSON.parse(entities) as Cedar.EntityJson[], schema };
}

function expectValid({ policies, schema, entities }: Files): void {
  expect(
    cedar.validate({ schema, policies: { staticPolicies: policies }, validationSettings: { mode: 'strict' } }),
  ).toEqual({ type: 'success', validationErrors: [], validationWarnings: expect.anything(), otherWarnings: [] });
  expect(cedar.checkParseEntities({ entities: [...entities], schema })).toEqual({ type: 'success' });
}

const uid = (type: string, id: string): { readonly type: string; readonly id: string } => ({
  type: `Bailiwick::${type}`,
  id,
});

/** As a service asks: the actor with its identities, and the namespace with those above it, are entities of the request. */
function askCedar({ entities }: Files, { identities, scopes, restrictions, scope, namespace, at }: Asked): boolean {
  const principal = uid('Actor', 'asks');
  const paths = new Set([namespace, ...(restrictions ?? [])].flatMap((path) => lineageOf(path as NamespacePath)));
  const known = new Set(entities.map((one) => JSON.stringify(one.uid)));
  const more = [
    { uid: principal, attrs: {}, parents: identities.map((id) => uid('Identity', id)) },
    ...[...paths].map((path) => ({
      uid: uid('Namespace', path),
      attrs: {},
      parents: lineageOf(path as NamespacePath)
        .filter((above) => above !== path)
        .map((above) => uid('Namespace', above)),
    })),
  ].filter((one) => !known.has(JSON.stringify(one.uid)));
  const answer = cedar.statefulIsAuthorized({
    principal,
    action: uid('Action', scope),
    resource: uid('Namespace', namespace),
    context: {
      now: { __extn: { fn: 'datetime', arg: at } },
      ...(scopes === null ? {} : { scopes: [...scopes] }),
      ...(restrictions === null
        ? {}
        : { restrictions: restrictions.map((path) => ({ __entity: uid('Namespace', path) })) }),
    },
    preparsedPolicySetId: 'policies',
    preparsedSchemaName: 'schema',
    validateRequest: true,
    entities: [...entities, ...more],
  });
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer.errors));
  expect(answer.response.diagnostics.errors).toEqual([]);
  return answer.response.decision === 'allow';
}

it('decides as the engine does: 10,000 decisions, on generated policies', () => {
  let allowed = 0;
  let asked = 0;
  fc.assert(
    fc.property(generousWorld, generatedQuestions, (set, questions) => {
      const policy = compiled(set);
      const files = filesOf(policy);
      expectValid(files);
      expect(cedar.preparsePolicySet('policies', { staticPolicies: files.policies })).toEqual({ type: 'success' });
      expect(cedar.preparseSchema('schema', files.schema)).toEqual({ type: 'success' });
      const requests = questions
        .flatMap((question) => askedOf(policy, question, PLACES))
        // Cedar refuses a request about an action that the schema does not have.
        .filter(({ scope }) => scope !== 'invoice:burn')
        .filter((_, i) => i % 2 === 0);
      for (const request of requests) expect([request, askCedar(files, request)]).toEqual([request, request.allowed]);
      asked += requests.length;
      allowed += requests.filter((one) => one.allowed).length;
    }),
    testRuns(6),
  );
  expect(asked).toBeGreaterThan(10_000);
  expect(allowed).toBeGreaterThan(asked / 50);
  expect(allowed).toBeLessThan(asked / 2);
});

test('what the verb writes is valid, says what it does not say, and Cedar refuses an action that the policy does not know', async () => {
  const cwd = await makeFolder(FILES);
  const { status, stdout } = await runCli(['export', 'cedar', '.', '-o', 'out'], { cwd });
  expect([status, stdout.split('\n').slice(0, 5)]).toEqual([
    0,
    [
      ...['policies.cedar', 'entities.json', 'schema.cedarschema'].map((name) => `wrote out/${name}`),
      'not said:',
      '  What a canonical path is: a namespace that is not one must be refused before Cedar is asked.',
    ],
  ]);
  const [policies = '', entities = '', schema = ''] = await Promise.all(
    ['policies.cedar', 'entities.json', 'schema.cedarschema'].map((name) => readFile(join(cwd, 'out', name), 'utf8')),
  );
  const files = { policies, entities: JSON.parse(entities) as Cedar.EntityJson[], schema };
  expectValid(files);
  expect(policies).toContain('// - The instant: `context.now` must be the time of the request.');
  expect(policies).toContain('principal in Bailiwick::Identity::"staff:ben"');
  cedar.preparsePolicySet('policies', { staticPolicies: policies });
  cedar.preparseSchema('schema', schema);
  const asked = {
    ...{ identities: ['staff:"q\\"'], scopes: null, restrictions: null, scope: 'invoice:approve' },
    ...{ namespace: '/north/x', at: '2026-01-01T00:00:00.000Z', allowed: true },
  };
  expect(askCedar(files, asked)).toBe(true);
  expect(askCedar(files, { ...asked, at: '2029-01-01T00:00:00.000Z' })).toBe(false);
  expect(askCedar(files, { ...asked, identities: ["staff:nia o'hara", 'staff:ben'] })).toBe(false);
  expect(() => askCedar(files, { ...asked, scope: 'invoice:burn' })).toThrow(/invoice:burn/);
});

test('the policy of the repository is valid', async () => {
  const cwd = await makeFolder();
  const { status } = await runCli(['export', 'cedar', fromRoot('policies'), '-o', '.'], { cwd });
  expect(status).toBe(0);
  const read = (name: string): Promise<string> => readFile(join(cwd, name), 'utf8');
  const entities = JSON.parse(await read('entities.json')) as Cedar.EntityJson[];
  expectValid({ policies: await read('policies.cedar'), entities, schema: await read('schema.cedarschema') });
});
