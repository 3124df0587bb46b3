// What the language server does again when a text changes, and what it knows after each step.
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { type CheckedFolder, makeFolderChecker } from '../../server/lsp/policy-folder.js';
import { instantOf } from '../../engine/index.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';

const LABS = 'grants/labs.yaml';
const AT = instantOf(Date.parse('2026-12-01T00:00:00Z'));
let folder: string;

beforeAll(async () => {
  folder = join(await makeFolder(), 'policies');
  await cp(fromRoot('policies'), folder, { recursive: true });
});

async function stepsOf(steps: AsyncGenerator<CheckedFolder, void>): Promise<readonly CheckedFolder[]> {
  const all: CheckedFolder[] = [];
  for await (const step of steps) all.push(step);
  return all;
}

test('a file that did not change is not read again', async () => {
  const checker = makeFolderChecker(folder);
  const text = await readFile(join(folder, LABS), 'utf8');
  const [first] = await stepsOf(checker.check(new Map([[LABS, text]]), AT));
  const [second] = await stepsOf(checker.check(new Map([[LABS, `${text}# a comment\n`]]), AT));
  expect(second?.names.size).toBeGreaterThan(10);
  const readAgain = [...(second?.names ?? [])].filter(([path, names]) => first?.names.get(path) !== names);
  expect(readAgain.map(([path]) => path)).toEqual([LABS]);
});

test('each step knows more: names, then what is decided with its tests, then lint', async () => {
  const checker = makeFolderChecker(folder);
  const text = await readFile(join(folder, LABS), 'utf8');
  const twice = `${text}
  - id: once-more
    role: mx-crew
    namespace: /labs
    scopes: [namespace:read]
  - id: and-once-more
    role: mx-crew
    namespace: /labs
    scopes: [namespace:read]
`;
  const steps = await stepsOf(checker.check(new Map([[LABS, twice]]), AT));
  expect(steps.map(({ opened, covered }) => [opened !== null, covered.size > 0])).toEqual([
    [false, false],
    [true, true],
    [true, true],
  ]);
  const lint = steps.map(({ diagnostics }) => diagnostics.filter(({ code }) => code.startsWith('LINT_')).length);
  expect(lint.slice(0, 2)).toEqual([0, 0]);
  expect(lint[2]).toBeGreaterThan(0);
  // Until lint is done again, what it found stands.
  const [next] = await stepsOf(checker.check(new Map([[LABS, `${twice}# a comment\n`]]), AT));
  expect(next?.diagnostics.filter(({ code }) => code.startsWith('LINT_')).length).toBe(lint[2]);
});

test('a mistake ends the check after its first step', async () => {
  const text = await readFile(join(folder, LABS), 'utf8');
  const steps = await stepsOf(
    makeFolderChecker(folder).check(new Map([[LABS, text.replace('scopes:', 'skopes:')]]), AT),
  );
  expect(steps.map(({ opened }) => opened)).toEqual([null]);
  expect(steps[0]?.diagnostics.map(({ code }) => code)).toContain('KEY_UNKNOWN');
});
