// Delegated folders (docs/language.md "Delegation"): whoever edits their files in any way decides at or below their namespace alone.
import { describe, expect, it, test } from '@jest/globals';
import { readPolicy } from '../../engine/compiler.js';

const HEADER = 'bailiwick: 1\nname: lab\nproviders: { p: {} }\n';
const FOLDERS = 'folders:\n  teams/amx: { within: /amx }\n';
const AMX =
  'roles: { amx: { members: [p:ana], scopes: [resource:read] } }\ngrants: [{ id: amx, role: amx, namespace: /amx }]\n';

/** `CODE file: text` of each mistake. */
function mistakes(files: Readonly<Record<string, string>>): readonly string[] {
  const all = { 'policy.yaml': HEADER + FOLDERS, 'teams/amx/amx.yaml': AMX, ...files };
  const { diagnostics, sources } = readPolicy(
    Object.entries(all).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) })),
  );
  return diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ code, file, range: { start, end } }) => {
      const line = (sources.get(file) ?? '').split('\n')[start.line - 1] ?? '';
      return `${code} ${file}: ${line.slice(start.column - 1, end.line === start.line ? end.column - 1 : undefined)}`;
    });
}

const grant = (rest: string): string => `grants: [{ id: other, ${rest}, scopes: [resource:read] }]\n`;

describe('a delegated folder', () => {
  it('decides at or below its namespace', () => {
    const below = 'within: /amx/run\n' + grant('identity: p:bo, namespace: /amx/run/7');
    expect(mistakes({ 'teams/amx/deep/run.yaml': below })).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    [
      'a grant elsewhere',
      { 'teams/amx/x.yaml': grant('identity: p:bo, namespace: /amx2') },
      'DELEGATED_OUTSIDE teams/amx/x.yaml: /amx2',
    ],
    [
      'a grant above, in a folder below',
      { 'teams/amx/a/x.yaml': grant('identity: p:bo, namespace: /') },
      'DELEGATED_OUTSIDE teams/amx/a/x.yaml: /',
    ],
    [
      'a `within` of the file that reaches further',
      { 'teams/amx/x.yaml': 'within: /\n' + grant('identity: p:bo, namespace: /amx') },
      'DELEGATED_OUTSIDE teams/amx/x.yaml: /',
    ],
    [
      'a test that asks elsewhere',
      { 'teams/amx/x.yaml': 'tests: [{ name: t, actor: { identities: [p:ana] }, deny: [resource:read /fmx] }]\n' },
      'DELEGATED_OUTSIDE teams/amx/x.yaml: resource:read /fmx',
    ],
    [
      'a guardrail elsewhere',
      { 'teams/amx/x.yaml': 'guardrails: [{ id: g, never: { scopes: [resource:write], under: /fmx } }]\n' },
      'DELEGATED_OUTSIDE teams/amx/x.yaml: g',
    ],
    [
      'a guardrail about everything',
      { 'teams/amx/x.yaml': 'guardrails: [{ id: g, expires: { providers: [p], within: 9d } }]\n' },
      'DELEGATED_SECTION teams/amx/x.yaml: g',
    ],
    [
      'people',
      { 'teams/amx/x.yaml': 'people: { ana: { identities: [p:ana] } }\n' },
      'DELEGATED_SECTION teams/amx/x.yaml: ana',
    ],
    [
      'its own bounds',
      { 'teams/amx/x.yaml': 'folders: { teams/amx: { within: / } }\n' },
      'KEY_MISPLACED teams/amx/x.yaml: folders',
    ],
    [
      'exclusive identities',
      { 'teams/amx/x.yaml': 'exclusive: [[p:a, p:b]]\n' },
      'KEY_MISPLACED teams/amx/x.yaml: exclusive',
    ],
  ])('does not have %s', (_, files, expected) => {
    expect(mistakes(files)).toEqual([expected]);
  });
});

describe('a role of a delegated folder', () => {
  const exporting = { 'policy.yaml': `${HEADER}folders:\n  teams/amx: { within: /amx, exports: [amx] }\n` };
  const central: readonly (readonly [string, string, string])[] = [
    ['a grant elsewhere', grant('role: amx, namespace: /fmx'), 'amx'],
    [
      'a grant to a role that contains it',
      `roles: { all: { members: [{ role: inner }] }, inner: { members: [{ role: amx }] } }\n${grant('role: all, namespace: /')}`,
      'all',
    ],
    [
      'a guardrail that leaves it out',
      'guardrails: [{ id: g, never: { scopes: [resource:write], under: /amx, except: { roles: [amx] } } }]\n',
      'amx',
    ],
    [
      'a guardrail that speaks of it',
      'guardrails: [{ id: g, never: { scopes: [resource:write], under: /, to: { roles: [amx] } } }]\n',
      'amx',
    ],
  ];

  test.each(central)('is not used by %s, unless it is exported', (_, text, at) => {
    expect(mistakes({ 'central.yaml': text })).toEqual([`DELEGATED_ROLE central.yaml: ${at}`]);
    expect(mistakes({ ...exporting, 'central.yaml': text })).toEqual([]);
  });

  it('may be used by others at or below the namespace of the folder, and may contain roles of others', () => {
    const roles = 'roles: { staff: { members: [p:bo] } }\n';
    expect(mistakes({ 'central.yaml': roles + grant('role: amx, namespace: /amx/run') })).toEqual([]);
    const own = AMX.replace('[p:ana]', '[p:ana, { role: staff }]');
    expect(mistakes({ 'central.yaml': roles, 'teams/amx/amx.yaml': own })).toEqual([]);
  });
});

describe('a folder inside a delegated folder', () => {
  const nested = (inner: string, outer = ''): Readonly<Record<string, string>> => ({
    'policy.yaml': `${HEADER}folders:\n  teams/amx: { within: /amx${outer} }\n  teams/amx/run: { ${inner} }\n`,
    'teams/amx/run/run.yaml': 'roles: { run: { members: [p:cy] } }\n',
  });

  it('only narrows', () => {
    expect(mistakes(nested('within: /amx/run'))).toEqual([]);
    expect(mistakes(nested('within: /fmx'))).toEqual(['DELEGATED_OUTSIDE policy.yaml: /fmx']);
    const wide = { 'teams/amx/run/x.yaml': grant('identity: p:bo, namespace: /amx') };
    expect(mistakes({ ...nested('within: /amx/run'), ...wide })).toEqual([
      'DELEGATED_OUTSIDE teams/amx/run/x.yaml: /amx',
    ]);
  });

  it('exports as far as the folder around it reaches, which exports further', () => {
    const near = { 'teams/amx/near.yaml': grant('role: run, namespace: /amx') };
    const far = { 'central.yaml': grant('role: run, namespace: /') };
    const exported = 'within: /amx/run, exports: [run]';
    expect(mistakes({ ...nested('within: /amx/run'), ...near })).toEqual(['DELEGATED_ROLE teams/amx/near.yaml: run']);
    expect(mistakes({ ...nested(exported), ...near })).toEqual([]);
    expect(mistakes({ ...nested(exported), ...far })).toEqual(['DELEGATED_ROLE central.yaml: run']);
    expect(mistakes({ ...nested(exported, ', exports: [run]'), ...far })).toEqual([]);
  });
});

describe('what delegates', () => {
  test.each([
    ['a folder that no file is in', 'teams/anx: { within: /amx }', 'FOLDER_UNKNOWN policy.yaml: teams/anx'],
    ['a path with a slash at its end', 'teams/amx/: { within: /amx }', 'FOLDER_PATH policy.yaml: teams/amx/'],
    ['a path that leads out', '../amx: { within: /amx }', 'FOLDER_PATH policy.yaml: ../amx'],
    [
      'an export that is not declared there',
      'teams/amx: { within: /amx, exports: [x] }',
      'FOLDER_EXPORT policy.yaml: x',
    ],
    ['no namespace', 'teams/amx: {}', 'KEY_MISSING policy.yaml: {}'],
  ])('is not %s', (_, folder, expected) => {
    expect(mistakes({ 'policy.yaml': `${HEADER}folders: { ${folder} }\n` })).toEqual([expected]);
  });
});
