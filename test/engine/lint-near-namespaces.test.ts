// LINT_NAMESPACE_LOOKALIKE: slips in namespaces are told, names that differ on purpose are not.
import { expect, it, test } from '@jest/globals';
import { type Diagnostic, lintPolicy, readPolicy } from '../../engine/compiler.js';
import { stopCpu } from '../support/cpu-time.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** One grant for each path. */
function lint(paths: readonly string[], more = ''): readonly Diagnostic[] {
  const grants = paths.map(
    (path, i) => `  - { id: g${String(i)}, identity: "orcid:${String(i)}", scopes: ["*:read"], namespace: ${path} }\n`,
  );
  const reading = readPolicy([
    { path: 'policy.yaml', bytes: bytes('bailiwick: 1\nname: p\nproviders: { orcid: {} }\n') },
    { path: 'a.yaml', bytes: bytes(`grants:\n${grants.join('')}${more}`) },
  ]);
  if (reading.policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
  const input = { ...reading, policy: reading.policy };
  return lintPolicy(input, { at: null, soonMilliseconds: 0, levels: new Map() });
}

test.each([
  ['a letter too few', ['/imaging/archive', '/imaging/archive', '/imaging/archve']],
  ['a letter too many', ['/archive', '/archive/a', '/archiive']],
  ['another letter', ['/archive', '/archive', '/srchive']],
  ['two letters swapped', ['/archive', '/archive', '/acrhive']],
  ['a slip above what is granted', ['/archive/x', '/archive/y', '/archve/z/deep']],
  ['a slip in two grants', ['/archive', '/archive', '/archive', '/archive', '/archve', '/archve/x']],
])('tells %s', (_name, paths) => {
  const found = lint(paths);
  expect(found.map(({ code }) => code)).toEqual(['LINT_NAMESPACE_LOOKALIKE']);
  expect(found[0]?.related).toHaveLength(1);
});

it('names both, where they stand, and what was meant', () => {
  const [found] = lint(['/imaging/archive', '/imaging/archive/x', '/imaging/archve/y']);
  expect(found).toMatchObject({
    severity: 'warning',
    range: { start: { line: 4, column: 67 }, end: { line: 4, column: 84 } },
    message: '`/imaging/archve` is one letter away from `/imaging/archive`, which has 2 grants at or below it',
    help: expect.stringMatching(/^did you mean `\/imaging\/archive`\? /),
    related: [{ range: { start: { line: 2 } }, message: 'a grant at or below `/imaging/archive`' }],
  });
});

const TEST = 'tests:\n  - { name: t, actor: { identities: [orcid:0] }, deny: ["resource:write /archve/x"] }\n';
const GUARDRAIL = 'guardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /archve } }\n';

test.each<readonly [string, readonly string[], string]>([
  ['digits', ['/labs/run-1', '/labs/run-1', '/labs/run-1', '/labs/run-2', '/labs/run-12'], ''],
  ['a digit more', ['/station', '/station', '/station1'], ''],
  ['words of one letter', ['/group-a', '/group-a', '/group-b'], ''],
  ['short names', ['/beam/amx', '/beam/amx', '/beam/fmx'], ''],
  ['names that are used alike', ['/archive', '/archive', '/archive', '/archives', '/archives'], ''],
  ['names that are both used often', [...Array<string>(9).fill('/archive'), '/archives', '/archives', '/archives'], ''],
  ['names in two places', ['/a/archive', '/a/archive', '/b/archve'], ''],
  ['more than one letter', ['/archive', '/archive', '/archvee'], ''],
  ['a name that a test has', ['/archive', '/archive', '/archve'], TEST],
  ['a name that a guardrail has', ['/archive', '/archive', '/archve'], GUARDRAIL],
])('leaves %s alone', (_name, paths, more) => {
  expect(lint(paths, more).map(({ code }) => code)).toEqual([]);
});

test.each([
  ['never', 'never: { scopes: ["*:write"], under: /imaging/archve }', '/imaging/archve', '/imaging/archive'],
  ['a slip above what it names', 'never: { scopes: ["*:write"], under: /imagin/archive/x }', '/imagin', '/imaging'],
  [
    'separate',
    'separate: { scopes: [resource:read, resource:write], under: /imaging/archiive }',
    '/imaging/archiive',
    '/imaging/archive',
  ],
  [
    'a count',
    'atMost: { identities: 1, scope: "*:write", at: /imaging/acrhive }',
    '/imaging/acrhive',
    '/imaging/archive',
  ],
])('tells of a guardrail that guards a place nobody means: %s', (_name, rule, path, meant) => {
  const [found, ...more] = lint(['/imaging/archive', '/imaging/archive'], `guardrails:\n  - { id: g, ${rule} }\n`);
  expect(found).toMatchObject({
    code: 'LINT_NAMESPACE_LOOKALIKE',
    range: { start: { line: 5 } },
    message: `the guardrail \`g\` is about \`${path}\`, which no grant names; it is one letter away from \`${meant}\`, which has 2 grants at or below it`,
    help: `did you mean \`${meant}\`? if both are right, name \`${path}\` in a test, or say so in an ignore comment`,
  });
  expect(more).toEqual([]);
});

test.each([
  [
    'a place that a test names too',
    `guardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /archve } }\n${TEST}`,
  ],
  ['a place below a grant', 'guardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /archive/archve } }\n'],
  ['a new place', 'guardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /vault } }\n'],
  ['another number', 'guardrails:\n  - { id: g, never: { scopes: ["*:write"], under: /archive1 } }\n'],
  ['every top level', 'guardrails:\n  - { id: g, atLeast: { identities: 1, scope: "*:read", at: every-top-level } }\n'],
])('leaves a guardrail alone that is about %s', (_name, more) => {
  expect(lint(['/archive', '/archive'], more)).toEqual([]);
});

it('takes no time for many children', () => {
  const paths = Array.from(
    { length: 12_000 },
    (_, i) => `/proposals/${i.toString(36).replaceAll(/[0-9]/g, 'z')}-name-${String(i)}`,
  );
  const spent = stopCpu();
  expect(lint(paths)).toEqual([]);
  expect(spent()).toBeLessThan(10_000);
});
