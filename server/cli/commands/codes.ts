// `bailiwick codes [code]`: the page of a diagnostic code, or all of them, for a terminal and as the document that ships.
import type { CodePage } from '../../../engine/compiler.js';
import { nearest } from '../../../engine/index.js';
import { meantOr, usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import { formats } from '../options.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '[code]': 'diagnostic code, such as GRANT_DUPLICATE (default: list all)',
  ...formats(['markdown']),
});

export const defineCodes = verb(TAKES, codes, {
  examples: {
    'what a code of `check` means': 'bailiwick codes LINT_WRITE_AT_ROOT',
    'the complete document': 'bailiwick codes --format markdown',
  },
});

async function codes(_io: CliIo, { code, format }: Given<typeof TAKES>): Promise<Answer> {
  const { codePage, PROBLEM_CODES } = await import('../../../engine/compiler.js');
  const wanted = PROBLEM_CODES.filter((known) => code === undefined || known === code.toUpperCase());
  if (code !== undefined && wanted.length === 0) {
    const help = meantOr(nearest(code.toUpperCase(), PROBLEM_CODES), 'see `bailiwick codes`');
    throw usage(`there is no code \`${code}\``, help);
  }
  const pages = wanted.map((known) => ({ code: known, ...codePage(known) }));
  const text = (): string => (code === undefined ? renderList(pages) : pages.map(renderPage).join(''));
  return {
    json: () => (code === undefined ? { codes: pages } : { ...pages[0] }),
    text: () => (format === 'markdown' ? renderMarkdown(pages) : text()),
  };
}

type NamedPage = CodePage & { readonly code: string };

function renderList(pages: readonly NamedPage[]): string {
  const width = Math.max(...pages.map(({ code }) => code.length));
  return pages.map(({ code, severity, title }) => `${code.padEnd(width)}  ${severity.padEnd(7)}  ${title}\n`).join('');
}

function renderPage({ code, severity, title, explanation, wrong, right }: NamedPage): string {
  return `${code} (${severity}): ${title}\n\n${explanation}\n\nWrong:\n${indented(wrong)}\nRight:\n${indented(right)}`;
}

function indented(example: string): string {
  return shown(example)
    .map((line) => `${line === '' ? '' : `  ${line}`}\n`)
    .join('');
}

/** Invisible characters are shown as escapes. */
function shown(example: string): readonly string[] {
  return example
    .replace(/\n$/, '')
    .split('\n')
    .map((line) =>
      line.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
    );
}

/** All pages in one document, a heading for each code. */
function renderMarkdown(pages: readonly NamedPage[]): string {
  const rows = pages.map(
    ({ code, severity, title }) => `| [\`${code}\`](#${code.toLowerCase()}) | ${severity} | ${title} |\n`,
  );
  const head =
    '# Diagnostic codes\n\nWritten by `make docs` from the registry in `diagnostics/codes/`; tests run the examples. `bailiwick codes <code>` shows one page.\nErrors make a policy invalid; warnings do with `--strict`. Codes that begin with `LINT_` have levels (`--level CODE=off`) and can be\nignored in a file with a reason: `# bailiwick-ignore CODE: why`, above an entry, after it on its line, or at the head of the file for the whole file.\n\n| Code | Severity | Says |\n|---|---|---|\n';
  return head + rows.join('') + pages.map(markdownPage).join('');
}

function markdownPage({ code, severity, title, explanation, wrong, right, shows }: NamedPage): string {
  const example = (text: string): string =>
    shows === 'words' ? `${shown(text).join('\n')}\n` : `\`\`\`yaml\n${shown(text).join('\n')}\n\`\`\`\n`;
  return `\n## ${code}\n\n*${severity}*: ${title}. ${explanation}\n\nWrong:\n\n${example(wrong)}\nRight:\n\n${example(right)}`;
}
