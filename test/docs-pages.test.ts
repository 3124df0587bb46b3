// The pages of docs/ say what is true: their examples run, their tables are complete, their links lead somewhere.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { WHERE_SCHEMA } from '../server/api/where-schema.js';
import { checkDatasetLine } from '../server/api/dataset-schema.js';
import { parseDecideLine } from '../server/asking/decide-line.js';
import { TOPIC_NAMES } from '../server/cli/topics.js';
import { EXIT_MEANINGS } from '../server/cli/exit.js';
import { QUERY_LIMITS } from '../server/limits/queries.js';
import { DATABASE_LIMITS } from '../server/limits/store.js';
import { PROBLEMS } from '../server/problem.js';
import { parseQuery } from './support/parse-query.js';
import { withCommands, withLanguage, withProblems } from './support/made-pages.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';

const page = (name: string): string => readFileSync(fromRoot(`docs/${name}`), 'utf8');
const PAGES = readdirSync(fromRoot('docs')).filter((name) => name.endsWith('.md'));

function blocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);
}

test('operating.md counts the connections to the store that a gateway may open', () => {
  const sources = readdirSync(fromRoot('server'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(fromRoot(`server/${name}`), 'utf8'));
  const listening = sources.reduce((sum, text) => sum + (text.match(/\bdb\.listen\(/g)?.length ?? 0), 0);
  const { maxConnections, maxWriters, maxVital } = DATABASE_LIMITS;
  const all = maxConnections + maxWriters + maxVital + listening;
  const words = ['none', 'one', 'two', 'three', 'four'];
  expect(page('operating.md')).toContain(
    `and ${words[listening] ?? '?'} that listen. With the default settings this is ${String(all)} for each gateway.`,
  );
});

test.each(PAGES)('the links of %s lead somewhere', (name) => {
  const text = page(name);
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  for (const [, path = '', anchor] of links) {
    const target = path === '' ? fromRoot(`docs/${name}`) : fromRoot(join('docs', path));
    expect([path, existsSync(target)]).toEqual([path, true]);
    if (anchor === undefined) continue;
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    );
    expect(headings).toContain(anchor);
  }
});

test('docs/language.md has every key that a policy file may have', () => {
  expect(withLanguage(page('language.md'))).toBe(page('language.md'));
});

test('docs/errors.md has every problem', () => {
  expect(withProblems(page('errors.md'))).toBe(page('errors.md'));
});

describe('the policies of the pages', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bailiwick-pages-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('in docs/language.md is without mistakes', async () => {
    mkdirSync(join(folder, 'language'));
    const files = blocks(page('language.md'), 'yaml');
    expect(files).toHaveLength(2);
    for (const file of files) {
      const name = /^# (\S+)$/m.exec(file)?.[1] ?? 'unnamed';
      writeFileSync(join(folder, 'language', name), file);
    }
    const { status, stdout, stderr } = await runCli(['check', 'language', '--at', '2026-12-15T00:00:00Z'], {
      cwd: folder,
    });
    expect([status, stdout, stderr]).toEqual([0, 'no mistakes in 2 files, 1 test passed, 2 guardrails held\n', '']);
  });

  it('in docs/language.md about delegation has the error that the page shows', async () => {
    const [header = '', file = '', printed = ''] = blocks(page('language.md').split('## Delegation')[1] ?? '', 'text');
    mkdirSync(join(folder, 'delegated/teams/amx'), { recursive: true });
    writeFileSync(join(folder, 'delegated/policy.yaml'), header);
    writeFileSync(join(folder, 'delegated/teams/amx/staff.yaml'), file);
    const { status, stdout } = await runCli(['check', 'delegated'], { cwd: folder });
    expect([status, stdout]).toEqual([3, printed]);
  });

  it('in README.md is embedded as docs/embedding.md shows', () => {
    const [program = ''] = blocks(page('embedding.md'), 'js');
    const [printed = ''] = blocks(page('embedding.md'), 'text');
    for (const file of blocks(readFileSync(fromRoot('README.md'), 'utf8'), 'yaml')) {
      const path = join(folder, /^# (\S+)$/m.exec(file)?.[1] ?? 'unnamed');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file);
    }
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(fromRoot(''), join(folder, 'node_modules/bailiwick'), 'dir');
    writeFileSync(join(folder, 'embedding.mjs'), program);
    const out = execFileSync(process.execPath, ['embedding.mjs'], { cwd: folder, encoding: 'utf8' });
    expect(out).toBe(printed);
  });

  it('in docs/check-it-yourself.md has the digest that its script prints', () => {
    const text = page('check-it-yourself.md');
    const [script = ''] = blocks(text, 'js');
    const [printed = ''] = blocks(text, 'text');
    writeFileSync(join(folder, 'digest.mjs'), script);
    const out = execFileSync(process.execPath, [join(folder, 'digest.mjs')], { encoding: 'utf8' });
    expect(out).toBe(printed);
    expect(readFileSync(fromRoot('README.md'), 'utf8')).toContain(`decisions ${printed.trim()}`);
  });

  it('in docs/check-it-yourself.md with families has the digest that its script prints', async () => {
    const text = page('check-it-yourself.md').split('### Families of your own')[1] ?? '';
    const [script = ''] = blocks(text, 'js');
    const [printed = ''] = blocks(text, 'text');
    for (const file of blocks(text, 'yaml')) {
      const path = join(folder, /^# (\S+)$/m.exec(file)?.[1] ?? 'unnamed');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file);
    }
    writeFileSync(join(folder, 'families.mjs'), script);
    expect(execFileSync(process.execPath, [join(folder, 'families.mjs')], { encoding: 'utf8' })).toBe(printed);
    const { stdout } = await runCli(['compile', 'desk', '-o', 'desk.json'], { cwd: folder });
    expect(stdout).toContain(`decisions ${printed}`);
  });
});

test('docs/serving.md finds the process of a gateway, however it was started', () => {
  const [, pattern = '-'] = /pgrep -of '(.*)'/.exec(page('serving.md')) ?? [];
  for (const line of [
    '/usr/bin/bailiwick serve --policy p',
    'node /x/dist/server/bin/bailiwick.js serve',
    'node dist/server/bin/bailiwick.js serve',
  ])
    expect(line).toMatch(new RegExp(pattern));
  for (const line of ['vim serve', 'bailiwick status']) expect(line).not.toMatch(new RegExp(pattern));
});

describe('docs/queries.md', () => {
  const text = page('queries.md');

  it('shows a query that is accepted', () => {
    const [query = ''] = blocks(text, 'json');
    expect(parseQuery(JSON.parse(query), 'query').page.size).toBe(50);
  });

  it('lists every operator and its limits', () => {
    const operators = Object.keys(WHERE_SCHEMA.$defs.operators.properties);
    expect(operators.length).toBeGreaterThan(10);
    const problem = PROBLEMS.find(({ code }) => code === 'query.unknown_operator');
    for (const name of operators) {
      expect(text).toMatch(new RegExp(`^\\|[^|]*\`${name}\``, 'm'));
      expect(problem?.help).toContain(`\`${name}\``);
    }
    for (const [what, limit] of [
      ['conditions', QUERY_LIMITS.conditions],
      ['nested groups', QUERY_LIMITS.depth],
      ['values in a list', QUERY_LIMITS.listValues],
      ['keys in `orderBy`', QUERY_LIMITS.orderKeys],
      ['fields in `select`', QUERY_LIMITS.selectFields],
      ['page size', QUERY_LIMITS.pageSize],
    ] as const) {
      expect(text).toMatch(new RegExp(`^\\| ${what} +\\| ${limit.toLocaleString('en')} +\\|$`, 'm'));
    }
  });
});

test('docs/cli.md shows requests that `decide` takes', () => {
  const lines = blocks(page('cli.md'), 'json').flatMap((block) => block.trimEnd().split('\n'));
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(parseDecideLine(Buffer.from(line))).toMatchObject({ ok: true });
});

test('docs/datasets.md shows a line that is accepted', () => {
  const [line = ''] = blocks(page('datasets.md'), 'json');
  expect(checkDatasetLine(JSON.parse(line)).ok).toBe(true);
});

test('docs/cli.md has every setting, every verb and every exit status', async () => {
  expect(await withCommands(page('cli.md'))).toBe(page('cli.md'));
  for (const [status, meaning] of EXIT_MEANINGS)
    expect(page('cli.md')).toContain(`\n| ${String(status)} | ${meaning} |`);
});

test.each(TOPIC_NAMES)('`bailiwick help %s` prints the short form', async (topic) => {
  const { status, stdout } = await runCli(['help', topic]);
  expect(status).toBe(0);
  expect(stdout.split('\n').length).toBeGreaterThan(15);
  expect(stdout.split('\n').every((line) => line.length <= 80)).toBe(true);
});
