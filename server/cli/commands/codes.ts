// `bailiwick codes [code]`: the page of a diagnostic code, or all of them.
import { type Command, Option } from 'commander';
import { usage } from '../failure.js';
import { type CliIo, write, writeJson } from '../io.js';
import { withExamples } from '../options.js';

type CodesFormat = 'text' | 'json' | 'markdown';

export function defineCodes(command: Command, io: CliIo): void {
  command
    .argument('[code]', 'such as GRANT_DUPLICATE')
    .addOption(
      new Option('--format <format>', 'how results are printed').choices(['text', 'json', 'markdown']).default('text'),
    )
    .action((code: string | undefined, options: { readonly format: CodesFormat }) => codes(io, code, options.format));
  withExamples(command, [
    ['what a code of `check` means', 'bailiwick codes LINT_WRITE_AT_ROOT'],
    ['the whole document', 'bailiwick codes --format markdown'],
  ]);
}

async function codes(io: CliIo, code: string | undefined, format: CodesFormat): Promise<void> {
  const [{ codePage, nearest, PROBLEM_CODES }, { renderList, renderMarkdown, renderPage }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/pages.js'),
  ]);
  const wanted = PROBLEM_CODES.filter((known) => code === undefined || known === code.toUpperCase());
  if (code !== undefined && wanted.length === 0) {
    const near = nearest(code.toUpperCase(), PROBLEM_CODES);
    const help = near === null ? 'see `bailiwick codes`' : `did you mean \`${near}\`?`;
    throw usage(`there is no code \`${code}\``, help);
  }
  const pages = wanted.map((known) => ({ code: known, ...codePage(known) }));
  if (format === 'json') await writeJson(io, code === undefined ? { codes: pages } : pages[0]);
  else if (format === 'markdown') await write(io.stdout, renderMarkdown(pages));
  else await write(io.stdout, code === undefined ? renderList(pages) : pages.map(renderPage).join(''));
}
