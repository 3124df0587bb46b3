// The generated parts of docs/, each below a mark: the tables of policy keys and of problems, and the help of the
// verbs.
import { policyLanguage } from '../../engine/compiler.js';
import { title } from '../../server/cli/topics.js';
import { PROBLEMS } from '../../server/problem.js';
import { commandsMarkdown } from './cli-page.js';

const MARK = '<!-- made by `make docs` -->';

/** docs/language.md with the tables as they are now. */
export function withLanguage(page: string): string {
  const tables = policyLanguage().map(({ what, keys }) => {
    const rows = keys.map(({ key, need, takes, about }) => `| \`${key}\` | ${need} | ${takes} | ${about} |`);
    return [`### ${title(what)}`, '', '| Key | | Takes | Means |', '|---|---|---|---|', ...rows].join('\n');
  });
  return withMade(page, tables.join('\n\n'));
}

/** docs/errors.md with the problems as they are now. */
export function withProblems(page: string): string {
  const rows = PROBLEMS.map(
    ({ code, status, title, help }) => `| \`${code}\` | ${String(status)} | ${title}. ${help} |`,
  );
  return withMade(page, ['| Code | Status | Means |', '|---|---|---|', ...rows].join('\n'));
}

/** docs/cli.md with settings and verbs as they are now. */
export async function withCommands(page: string): Promise<string> {
  return withMade(page, await commandsMarkdown());
}

function withMade(page: string, made: string): string {
  const end = page.indexOf(MARK);
  if (end < 0) throw new Error(`the page has lost its mark ${MARK}`);
  return `${page.slice(0, end)}${MARK}\n\n${made}\n`;
}
