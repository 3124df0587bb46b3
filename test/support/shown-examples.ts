// Documents that show commands and what they print: `$ command` in a block of language `console`, with the output below
// it. The commands run one after the other in a copy of the files that they may read, with the compiled `bailiwick`,
// and in a shell if they need one.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../server/cli/main.js';
import { makeIo } from './cli-io.js';
import { fromRoot } from './root.js';
import { CLI } from './run-cli.js';

const READ = ['policies', 'fixtures/examples'];
/** Words that mean the same with a shell and without. */
const PLAIN = /^bailiwick(?: [\w./:@=,-]+)+$/;
const BLOCK = /^(`{3,4})console\n(.*?)^\1$/gms;

/** The document with each command's output as it is now. */
export async function refreshExamples(markdown: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-examples-'));
  try {
    for (const path of READ) await cp(fromRoot(path), join(folder, path), { recursive: true });
    await mkdir(join(folder, 'bin'));
    const program = join(folder, 'bin/bailiwick');
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
    await chmod(program, 0o755);
    let refreshed = '';
    let end = 0;
    for (const block of markdown.matchAll(BLOCK)) {
      const [all, fence = '', text = ''] = block;
      refreshed += `${markdown.slice(end, block.index)}${fence}console\n`;
      for (const [line, command = ''] of text.matchAll(/^\$ (.*)\n/gm))
        refreshed += line + (await run(command, folder));
      refreshed += fence;
      end = block.index + all.length;
    }
    return refreshed + markdown.slice(end);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What it prints, messages among the results as on a terminal. A command that fails is an example like any other. */
async function run(command: string, cwd: string): Promise<string> {
  const env = { PATH: `${join(cwd, 'bin')}:${process.env['PATH'] ?? ''}`, LC_ALL: 'C' };
  const printed = await (PLAIN.test(command) ? runHere(command, { cwd, env }) : runInShell(command, { cwd, env }));
  return printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`;
}

interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** In this process: starting one for each command took most of the time. */
async function runHere(command: string, given: Surroundings): Promise<string> {
  const { io, stdout } = makeIo(given);
  await main(command.split(' ').slice(1), { ...io, stderr: io.stdout });
  return stdout();
}

function runInShell(command: string, given: Surroundings): Promise<string> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', `exec 2>&1; ${command}`], given, (_failure, stdout) => {
      resolve(stdout);
    });
  });
}
