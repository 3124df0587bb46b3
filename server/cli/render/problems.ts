// Everything that can be wrong with a policy in one form: diagnostics, failed tests and violated guardrails, each with
// a place and a text. Also where the files of a policy are, in the form that other programs read. Their formats are
// made from this.
import { isAbsolute, relative, sep } from 'node:path';
import type {
  GuardrailViolation,
  PolicyTestFailure,
  ProblemCode,
  Range,
  Related,
  Severity,
} from '../../../engine/compiler.js';
import { renderViolations } from './guardrails.js';
import { plain } from './terminal.js';
import { renderTestFailures } from './test-failures.js';
import type { CheckReport } from '../../policy/open/check-policy.js';

export interface CheckProblem {
  readonly code: ProblemCode;
  readonly severity: Severity;
  /** A path in the policy folder. */
  readonly file: string;
  readonly range: Range;
  /** One line. */
  readonly message: string;
  /** More lines; may be empty. */
  readonly detail: string;
  readonly related: readonly Related[];
}

export function problemsOf(report: CheckReport): readonly CheckProblem[] {
  return [
    ...report.diagnostics.map(({ help, ...diagnostic }) => ({
      ...diagnostic,
      detail: help === undefined ? '' : `help: ${help}`,
    })),
    ...report.tests.failures.map(failureProblem),
    ...report.guardrails.violations.map(violationProblem),
  ];
}

function failureProblem(failure: PolicyTestFailure): CheckProblem {
  const [, ...lines] = renderTestFailures([failure], plain).trimEnd().split('\n');
  return {
    code: 'POLICY_TEST_FAILED',
    message: `the test \`${failure.test}\` fails: ${failure.request}`,
    detail: lines.map((line) => line.trimStart()).join('\n'),
    ...lineProblem(failure),
  };
}

function violationProblem(violation: GuardrailViolation): CheckProblem {
  const [, ...lines] = renderViolations({ violations: [violation] }, plain)
    .trimEnd()
    .split('\n');
  return {
    code: 'GUARDRAIL_VIOLATED',
    message: `the guardrail \`${violation.guardrail}\` does not hold`,
    detail: lines.map((line) => line.slice(2)).join('\n'),
    ...lineProblem(violation),
  };
}

function lineProblem(at: {
  readonly file: string | null;
  readonly line: number | null;
}): Omit<CheckProblem, 'code' | 'message' | 'detail'> {
  const start = { line: at.line ?? 1, column: 1 };
  return { severity: 'error', file: at.file ?? 'policy.yaml', range: { start, end: start }, related: [] };
}

export interface Locator {
  /** A path of the policy folder as a path for people and workflow commands. */
  readonly path: (file: string) => string;
  /** As a relative URI reference, and what it is relative to. */
  readonly uri: (file: string) => { readonly uri: string; readonly uriBaseId: string };
}

/** Both are absolute paths. */
export function makeLocator(cwd: string, folder: string): Locator {
  const inside = relative(cwd, folder);
  const isOutside = isAbsolute(inside) || inside.split(sep)[0] === '..';
  const prefix = inside === '' || isOutside ? '' : `${inside.split(sep).join('/')}/`;
  const uriBaseId = isOutside ? 'POLICY' : '%SRCROOT%';
  return {
    path: (file) => (isOutside ? `${folder}/${file}` : prefix + file),
    uri: (file) => ({ uri: (prefix + file).split('/').map(encodeSegment).join('/'), uriBaseId }),
  };
}

/** The bases that `uri` may name, for readers of a report. */
export const URI_BASES: Readonly<Record<string, string>> = Object.freeze({
  '%SRCROOT%': 'the working directory of the command',
  POLICY: 'the policy folder',
});

/** A colon in the first segment would turn it into a scheme. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment.toWellFormed());
}
