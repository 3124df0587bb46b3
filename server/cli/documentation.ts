// Where the pages of diagnostic codes are: in the document that ships with the program, and that `make docs` writes.
import { fileURLToPath, pathToFileURL } from 'node:url';

const PAGES = '../../../engine/docs/diagnostics.md';

/** An absolute URI of the page of a code. */
export function helpUri(code: string): string {
  const url = pathToFileURL(fileURLToPath(new URL(PAGES, import.meta.url)));
  url.hash = code.toLowerCase();
  return url.href;
}
