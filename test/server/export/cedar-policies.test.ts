// `export cedar`: Cedar decides as the engine does, on generated policies, and everything is valid under the schema.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, test } from '@jest/globals';
import type { EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import { policyRows } from '../../../engine/compiler.js';
import { lineageOf, type Policy } from '../../../engine/index.js';
import { cedarPolicies } from '../../../server/export/cedar-policies.js';
import { askCedar, type CedarFiles, type CedarRequest } from '../../support/cedar.js';
import { type Asked, askedOf, FILES, generatedQuestions } from '../../support/exported-decisions.js';
import { pathOf } from '../../engine/oracle/worlds.js';
import { generousWorld } from '../../support/generous-worlds.js';
import { compiled, PLACES } from '../../support/query-worlds.js';
import { fromRoot } from '../../support/root.js';
import { runCli } from '../../support/run-cli.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testRuns } from '../../support/test-runs.js';

function filesOf(policy: Policy): CedarFiles {
  const { files } = cedarPolicies(policyRows(policy), { about: 'A test.' });
  const [policies = '', entities = '', schema = ''] = [...files.values()].map((pieces) => [...pieces].join(''));
  return { policies, entities: JSON.parse(entities) as EntityJson[], schema };
}

async function filesIn(folder: string): Promise<CedarFiles> {
  const [policies = '', entities = '', schema = ''] = await Promise.all(
    ['policies.cedar', 'entities.json', 'schema.cedarschema'].map((name) => readFile(join(folder, name), 'utf8')),
  );
  return { policies, entities: JSON.parse(entities) as EntityJson[], schema };
}

const uid = (type: string, id: string): { readonly type: string; readonly id: string } => ({
  type: `Bailiwick::${type}`,
  id,
});

/** As a service asks: the actor with its identities, and the namespace with those above it, are entities of the request. */
function requestOf({ entities }: CedarFiles, asked: Omit<Asked, 'allowed'>): CedarRequest {
  const { identities, scopes, restrictions, scope, namespace, at } = asked;
  const principal = uid('Actor', 'asks');
  // What the file has is taken from there. Of its namespaces, only those that the request is about.
  const known = new Map(entities.map((one) => [JSON.stringify(one.uid), one]));
  const paths = new Set([namespace, ...(restrictions ?? [])].flatMap((path) => lineageOf(pathOf(path))));
  const places = [...paths].map((path) => ({
    uid: uid('Namespace', path),
    attrs: {},
    parents: lineageOf(path)
      .filter((above) => above !== path)
      .map((above) => uid('Namespace', above)),
  }));
  return {
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
    entities: [
      { uid: principal, attrs: {}, parents: identities.map((id) => uid('Identity', id)) },
      ...places.map((one) => known.get(JSON.stringify(one.uid)) ?? one),
      ...entities.filter((one) => !JSON.stringify(one.uid).includes('::Namespace')),
    ],
  };
}

const RUNS = testRuns({ usual: 3, deep: 16 });

it('decides as the engine does: thousands of decisions, on generated policies', () => {
  let allowed = 0;
  let asked = 0;
  fc.assert(
    fc.property(generousWorld, generatedQuestions, (set, questions) => {
      const policy = compiled(set);
      const files = filesOf(policy);
      const requests = questions
        .flatMap((question) => askedOf(policy, question, PLACES))
        // Cedar refuses a request about an action that the schema does not have.
        .filter(({ scope }) => scope !== 'invoice:burn')
        .filter((_, i) => i % 2 === 0);
      const { faults, answers } = askCedar(
        files,
        requests.map((one) => requestOf(files, one)),
      );
      expect(faults).toEqual([]);
      expect(answers).toEqual(requests.map((one) => one.allowed));
      asked += requests.length;
      allowed += requests.filter((one) => one.allowed).length;
    }),
    RUNS,
  );
  expect(asked).toBeGreaterThan(500 * RUNS.numRuns);
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
      'not covered:',
      '  What a canonical path is: a namespace that is not one must be refused before Cedar decides.',
    ],
  ]);
  const files = await filesIn(join(cwd, 'out'));
  expect(files.policies).toContain('// - The instant: `context.now` must be the time of the request.');
  const good = {
    ...{ identities: ['staff:"q\\"'], scopes: null, restrictions: null, scope: 'invoice:approve' },
    ...{ namespace: '/north/x', at: '2026-01-01T00:00:00.000Z' },
  };
  const asked = [
    good,
    { ...good, at: '2029-01-01T00:00:00.000Z' },
    { ...good, identities: ["staff:nia o'hara", 'staff:ben'] },
    { ...good, identities: [] },
    { ...good, scopes: [] },
    { ...good, restrictions: [] },
    { ...good, restrictions: ['/north/x/y'] },
    { ...good, scopes: ['invoice:approve'], restrictions: ['/south', '/north'] },
    { ...good, scope: 'invoice:burn' },
  ];
  const { faults, answers } = askCedar(
    files,
    asked.map((one) => requestOf(files, one)),
  );
  expect(faults).toEqual([]);
  expect(answers.slice(0, -1)).toEqual([true, false, false, false, false, false, false, true]);
  expect(answers.at(-1)).toContain('invoice:burn');
});

test('the files are written to a folder, and nothing in the place of one', async () => {
  const cwd = await makeFolder(FILES);
  for (const file of ['policy.yaml', join('policy.yaml', 'under')]) {
    const refused = await runCli(['export', 'cedar', '.', '-o', file], { cwd });
    expect([refused.status, refused.stderr]).toEqual([2, `error: \`${file}\` is not a folder\n`]);
  }
});

test('Cedar refuses a request of a wrong type, which it would allow without the schema', async () => {
  const cwd = await makeFolder(FILES);
  await runCli(['export', 'cedar', '.', '-o', '.'], { cwd });
  const files = await filesIn(cwd);
  const good = requestOf(files, {
    ...{ identities: ['staff:"q\\"'], scopes: null, restrictions: null, scope: 'invoice:approve' },
    ...{ namespace: '/north/x', at: '2026-01-01T00:00:00.000Z' },
  });
  const wrong = [{ restrictions: '/south' }, { scopes: 'invoice:read' }].map((narrowed) => ({
    ...good,
    context: { ...good.context, ...narrowed },
  }));
  const { answers } = askCedar(files, [good, ...wrong]);
  expect(answers).toEqual([true, expect.stringContaining('context'), expect.stringContaining('context')]);
});

test('the policy of the repository is valid', async () => {
  const cwd = await makeFolder();
  const { status } = await runCli(['export', 'cedar', fromRoot('policies'), '-o', '.'], { cwd });
  expect(status).toBe(0);
  expect(askCedar(await filesIn(cwd), [])).toEqual({ faults: [], answers: [] });
});
