// The pages of diagnostic codes: for a terminal, and as the document that ships.
import type { CodePage } from '../../../engine/compiler.js';

export type NamedPage = CodePage & { readonly code: string };

export function renderList(pages: readonly NamedPage[]): string {
  const width = Math.max(...pages.map(({ code }) => code.length));
  return pages.map(({ code, severity, title }) => `${code.padEnd(width)}  ${severity.padEnd(7)}  ${title}\n`).join('');
}

export function renderPage({ code, severity, title, explanation, wrong, right }: NamedPage): string {
  return `${code} (${severity}): ${title}\n\n${explanation}\n\nWrong:\n${indented(wrong)}\nRight:\n${indented(right)}`;
}

function indented(example: string): string {
  return shown(example)
    .map((line) => `${line === '' ? '' : `  ${line}`}\n`)
    .join('');
}

/** What a terminal or a reader would not see stands as an escape. */
function shown(example: string): readonly string[] {
  return example
    .replace(/\n$/, '')
    .split('\n')
    .map((line) =>
      line.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
    );
}

/** All pages in one document, a heading for each code. */
export function renderMarkdown(pages: readonly NamedPage[]): string {
  const rows = pages.map(
    ({ code, severity, title }) => `| [\`${code}\`](#${code.toLowerCase()}) | ${severity} | ${title} |\n`,
  );
  const head =
    '# Diagnostic codes\n\nWritten by `make docs` from the registry in `diagnostics/codes/`; tests run the examples. `bailiwick codes <code>` shows one page.\nErrors make a policy invalid; warnings do with `--strict`. Codes that begin with `LINT_` have levels (`--level CODE=off`) and can be\nignored in a file with a reason: `# bailiwick-ignore CODE: why`, above an entry, behind it, or at the head of the file for all of it.\n\n| Code | Severity | Says |\n|---|---|---|\n';
  return head + rows.join('') + pages.map(markdownPage).join('');
}

function markdownPage({ code, severity, title, explanation, wrong, right, shows }: NamedPage): string {
  const example = (text: string): string =>
    shows === 'words' ? `${shown(text).join('\n')}\n` : `\`\`\`yaml\n${shown(text).join('\n')}\n\`\`\`\n`;
  return `\n## ${code}\n\n*${severity}*: ${title}. ${explanation}\n\nWrong:\n\n${example(wrong)}\nRight:\n\n${example(right)}`;
}
