// Documents that show commands and what they print: `$ command` in a block of language `console`, the output below it. The commands
// are carried out one after the other by a shell, in a copy of what they may read, with `bailiwick` being the compiled one.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromRoot } from './root.js';
import { CLI } from './run-cli.js';

const READ = ['policies', 'fixtures/examples'];
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

/** What a shell prints, messages among the results as on a terminal. A command that fails is an example like any other. */
function run(command: string, cwd: string): Promise<string> {
  const env = { PATH: `${join(cwd, 'bin')}:${process.env['PATH'] ?? ''}`, LC_ALL: 'C' };
  return new Promise((resolve) => {
    execFile('sh', ['-c', `exec 2>&1; ${command}`], { cwd, env }, (_failure, stdout) => {
      resolve(stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`);
    });
  });
}
