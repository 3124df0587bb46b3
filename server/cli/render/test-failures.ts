// Failed policy tests for people: what was expected, what came, the step, and the grants or the nearest miss
// (docs/language.md "Tests").
import {
  type PolicyTestFailure,
  type PolicyTestReport,
  coveredPercent,
  type GrantCoverage,
} from '../../../engine/compiler.js';
import { formatInstant, type GrantRef, groupDigits } from '../../../engine/index.js';
import { grantText, placeText, shortList } from './words.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { count, countOf, firstOf, percentText } from './text.js';

/** More than these are counted in text; JSON lists all. A lineage has at most 33 namespaces. */
const SHOWN_GRANTS = 20;
const SHOWN_NAMESPACES = 33;

export function renderTestFailures(failures: readonly PolicyTestFailure[], paint: Paint): string {
  return failures.map((failure) => renderFailure(failure, paint)).join('');
}

/** The `tests` of a report in JSON. */
export function testsJson(tests: PolicyTestReport): object {
  return { passed: tests.passed, failed: tests.failed, failures: tests.failures.map(testFailureJson) };
}

/** The same with one result for each test. */
export function testResultsJson(tests: PolicyTestReport): object {
  const results = tests.results.map(({ file, line, ...result }) => ({
    ...result,
    ...(file === null ? {} : { file, line }),
  }));
  return { ...testsJson(tests), results };
}

/** A failure in JSON: file and line are absent where there are none, instants are texts. */
function testFailureJson(failure: PolicyTestFailure): object {
  const { file, line, at, ...rest } = failure;
  return { ...rest, ...(file === null ? {} : { file, line }), at: at === null ? null : formatInstant(at) };
}

function renderFailure(failure: PolicyTestFailure, paint: Paint): string {
  const where = failure.file === null ? '' : `${escapeText(failure.file)}:${String(failure.line ?? 1)} `;
  const when = failure.at === null ? '' : ` at ${formatInstant(failure.at)}`;
  const lines = [
    `${where}${paint('error', 'failed')} ${paint('strong', escapeText(failure.test))}: ${escapeText(failure.request)}${when}`,
    `  expected: ${answerText(failure.expected)}`,
    `  actual:   ${answerText(failure.actual)}${failure.step === undefined ? '' : ` (${failure.step})`}`,
    ...grantLines(failure.grants ?? [], paint),
  ];
  const { nearest } = failure;
  if (nearest !== undefined)
    lines.push(
      `  ${paint('info', 'nearest')}: ${escapeText(nearest.text)}${nearest.grant === null ? '' : placeText(nearest.grant)}`,
    );
  return `${lines.join('\n')}\n`;
}

function grantLines(grants: readonly GrantRef[], paint: Paint): readonly string[] {
  const more = (left: number): string => `  and ${count(left, 'more grant')}`;
  return firstOf(grants, (grant) => `  ${paint('info', 'grant')}: ${grantText(grant)}`, { most: SHOWN_GRANTS, more });
}

function answerText(answer: PolicyTestFailure['expected']): string {
  if (typeof answer === 'string') return answer;
  return answer.length === 0 ? 'nothing' : shortList(answer, SHOWN_NAMESPACES);
}

export function renderCoverage(coverage: GrantCoverage): string {
  const { total, covered, pinned, uncovered } = coverage;
  const lines = uncovered.map((grant) => `not covered: ${grantText(grant)}\n`);
  return `${lines.join('')}${countOf(covered, total, 'grant')} covered (${percentText(coveredPercent(coverage))}); tests would notice the loss of ${groupDigits(pinned)} of them\n`;
}
