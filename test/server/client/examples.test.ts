// The examples of docs/client.md, run as they stand there against the demo's data: JavaScript from a folder in which the package is
// installed, Python and a shell where this machine has them.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

describe('the example in', () => {
  it('JavaScript prints what it says', async () => {
    const [program = ''] = blocks('js');
    await writeFile(join(folder, 'example.mjs'), program);
    expect(await stdoutOf(process.execPath, ['example.mjs'])).toBe(blocks('text')[0]);
  });

  it('JavaScript without a gateway counts', async () => {
    const [, program = ''] = blocks('js');
    await writeFile(join(folder, 'local.mjs'), program.replace("'.bailiwick'", JSON.stringify(await newDataDir())));
    expect(await stdoutOf(process.execPath, ['local.mjs'])).toBe('0\n');
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
