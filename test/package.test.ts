// The package that `npm pack` makes, as others install it: small, without tests and bad policies, and working. Its
// dependencies are linked from here, so nothing is downloaded.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { fromRoot } from './support/root.js';

const run = promisify(execFile);

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;
let warnings: readonly string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bailiwick-package-'));
  const { stdout, stderr } = await run('npm', ['pack', '--json', '--offline', '--pack-destination', folder], {
    cwd: fromRoot('.'),
  });
  const [only] = JSON.parse(stdout) as readonly Packed[];
  if (only === undefined) throw new Error('npm packed nothing');
  warnings = stderr.split('\n').filter((line) => /warn|error/i.test(line));
  packed = only;
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A folder in which the package is installed, with these of its dependencies and no others. */
async function install(name: string, dependencies: readonly string[]): Promise<string> {
  const modules = join(folder, name, 'node_modules');
  mkdirSync(join(modules, 'bailiwick'), { recursive: true });
  await run('tar', ['-xzf', join(folder, packed.filename), '--strip-components=1', '-C', join(modules, 'bailiwick')]);
  mkdirSync(join(modules, '.bin'));
  symlinkSync('../bailiwick/dist/server/bin/bailiwick.js', join(modules, '.bin', 'bailiwick'));
  await run('chmod', ['755', join(modules, 'bailiwick/dist/server/bin/bailiwick.js')]);
  for (const dependency of dependencies) {
    mkdirSync(dirname(join(modules, dependency)), { recursive: true });
    symlinkSync(fromRoot(`node_modules/${dependency}`), join(modules, dependency));
  }
  return join(folder, name);
}

test('is less than 2 MB, a fifth of it the pages, with everything that runs and nothing else', () => {
  process.stderr.write(
    `the package takes ${String(Math.round(packed.size / 1000))} kB, ${String(packed.files.length)} files\n`,
  );
  expect(packed.size).toBeLessThan(2_000_000);
  const paths = packed.files.map(({ path }) => path);
  const KNOWN =
    /^(?:dist\/engine\/.*\.(?:js|d\.ts)|dist\/server\/(?:bin|sql)\/[\w-]+\.js|dist\/server\/console\/\w+\.html|dist\/server\/(?:(?:api|client|sql)\/[a-z-]+|problem)\.d\.ts|deploy\/[a-z]+\/[\w.]+|docs\/.*\.md|docs\/examples\/.*\.(?:yaml|mjs)|engine\/docs\/.*\.md|server\/docs\/.*\.(?:yaml|py)|(?:bench|engine|server(?:\/query)?)\/README\.md|policies\/.*|[A-Z]+(?:\.md)?|package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  for (const path of [
    'dist/server/console/playground.html',
    'dist/server/bin/bailiwick.js',
    'policies/.schema/policy.json',
    'LICENSE',
    'docs/language.md',
  ])
    expect(paths).toContain(path);
});

test('is packed without a warning, and runs nothing when it is installed', () => {
  expect(warnings).toEqual([]);
  const { scripts } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare'];
  expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([]);
});

test('says in its declarations what each name means, and has no comments in its JavaScript', () => {
  for (const door of ['engine/index', 'engine/compiler', 'server/client/index', 'server/client/local'])
    expect(readFileSync(fromRoot(`dist/${door}.js`), 'utf8')).not.toMatch(/^\s*(?:\/\*\*|\*|\/\/ )/m);
  for (const declared of ['engine/evaluate/decide', 'server/client/client'])
    expect(readFileSync(fromRoot(`dist/${declared}.d.ts`), 'utf8')).toContain('/**');
});

test('has whatever its pages link to', () => {
  const paths = packed.files.map(({ path }) => path);
  const pages = paths.filter((path) => path.endsWith('.md'));
  expect(pages).toContain('README.md');
  const missing = pages.flatMap((page) =>
    [...readFileSync(fromRoot(page), 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+)/g)]
      .map(([, link = '']) => join(dirname(page), link))
      .filter((target) => !paths.includes(target))
      .map((target) => `${page}: ${target}`),
  );
  expect(missing).toEqual([]);
});

describe('installed with what it depends on', () => {
  it('is a command that begins a policy in an empty folder and in a fresh clone', async () => {
    const { dependencies } = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const home = await install('whole', Object.keys(dependencies));
    const env = { ...process.env, npm_config_offline: 'true', npm_config_cache: join(folder, 'cache') };
    const npx = (cwd: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> =>
      run('npx', ['bailiwick', ...args], { cwd, env });
    expect((await npx(home, 'help')).stdout).toContain('Author policies:');
    for (const name of ['empty', 'clone']) {
      const cwd = join(home, name);
      mkdirSync(cwd);
      if (name === 'clone') await run('git', ['init', '--quiet'], { cwd });
      expect((await npx(cwd, 'init')).stdout).toContain('policy.yaml\n');
      expect((await npx(cwd, 'check', '.')).stdout).toContain('1 test passed, 1 guardrail held');
    }
  });
});

describe('the engine alone', () => {
  // Whatever else it loaded would not be found.
  it.each([
    [
      'decides',
      ['fast-json-stable-stringify'],
      "const { canonicalize } = await import('bailiwick'); console.log(canonicalize('labs/').path)",
    ],
    [
      'is not needed by the client',
      [],
      "const { connect } = await import('bailiwick/client'); const fetch = async (url) => Response.json({ id: new URL(url).pathname }); console.log((await connect({ url: 'http://x/labs/..', fetch }).whoami()).id.replace('api/v1/whoami', 'labs'))",
    ],
    [
      'compiles',
      ['fast-json-stable-stringify', 'yaml'],
      "const { readPolicy, compilePolicy } = await import('bailiwick/compiler'); const bytes = new TextEncoder().encode('bailiwick: 1\\nname: labs\\nproviders: {}\\n'); console.log(compilePolicy(readPolicy([{ path: 'policy.yaml', bytes }]).policy).ok ? '/labs' : 'no')",
    ],
  ])('%s with %j, without express, knex and PGlite', async (name, dependencies, script) => {
    const cwd = await install(name, dependencies);
    expect((await run(process.execPath, ['--input-type=module', '-e', script], { cwd })).stdout).toBe('/labs\n');
  });
});
