// Mistakes in policy files, as data. Codes and their pages live in one registry, `diagnostic-codes.ts`.
import type { DiagnosticCode } from './diagnostic-codes.js';

export type Severity = 'error' | 'warning' | 'info';

/** Lines and columns count from 1, columns in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The end is exclusive. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

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
