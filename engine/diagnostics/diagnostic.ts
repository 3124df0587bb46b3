// Mistakes in policy files, as data. Codes and their pages live in one registry, `diagnostic-codes.ts`.
import type { Range } from '../model/span.js';
import type { Severity } from './codes/page.js';
import type { DiagnosticCode } from './diagnostic-codes.js';

export interface Related {
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  readonly range: Range;
  readonly message: string;
}

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: Severity;
  readonly file: string;
  readonly range: Range;
  readonly message: string;
  readonly help?: string;
  readonly related: readonly Related[];
}
