// docs/language.md: what stands below its mark is made from the shapes that policy files are read by.
import { languageMarkdown } from '../../server/cli/topics.js';

const MARK = '<!-- made by `make docs` -->';

/** The page with the tables as they are now. */
export function withLanguage(page: string): string {
  const end = page.indexOf(MARK);
  if (end < 0) throw new Error(`docs/language.md has lost its mark ${MARK}`);
  return `${page.slice(0, end)}${MARK}\n\n${languageMarkdown()}\n`;
}
