// `bailiwick fmt <dir>`: writes every policy file of a folder in one layout. Each file is replaced as a whole or not at
// all. Files with mistakes are reported and left unchanged.
import type { Diagnostic } from '../../../engine/compiler.js';
import { groupDigits } from '../../../engine/index.js';
import { addReport, EXIT, usage } from '../exit.js';
import { atPolicy } from '../at-policy.js';
import { pathFailure, replaceFile } from '../files.js';
import { type CliIo, pathOf, print, write } from '../io.js';
import { formats } from '../options.js';
import { renderDiagnostics } from '../render/diagnostics.js';
import { paintFor } from '../render/terminal.js';
import { count, linesText } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<dir>': 'policy folder; with `--check` also `<revision>:<path>` in git',
  '--check': 'write nothing; exit with 7 if a file would change, and name it',
  ...formats(),
});

export const defineFmt = verb(TAKES, fmt, {
  examples: { 'in place': 'bailiwick fmt policies', 'in CI': 'bailiwick fmt policies --check' },
  json: ['{"ok","changed":[path],"unchanged","diagnostics":[Diagnostic],"error"?}'],
});

interface FormattedFiles {
  /** Files that were changed, or with `--check` would be. */
  readonly changed: readonly string[];
  readonly unchanged: number;
  /** Files that cannot be read. */
  readonly refused: number;
  /** What keeps files from being formatted. */
  readonly diagnostics: readonly Diagnostic[];
  readonly sources: ReadonlyMap<string, string>;
}

async function fmt(io: CliIo, { dir, check, format }: Given<typeof TAKES>): Promise<void> {
  const outcome = await atPolicy(io, dir, (content) => {
    // What git has was taken out into a folder that is removed again.
    if (content.kind === 'folder' && check !== true)
      throw usage(`\`${dir}\` is in git, so it cannot be written`, 'name a folder, or add `--check`');
    const folder = content.kind === 'parts' ? pathOf(io, dir) : content.path;
    return formatFolder(folder, { shown: dir, mode: check === true ? 'check' : 'write' });
  });
  const { changed, unchanged, diagnostics } = outcome;
  const refused = diagnostics.some(({ severity }) => severity === 'error');
  const ok = !refused && (check === undefined || changed.length === 0);
  io.setStatus(refused ? EXIT.policyInvalid : ok ? EXIT.ok : EXIT.differences);
  const error = refused
    ? { code: 'policy.invalid', message: 'files with mistakes were left as they are' }
    : { code: 'policy.layout', message: 'files are not formatted' };
  await print(io, format, {
    json: () => ({ ok, changed, unchanged, diagnostics, error: ok ? undefined : error }),
    text: () => renderDiagnostics(diagnostics, outcome.sources, paintFor(io, 'stdout')) + linesText(changed),
  });
  if (format === 'json') return;
  const verb = check === undefined ? 'formatted' : 'to be formatted';
  const left = outcome.refused === 0 ? '' : `, ${groupDigits(outcome.refused)} with mistakes left unchanged`;
  await write(io.stderr, `${count(changed.length, 'file')} ${verb}, ${groupDigits(unchanged)} unchanged${left}\n`);
}

async function formatFolder(
  folder: string,
  { shown, mode }: { readonly shown: string; readonly mode: 'check' | 'write' },
): Promise<FormattedFiles> {
  const [{ formatFile, sortDiagnostics }, { readFolder }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../../policy/open/read-folder.js'),
  ]);
  const reading = await readFolder(folder);
  if (reading.kind === 'path') throw pathFailure(reading.fault, shown);
  const diagnostics = [...reading.diagnostics];
  const sources = new Map<string, string>();
  const changed: string[] = [];
  let unchanged = 0;
  let refused = 0;
  for (const file of reading.files) {
    const formatted = formatFile(file);
    if (!formatted.ok) {
      diagnostics.push(...formatted.diagnostics);
      sources.set(file.path, Buffer.from(file.bytes).toString('utf8'));
      refused += 1;
      continue;
    }
    const bytes = Buffer.from(formatted.text, 'utf8');
    if (bytes.equals(file.bytes)) {
      unchanged += 1;
      continue;
    }
    if (mode === 'write') {
      await replaceFile(`${folder}/${file.path}`, { from: file.bytes, to: bytes, shown: file.path }).catch(
        (error: unknown) => {
          throw addReport(error, { changed, unchanged, diagnostics: sortDiagnostics(diagnostics) });
        },
      );
    }
    changed.push(file.path);
  }
  return { changed, unchanged, refused, diagnostics: sortDiagnostics(diagnostics), sources };
}
