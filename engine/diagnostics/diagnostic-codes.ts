// The registry of diagnostic codes. Each code has a page with a title, an explanation, a wrong and a right example. Tests run the
// examples. A code is never reused and never renamed (docs/language.md "Mistakes").
import { LINT_PAGES } from './codes/lint-pages.js';
import { OUTCOME_PAGES } from './codes/outcome-pages.js';
import type { CodePage } from './codes/page.js';
import { POLICY_PAGES } from './codes/policy-pages.js';
import { TEXT_PAGES } from './codes/text-pages.js';
import { VALUE_PAGES } from './codes/value-pages.js';
import { YAML_PAGES } from './codes/yaml-pages.js';

export type { CodePage } from './codes/page.js';

const DIAGNOSTIC_PAGES = Object.freeze({
  ...TEXT_PAGES,
  ...YAML_PAGES,
  ...VALUE_PAGES,
  ...POLICY_PAGES,
  ...LINT_PAGES,
});

export type DiagnosticCode = keyof typeof DIAGNOSTIC_PAGES;

/** A diagnostic code, or the code of another result of `check`: a failed test or a violated guardrail. */
export type ProblemCode = DiagnosticCode | keyof typeof OUTCOME_PAGES;

const PAGES = Object.freeze({ ...DIAGNOSTIC_PAGES, ...OUTCOME_PAGES });

/** The codes of lint rules. */
export type LintCode = Exclude<keyof typeof LINT_PAGES, 'LIMIT_LINT'>;

/** All codes, in code unit order. */
export const PROBLEM_CODES: readonly ProblemCode[] = Object.freeze((Object.keys(PAGES) as ProblemCode[]).sort());

export function codePage(code: ProblemCode): CodePage {
  return { severity: code in LINT_PAGES ? 'warning' : 'error', ...PAGES[code] };
}
