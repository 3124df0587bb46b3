// The customs of the house: `make` alone lists its targets, recipes stay short, CI counts what jest reported, and comments cite
// pages that a reader of this repository has.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
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

describe('comments', () => {
  const FOLDERS = ['engine', 'server', 'test', 'bench', 'fixtures', 'docs', 'policies', '.ci'];
  const SKIPPED = /(?:^|\/)(?:node_modules|fixtures\/(?:conformance|records))\//;
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(fromRoot(folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  ).filter((path) => /\.(?:ts|mjs|json|yaml|md)$/.test(path) && !SKIPPED.test(path));
  const texts = [...files, 'README.md', 'SECURITY.md', 'CHANGELOG.md', 'Makefile'].map(
    (path) => [path, readFileSync(fromRoot(path), 'utf8')] as const,
  );

  it('cite nothing that is not in the repository', () => {
    const elsewhere =
      /\b(?:design|specification) \d|\b(?:interfaces|security|style|query-shapes|perf-peers|wanted|conventions)\.md\b|\b(?:security|security\.md) [A-Z]\d/;
    const found = texts.flatMap(([path, text]) =>
      elsewhere.test(text) ? [`${path}: ${elsewhere.exec(text)?.[0] ?? ''}`] : [],
    );
    expect(found).toEqual([]);
  });

  it('cite sections that exist: `docs/meaning.md "Visibility"`', () => {
    const headings = new Map<string, readonly string[]>();
    const headingsOf = (page: string): readonly string[] => {
      const known = headings.get(page);
      if (known !== undefined) return known;
      const text = existsSync(fromRoot(page)) ? readFileSync(fromRoot(page), 'utf8') : '';
      const found = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
      headings.set(page, found);
      return found;
    };
    const cited = texts
      .filter(([path]) => /\.(?:ts|mjs)$/.test(path))
      .flatMap(([path, text]) => {
        const joined = text.replaceAll(/\n *(?:\/\/|\*) /g, ' ');
        return [...joined.matchAll(/\b([\w./-]+\.md),? "([^"]+)"/g)].map(([, page = '', section = '']) => ({
          path,
          page,
          section,
        }));
      });
    expect(cited.length).toBeGreaterThan(100);
    expect(cited.filter(({ page, section }) => !headingsOf(page).includes(section))).toEqual([]);
  });
});

describe('CI', () => {
  const report = {
    numPassedTests: 12,
    numFailedTests: 0,
    numPendingTests: 0,
    numRuntimeErrorTestSuites: 0,
    numTotalTestSuites: 1,
    startTime: 1_000,
    testResults: [],
    success: true,
  };
  const took = (seconds: number, { whole = seconds } = {}): object => {
    const endTime = 1_000 + 1_000 * whole;
    return {
      testResults: [{ name: fromRoot('dist/test/engine/one.test.js'), startTime: endTime - 1_000 * seconds, endTime }],
    };
  };

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
    {
      name: 'a file took too long at the end of a run in time',
      change: took(45.1, { whole: 300 }),
      last: '12 passed, 1 failed',
      status: 1,
    },
    { name: 'a slow run, as long as it may', change: took(90, { whole: 600 }), last: '12 passed, 0 failed', status: 0 },
    { name: 'a slow run, too long', change: took(90.1, { whole: 600 }), last: '12 passed, 1 failed', status: 1 },
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
    expect(run.stdout).toContain('50 s; slowest: test/engine/one.test.ts 51 s\n');
  });
});
