// JUnit XML for test reports. Files, policy tests and guardrails are test cases, and their faults are failures.
import { type Diagnostic, lineOf } from '../../../engine/compiler.js';
import { groupDigits } from '../../../engine/index.js';
import type { CheckReport } from '../../policy/open/check-policy.js';
import { escapeText } from './escape.js';
import { renderViolations } from './guardrails.js';
import type { Locator } from './problems.js';
import { plain } from './terminal.js';
import { renderTestFailures } from './test-failures.js';

interface Case {
  readonly name: string;
  /** A path in the policy folder; null for a case without a place. */
  readonly file: string | null;
  readonly line: number | null;
  readonly failure: { readonly type: string; readonly message: string; readonly text: string } | null;
}

/** A requirement on the tests as a whole, such as their coverage. A null `failure` means that it was met. */
export interface Requirement {
  readonly name: string;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

/** Whatever sets the exit status of a report, or of its requirements, is a failed case. */
export function renderReport(report: CheckReport, locator: Locator, requirements: readonly Requirement[] = []): string {
  const { held, violated } = report.guardrails;
  return document([
    suite('files', fileCases(report), locator),
    suite('tests', testCases(report), locator),
    // Left out if guardrails were not checked, as by `test`.
    ...(held + violated === 0 ? [] : [suite('guardrails', guardrailCases(report), locator)]),
    ...(requirements.length === 0 ? [] : [suite('requirements', requirements.map(requirementCase), locator)]),
  ]);
}

/** A command that failed before there was anything to report. */
export function renderFailure({ code, message }: { readonly code: string; readonly message: string }): string {
  const failed = `    <testcase classname="bailiwick" name="run">\n      <error type="${attribute(code)}" message="${attribute(message)}"/>\n    </testcase>\n`;
  return document([{ name: 'command', cases: [failed], failures: 0, errors: 1 }]);
}

interface Suite {
  readonly name: string;
  readonly cases: readonly string[];
  readonly failures: number;
  readonly errors: number;
}

function document(suites: readonly Suite[]): string {
  const body = suites.map(
    (one) => `  <testsuite name="${one.name}" ${countsOf([one])}>\n${one.cases.join('')}  </testsuite>\n`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="bailiwick" ${countsOf(suites)}>\n${body.join('')}</testsuites>\n`;
}

function countsOf(suites: readonly Suite[]): string {
  const sum = (of: (one: Suite) => number): string => String(suites.reduce((total, one) => total + of(one), 0));
  return `tests="${sum(({ cases }) => cases.length)}" failures="${sum(({ failures }) => failures)}" errors="${sum(({ errors }) => errors)}"`;
}

function suite(name: string, cases: readonly Case[], locator: Locator): Suite {
  const failures = cases.filter(({ failure }) => failure !== null).length;
  return { name, cases: cases.map((one) => testCase(name, one, locator)), failures, errors: 0 };
}

function testCase(suiteName: string, { name, file, line, failure }: Case, locator: Locator): string {
  // The schemas that readers of JUnit validate with have no place in a case: it is the class, and stands in the text.
  const path = file === null ? suiteName : locator.path(file);
  const head = `    <testcase classname="${attribute(path)}" name="${attribute(name)}"`;
  if (failure === null) return `${head}/>\n`;
  const { type, message } = failure;
  const text = line === null ? failure.text : `${path}:${String(line)}\n${failure.text}`;
  return `${head}>\n      <failure type="${attribute(type)}" message="${attribute(message)}">${content(text)}</failure>\n    </testcase>\n`;
}

/**
 * A valid file is a case that passes. Each mistake is a case that fails, and so is a warning if it makes the policy
 * invalid.
 */
function fileCases({ files, invalidating }: CheckReport): readonly Case[] {
  const wrong = new Set(invalidating.map(({ file }) => file));
  const sound = files.filter((file) => !wrong.has(file));
  return [
    ...sound.map((file) => ({ name: 'is valid', file, line: null, failure: null })),
    ...invalidating.map(diagnosticCase),
  ];
}

function diagnosticCase({ code, file, range, message, help }: Diagnostic): Case {
  const { line, column } = range.start;
  const text = [
    `${file}:${String(line)}:${String(column)}: ${message}`,
    ...(help === undefined ? [] : [`help: ${help}`]),
  ];
  return {
    name: `${code} at ${String(line)}:${String(column)}`,
    file,
    line,
    failure: { type: code, message, text: text.join('\n') },
  };
}

function testCases({ tests }: CheckReport): readonly Case[] {
  return tests.results.map(({ test, file, line, passed }, index) => {
    const failures = tests.failuresByResult[index] ?? [];
    const message = `${groupDigits(failures.length)} of its expectations ${failures.length === 1 ? 'does' : 'do'} not hold`;
    const text = renderTestFailures(failures, plain);
    return { name: test, file, line, failure: passed ? null : { type: 'POLICY_TEST_FAILED', message, text } };
  });
}

function guardrailCases({ guardrails, compiled }: CheckReport): readonly Case[] {
  return (compiled?.set.guardrails ?? []).map(({ id, place }) => {
    const violation = guardrails.violations.find(({ guardrail }) => guardrail === id);
    const failure =
      violation === undefined
        ? null
        : {
            type: 'GUARDRAIL_VIOLATED',
            message: 'it does not hold',
            text: renderViolations({ violations: [violation] }, plain),
          };
    return { name: id, file: place?.file ?? null, line: place === null ? null : lineOf(place), failure };
  });
}

function requirementCase({ name, failure }: Requirement): Case {
  const failed =
    failure === null ? null : { type: failure.code, message: failure.message, text: escapeText(failure.message) };
  return { name, file: null, line: null, failure: failed };
}

/** Text that XML allows: control characters become escapes, as on a terminal. */
function content(text: string): string {
  return text
    .split('\n')
    .map((line) => escapeText(line).replaceAll(/[\ufffe\uffff]/g, '?'))
    .join('\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

function attribute(text: string): string {
  return content(escapeText(text)).replaceAll('"', '&quot;');
}
