// The commands of the house: `make` alone lists its targets, recipes stay short, and CI counts what jest reported.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { fromRoot } from './support/root.js';
import { makeFolder } from './support/temp-folder.js';

const MAX_RECIPE = 3;
const MAKEFILE = readFileSync(fromRoot('Makefile'), 'utf8');

describe('make', () => {
  it('lists its targets when called alone', () => {
    const text = execFileSync('make', ['--no-print-directory'], { cwd: fromRoot(''), encoding: 'utf8' });
    const listed = [...text.matchAll(/^ {2}make (\S+)/gm)].map(([, name]) => name);
    const phony = /^\.PHONY: (.*)$/m.exec(MAKEFILE)?.[1]?.split(' ') ?? [];
    expect(listed).toEqual(expect.arrayContaining(['help', 'setup', 'build', 'run', 'test', 'check', 'ci', 'clean']));
    expect([...listed].sort()).toEqual(phony.filter((name) => name !== 'node').sort());
  });

  it(`has recipes of at most ${String(MAX_RECIPE)} lines`, () => {
    const recipes = [...MAKEFILE.matchAll(/^\S[^\n]*:[^=\n]*\n((?:\t[^\n]*\n)+)/gm)].map(
      ([, lines = '']) => lines.trimEnd().split('\n').length,
    );
    expect(recipes.length).toBeGreaterThan(8);
    expect(Math.max(...recipes)).toBeLessThanOrEqual(MAX_RECIPE);
  });
});

describe('CI', () => {
  const report = {
    numPassedTests: 12,
    numFailedTests: 0,
    numPendingTests: 0,
    numRuntimeErrorTestSuites: 0,
    numTotalTestSuites: 1,
    testResults: [],
    success: true,
  };
  const took = (seconds: number): object => ({
    testResults: [
      { name: fromRoot('dist/test/engine/one.test.js'), startTime: 1_000, endTime: 1_000 + 1_000 * seconds },
    ],
  });

  it('runs `make ci`, which runs the tests', () => {
    expect(readFileSync(fromRoot('.ci/run'), 'utf8')).toMatch(/^make -k ci\b/m);
    expect(MAKEFILE).toMatch(/^ci: check test /m);
    expect(statSync(fromRoot('.ci/run')).mode & 0o111).toBe(0o111);
  });

  it.each([
    { name: 'all passed', change: {}, last: '12 passed, 0 failed', status: 0 },
    { name: 'one failed', change: { numFailedTests: 1, success: false }, last: '12 passed, 1 failed', status: 1 },
    {
      name: 'a suite did not load',
      change: { numRuntimeErrorTestSuites: 1, success: false },
      last: '12 passed, 1 failed',
      status: 1,
    },
    { name: 'a suite was not run', change: { numTotalTestSuites: 0 }, last: '12 passed, 0 failed', status: 1 },
    { name: 'nothing was run', change: { numPassedTests: 0 }, last: '0 passed, 0 failed', status: 1 },
    { name: 'a file took as long as it may', change: took(45), last: '12 passed, 0 failed', status: 0 },
    { name: 'a file took too long', change: took(45.1), last: '12 passed, 1 failed', status: 1 },
    { name: 'there is no report', change: null, last: '0 passed, 0 failed', status: 1 },
  ])('ends with what jest counted: $name', async ({ change, last, status }) => {
    const files = change === null ? {} : { '.run/jest.json': JSON.stringify({ ...report, ...change }) };
    const folder = await makeFolder({ 'test/engine/one.test.ts': '', ...files });
    const run = spawnSync(process.execPath, [fromRoot('.ci/summary.mjs')], { cwd: folder, encoding: 'utf8' });
    expect(run.stdout.trimEnd().split('\n').at(-1)).toBe(last);
    expect(run.status).toBe(status);
  });

  it('names the file that took too long', async () => {
    const folder = await makeFolder({ 'test/engine/one.test.ts': '' });
    const name = join(folder, 'dist/test/engine/one.test.js');
    const testResults = [{ name, startTime: 0, endTime: 51_400 }];
    await mkdir(join(folder, '.run'));
    await writeFile(join(folder, '.run/jest.json'), JSON.stringify({ ...report, testResults }));
    const run = spawnSync(process.execPath, [fromRoot('.ci/summary.mjs')], { cwd: folder, encoding: 'utf8' });
    expect(run.stdout).toContain('test/engine/one.test.ts took 51 s; a file may take 45 s\n');
  });
});
