// What the language server does again when a text changes, and what it knows after each step.
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { type CheckedFolder, makeFolderChecker } from '../../server/lsp/policy-folder.js';
import { instantOf } from '../../engine/index.js';
import { stopCpu } from '../support/cpu-time.js';
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

test('each step knows more: names, then tests, then guardrails, then lint', async () => {
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
  expect(steps.map(({ set, covered }) => [set !== null, covered !== null && covered.size > 0])).toEqual([
    [true, false],
    [true, true],
    [true, true],
    [true, true],
    [true, true],
  ]);
  const lint = steps.map(({ diagnostics }) => diagnostics.filter(({ code }) => code.startsWith('LINT_')).length);
  expect(lint.slice(0, 3)).toEqual([0, 0, 0]);
  expect(lint[3]).toBeGreaterThan(0);
  // Until lint and tests are done again, what they found stands.
  const [next] = await stepsOf(checker.check(new Map([[LABS, `${twice}# a comment\n`]]), AT));
  expect(next?.diagnostics.filter(({ code }) => code.startsWith('LINT_')).length).toBe(lint[3]);
});

test('a change of the shipped policy is checked whole within 100 milliseconds of the processor', async () => {
  const checker = makeFolderChecker(folder);
  const text = await readFile(join(folder, LABS), 'utf8');
  const spent: number[] = [];
  for (let i = 0; i < 15; i += 1) {
    const cpu = stopCpu();
    const steps = await stepsOf(checker.check(new Map([[LABS, `${text}# ${String(i)}\n`]]), AT));
    spent.push(cpu());
    expect(steps.at(-1)?.covered?.size).toBeGreaterThan(10);
  }
  // The first one reads all files, and what runs seldom is not compiled yet.
  expect(spent.slice(5).sort((a, b) => a - b)[5]).toBeLessThan(100);
});

test('a mistake ends the check after its first step', async () => {
  const text = await readFile(join(folder, LABS), 'utf8');
  const steps = await stepsOf(
    makeFolderChecker(folder).check(new Map([[LABS, text.replace('scopes:', 'skopes:')]]), AT),
  );
  expect(steps.map(({ set }) => set)).toEqual([null]);
  expect(steps[0]?.diagnostics.map(({ code }) => code)).toContain('KEY_UNKNOWN');
});
