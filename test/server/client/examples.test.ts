// The examples of docs/client.md, run as they stand there against the demo's data: JavaScript from a folder in which the package is
// installed, Python and a shell where this machine has them.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '../../../server/client/index.js';
import { type Demo, openDemo } from '../../support/demo.js';
import { fromRoot } from '../../support/root.js';
import { newDataDir } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

const run = promisify(execFile);
const page = readFileSync(fromRoot('docs/client.md'), 'utf8');
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);
const has = (...commands: readonly string[]): boolean =>
  commands.every((command) => {
    const { status } = spawnSync(command, ['--version']);
    if (status !== 0) process.stderr.write(`there is no ${command}: its example in docs/client.md is not run\n`);
    return status === 0;
  });

let demo: Demo;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  demo = await openDemo();
  env = { ...process.env, BAILIWICK_URL: demo.url, BAILIWICK_KEY: demo.inesKey };
  folder = await makeFolder();
  await mkdir(join(folder, 'node_modules'));
  await symlink(fromRoot(''), join(folder, 'node_modules/bailiwick'), 'dir');
});

afterAll(async () => {
  await demo.dispose();
});

const stdoutOf = async (command: string, args: readonly string[]): Promise<string> =>
  (await run(command, args, { cwd: folder, env })).stdout;

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  // What TypeScript itself brings is not ours.
  skipDefaultLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  typeRoots: [fromRoot('node_modules/@types')],
};

describe('the example in', () => {
  const [overHttp = '', batch = '', names = '', local = ''] = blocks('ts');

  // As strictly as TypeScript can, the types of the package included; together, as most of the time goes to those.
  it('TypeScript compiles in strict mode', async () => {
    const files = [
      ['example', overHttp],
      ['batch', batch.replace("'.bailiwick/trial'", JSON.stringify(await newDataDir()))],
      ['names', names.replace("'.bailiwick/names'", JSON.stringify(await newDataDir()))],
      ['local', local.replace("'.bailiwick'", JSON.stringify(await newDataDir()))],
    ].map(([name = '', text = '']) => [join(folder, `${name}.mts`), text] as const);
    for (const [file, text] of files) await writeFile(file, text);
    const program = ts.createProgram(
      files.map(([file]) => file),
      OPTIONS,
    );
    const mistakes = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
    expect(mistakes).toEqual([]);
    program.emit();
  });

  it.each([
    ['over HTTP', 'example', blocks('text')[0]],
    ['as a batch', 'batch', '/trial 1 3\n'],
    ['by name', 'names', 'true 2\nlysozyme-7 sample 1\n'],
    ['without a gateway', 'local', '0\n'],
  ])('TypeScript prints what it says, %s', async (_, name, said) => {
    expect(await stdoutOf(process.execPath, [`${name}.mjs`])).toBe(said);
  });

  const query = { family: 'resource', namespace: '/beamlines/amx', reach: 'subtree' } as const;
  const total = (): Promise<number> => connect({ url: demo.url, token: demo.inesKey }).count(query);

  (has('python3') ? it : it.skip)('Python goes through all pages', async () => {
    const count = await total();
    expect(await stdoutOf('python3', ['-c', blocks('python')[0] ?? ''])).toBe(`${String(count)} ${String(count)}\n`);
  });

  (has('curl', 'jq') ? it : it.skip)('a shell goes through all pages', async () => {
    const names = (await stdoutOf('sh', ['-euc', blocks('sh')[0] ?? ''])).trimEnd().split('\n');
    expect(names).toHaveLength(await total());
  });
});
