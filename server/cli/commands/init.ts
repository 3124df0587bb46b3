// `bailiwick init [dir]`: a new policy folder that passes `check`, with a test, editor schemas and a README. Never touches a
// folder that has anything in it.
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import { CliFailure } from '../failure.js';
import { type CliIo, pathOf, write, writeJson } from '../io.js';
import { type Format, formatOption, withExamples } from '../options.js';

export function defineInit(command: Command, io: CliIo): void {
  command
    .argument('[dir]', 'a folder that is empty or does not exist yet', '.')
    .addOption(formatOption())
    .action((dir: string, options: { readonly format: Format }) => init(io, dir, options.format));
  withExamples(command, [
    ['a policy to begin with', 'bailiwick init policies'],
    ['and whether it is sound', 'bailiwick check policies'],
  ]);
}

async function init(io: CliIo, dir: string, format: Format): Promise<void> {
  const [{ starterFiles }, { codeOf }] = await Promise.all([
    import('../starter-policy.js'),
    import('../../policy/path-fault.js'),
  ]);
  const folder = pathOf(io, dir);
  const unusable = (code: string, message: string): CliFailure =>
    new CliFailure(EXIT.usage, { code, message }, { help: 'name a folder that is empty or does not exist yet' });
  const present = await readdir(folder).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT') return [];
    if (code === 'ENOTDIR') throw unusable('cli.not_a_folder', `\`${dir}\` is not a folder, or stands below a file`);
    throw unusable('cli.unreadable', `\`${dir}\` cannot be read (${code})`);
  });
  if (present.length > 0) throw unusable('cli.not_empty', `\`${dir}\` is not empty`);
  const files = starterFiles(basename(folder));
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      // Fails rather than overwrites what came there meanwhile.
      await writeFile(join(folder, path), text, { flag: 'wx' });
    }
  } catch (error) {
    const message = `\`${dir}\` cannot be written (${codeOf(error)})`;
    throw new CliFailure(EXIT.usage, { code: 'cli.unwritable', message }, { cause: error });
  }
  const paths = [...files.keys()];
  if (format === 'json') await writeJson(io, { folder: dir, files: paths });
  else await write(io.stdout, `${paths.join('\n')}\n`);
  if (format === 'text') await write(io.stderr, `next: bailiwick check ${dir}\n`);
}
