// The registry of diagnostic codes: each has a page with a title, an explanation, a wrong and a right example, and
// tests run the examples. A code is never reused and never renamed (design 3.2).
import { LINT_PAGES } from './codes/lint-pages.js';
import type { CodePage } from './codes/page.js';
import { POLICY_PAGES } from './codes/policy-pages.js';
import { TEXT_PAGES } from './codes/text-pages.js';
import { VALUE_PAGES } from './codes/value-pages.js';

export type { CodePage } from './codes/page.js';

export const CODE_PAGES = Object.freeze({ ...TEXT_PAGES, ...VALUE_PAGES, ...POLICY_PAGES, ...LINT_PAGES });

export type DiagnosticCode = keyof typeof CODE_PAGES;

/** The codes of lint rules. */
export type LintCode = Exclude<keyof typeof LINT_PAGES, 'LIMIT_LINT'>;

/** All codes in code unit order. */
export const DIAGNOSTIC_CODES: readonly DiagnosticCode[] = Object.freeze(
  (Object.keys(CODE_PAGES) as DiagnosticCode[]).sort(),
);

export function codePage(code: DiagnosticCode): CodePage {
  return CODE_PAGES[code];
}
