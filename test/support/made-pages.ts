// What is made in docs/: below a mark, tables from the shapes that policy files are read by and from the table of problems.
import { languageMarkdown } from '../../server/cli/topics.js';
import { PROBLEMS } from '../../server/problem.js';

const MARK = '<!-- made by `make docs` -->';

/** docs/language.md with the tables as they are now. */
export function withLanguage(page: string): string {
  return withMade(page, languageMarkdown());
}

/** docs/errors.md with the problems as they are now. */
export function withProblems(page: string): string {
  const rows = PROBLEMS.map(
    ({ code, status, title, help }) => `| \`${code}\` | ${String(status)} | ${title}. ${help} |`,
  );
  return withMade(page, ['| Code | Status | Means |', '|---|---|---|', ...rows].join('\n'));
}

function withMade(page: string, made: string): string {
  const end = page.indexOf(MARK);
  if (end < 0) throw new Error(`the page has lost its mark ${MARK}`);
  return `${page.slice(0, end)}${MARK}\n\n${made}\n`;
}
