// A command that failed altogether, in the format that was asked for: a program that reads SARIF or JUnit gets SARIF or JUnit
// on every path.
import type { ExitStatus } from '../exit-codes.js';
import { programVersion } from '../version.js';
import { renderGithubFailure } from './github.js';
import { renderJunitFailure } from './junit.js';
import { renderSarifFailure } from './sarif.js';

interface Failed {
  readonly status: ExitStatus;
  readonly code: string;
  readonly message: string;
}

/** Null for formats that have no failures of their own. */
export function renderFailureFor(format: string, { status, code, message }: Failed): string | null {
  switch (format) {
    case 'sarif':
      return renderSarifFailure(message, status, programVersion());
    case 'github':
      return renderGithubFailure(code, message);
    case 'junit':
      return renderJunitFailure(code, message);
    default:
      return null;
  }
}
