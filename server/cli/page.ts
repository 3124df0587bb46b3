// Pages that `make build` made: one file each, into which only data is put (docs/playground.md).
import { readFile } from 'node:fs/promises';
import { CliFailure, EXIT } from './exit.js';
import { escapeJson } from './render/escape.js';

export type PageName = 'playground' | 'report';

/** Where data goes in a page. */
const SLOT = '<!--data-->';

/** The page with this data. No text of the data ends the element that it stands in, and none is run. Throws `CliFailure` if it was not built. */
export async function pageWith(name: PageName, data: unknown): Promise<string> {
  const page = await readFile(new URL(`../console/${name}.html`, import.meta.url), 'utf8').catch((error: unknown) => {
    const message = `the page \`${name}.html\` is missing from this installation`;
    throw new CliFailure(EXIT.usage, 'cli.page', message, {
      help: 'in a checkout, run `make build`; else install the package again',
      cause: error,
    });
  });
  const json = escapeJson(JSON.stringify(data)).replaceAll('<', '\\u003c');
  return page.split(SLOT).join(json);
}
