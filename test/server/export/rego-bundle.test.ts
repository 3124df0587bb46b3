// `export rego`: Open Policy Agent decides as the engine does, on generated policies, for paths of every kind and credentials that are
// narrowed in every way.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { policyRows } from '../../../engine/compiler.js';
import { canonicalize, type Policy } from '../../../engine/index.js';
import { REGO_RULES, regoBundle } from '../../../server/export/rego-bundle.js';
import { askedOf, FILES, generatedQuestions } from '../../support/exported-decisions.js';
import { allowedByOpa } from '../../support/opa.js';
import { generousWorld } from '../../support/generous-worlds.js';
import { compiled, PLACES } from '../../support/query-worlds.js';
import { runCli } from '../../support/run-cli.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testRuns } from '../../support/test-runs.js';

const ODD = ['', 'a', '//', '/a/', '/.', '/a/..', '/A', '/a b', '/é', `/${'a'.repeat(64)}`, '/a'.repeat(33), '/a\n'];
const PATHS = [...PLACES, ...ODD];

function dataOf(policy: Policy): object {
  const { files } = regoBundle(policyRows(policy), policy);
  const { bailiwick } = JSON.parse([...(files.get('data.json') ?? [])].join('')) as { readonly bailiwick: object };
  return bailiwick;
}

const RUNS = testRuns({ usual: 1, deep: 10 });

it('decides as the engine does: thousands of decisions, on generated policies', () => {
  let allowed = 0;
  let asked = 0;
  fc.assert(
    fc.property(generousWorld, generatedQuestions, (set, questions) => {
      const policy = compiled(set);
      const all = questions.flatMap((question) => askedOf(policy, question, PATHS));
      const requests = all.filter((_, i) => i % Math.ceil(all.length / 1_200) === 0);
      const inputs = requests.map(({ identities, scopes, restrictions, scope, namespace, at }) => ({
        ...{ identities, scope, namespace, at },
        ...(scopes === null ? {} : { scopes }),
        ...(restrictions === null ? {} : { restrictions }),
      }));
      const expected = requests.map((request) => request.allowed);
      expect(allowedByOpa(REGO_RULES, dataOf(policy), inputs)).toEqual(expected);
      asked += expected.length;
      allowed += expected.filter(Boolean).length;
    }),
    RUNS,
  );
  expect(asked).toBeGreaterThan(1_000 * RUNS.numRuns);
  expect(allowed).toBeGreaterThan(asked / 50);
  expect(allowed).toBeLessThan(asked / 2);
});

test('the policy itself is not replaced', async () => {
  const cwd = await makeFolder(FILES);
  const folder = await makeFolder();
  const snapshot = join(folder, 'data.json');
  expect((await runCli(['compile', '.', '-o', snapshot], { cwd })).status).toBe(0);
  const before = await readFile(snapshot, 'utf8');
  const { status, stderr } = await runCli(['export', 'rego', snapshot, '-o', folder], { cwd });
  expect([status, stderr]).toEqual([2, expect.stringContaining('would be overwritten')]);
  expect(await readFile(snapshot, 'utf8')).toBe(before);
});

test('what is malformed or absent opens nothing', async () => {
  const cwd = await makeFolder(FILES);
  const { status, stdout } = await runCli(['export', 'rego', '.', '-o', 'out'], { cwd });
  expect([status, stdout.split('\n')[1]]).toEqual([0, 'wrote out/data.json']);
  const [rules, text] = await Promise.all(
    ['policy.rego', 'data.json'].map((name) => readFile(join(cwd, 'out', name), 'utf8')),
  );
  const { bailiwick } = JSON.parse(text ?? '') as { readonly bailiwick: object };
  const who = ["staff:nia o'hara"];
  const good = { identities: who, scope: 'invoice:approve', namespace: '/north/oslo', at: '2026-01-01T00:00:00.000Z' };
  const now = { identities: who, scope: 'invoice:approve', namespace: '/north/oslo' };
  const inputs: readonly (readonly [boolean, object])[] = [
    [true, good],
    [true, now],
    [true, { ...good, scopes: null, restrictions: null, at: null }],
    [true, { ...good, scopes: ['invoice:approve'], restrictions: ['/north', '/south'] }],
    [true, { ...good, restrictions: ['/'] }],
    [false, { ...good, restrictions: [] }],
    [false, { ...good, restrictions: ['/north', '/North'] }],
    [false, { ...good, restrictions: '/north' }],
    [false, { ...good, restrictions: ['/nor'] }],
    [false, { ...good, restrictions: false }],
    [false, { ...good, scopes: [] }],
    [false, { ...good, scopes: 'invoice:approve' }],
    [false, { ...good, scopes: ['invoice:*'] }],
    [false, { ...good, at: 'yesterday' }],
    [false, { ...good, at: 0 }],
    [false, { ...good, at: false }],
    [false, { ...good, at: '2030-01-01T00:00:00Z' }],
    [false, { ...good, identities: who[0] }],
    [false, { ...good, identities: [] }],
    [false, { ...good, identities: [...who, 'staff:ben'] }],
    [false, { ...good, identities: ['clerks'] }],
    [false, { ...good, identities: [...who, 'clerks'] }],
    [false, { ...good, identities: [...who, 7] }],
    [false, { ...good, scope: 'invoice:burn' }],
    [false, { ...good, namespace: '/north/' }],
    [false, { ...good, namespace: ['/north'] }],
    [false, {}],
  ];
  expect(
    allowedByOpa(
      rules ?? '',
      bailiwick,
      inputs.map(([, input]) => input),
    ),
  ).toEqual(inputs.map(([answer]) => answer));
});

test('its paths are the engine’s', () => {
  const segments = ['a', '.', '..', '...', '', 'A', 'a'.repeat(63), 'a'.repeat(64), '~', 'a_b', 'a\n', '-', 'é'];
  const texts = [
    ...ODD,
    ...segments.flatMap((one) => [`/${one}`, `/x/${one}`, `/${one}/x`]),
    '/',
    `/${'a'.repeat(63)}`.repeat(16),
  ];
  const grants = { 'p:x': { s: { '/': [[0, 1]] } } };
  const data = { roles: { 'p:x': [] }, exclusive: {}, grants };
  const inputs = texts.map((namespace) => ({ identities: ['p:x'], scope: 's', namespace, at: '1970-01-01T00:00:00Z' }));
  const canonical = texts.map((text) => {
    const result = canonicalize(text);
    return result.ok && result.path === text;
  });
  expect(allowedByOpa(REGO_RULES, data, inputs)).toEqual(canonical);
  expect(new Set(canonical).size).toBe(2);
});
