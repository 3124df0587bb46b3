// A report of `check` or `compile` for another program: one entry for each format.
import type { CheckReport } from '../../policy/check-policy.js';
import { type CliIo, pathOf } from '../io.js';
import type { ReportFormat } from '../options.js';
import { programVersion } from '../version.js';
import { renderGithub } from './github.js';
import { renderJunit } from './junit.js';
import { makeLocator } from './problems.js';
import { renderSarif } from './sarif.js';

/** `dir` is the folder as the user named it. */
export function renderFor(
  format: Exclude<ReportFormat, 'text' | 'json'>,
  report: CheckReport,
  { io, dir }: { readonly io: CliIo; readonly dir: string },
): string {
  const locator = makeLocator(io.cwd, pathOf(io, dir));
  switch (format) {
    case 'sarif':
      return renderSarif(report, locator, programVersion());
    case 'github':
      return renderGithub(report, locator);
    case 'junit':
      return renderJunit(report, locator);
  }
}
