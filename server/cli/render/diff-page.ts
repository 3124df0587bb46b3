// `diff` as a page: the answer in JSON, with what heads it.
import type { DiffReport } from '../../../engine/compiler.js';
import { changeLines, checkLines, type Compared, diffJson, exclusiveLines, exclusiveText } from './diff.js';

/** What the report page reads (server/console/page/report.ts). */
export function diffPageData(
  report: DiffReport,
  compared: Compared,
  about: { readonly title: string; readonly made: string; readonly version: string },
): object {
  return {
    ...about,
    ...Object.fromEntries(diffJson(report, compared)),
    weaker: [
      ...exclusiveLines(report).map(({ change, pair: [a, b] }) => exclusiveText(change, a, b)),
      ...checkLines(compared.checks).map(
        ({ kind, change, names }) => `${kind} ${change}${names.length === 0 ? '' : `: ${names.join(', ')}`}`,
      ),
      ...changeLines(compared.checks).map(({ name, text, weaker }) => `${name}${weaker ? ' is weaker' : ''}: ${text}`),
    ],
  };
}
