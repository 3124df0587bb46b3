// What `check` and `compile` found, in every format.
import { type CliIo, pathOf, write, writeJson } from '../io.js';
import { type ReportFormat, REPORTERS } from '../options.js';
import { renderDiagnostics, summarize } from './diagnostics.js';
import { guardrailsJson, renderReliances, renderViolations } from './guardrails.js';
import { type Paint, paintFor } from './terminal.js';
import { renderTestFailures, testsJson } from './test-failures.js';
import { count, countOf } from './text.js';
import type { CheckReport } from '../../policy/open/check-policy.js';

/** The JSON of `check`; `compile` adds to it. */
export function toJson(report: CheckReport): object {
  const error = errorOf(report);
  return {
    ok: error === null,
    policy: report.policy,
    diagnostics: report.diagnostics,
    tests: testsJson(report.tests),
    guardrails: guardrailsJson(report.guardrails),
    ...(error === null ? {} : { error }),
  };
}

/** Diagnostics, failed tests, violated guardrails, and one line that sums up. */
export function renderCheck(report: CheckReport, paint: Paint): string {
  return [
    renderDiagnostics(report.diagnostics, report.sources, paint),
    renderTestFailures(report.tests.failures, paint),
    renderViolations(report.guardrails, paint),
    renderReliances(report.guardrails, paint),
    `${summaryOf(report, paint)}\n`,
  ].join('');
}

interface PrintedReport {
  /** The folder as the user named it. */
  readonly dir: string;
  readonly format: ReportFormat;
  /** More fields of the JSON. */
  readonly json: object;
  /** What people read, around the report, and where. */
  readonly text: (report: string, paint: Paint) => string;
  readonly stream?: 'stdout' | 'stderr';
}

export async function printReport(io: CliIo, report: CheckReport, printed: PrintedReport): Promise<void> {
  const { dir, format, json, text, stream = 'stdout' } = printed;
  if (format === 'json') await writeJson(io, { ...toJson(report), ...json });
  else if (format === 'text') {
    const paint = paintFor(io, stream);
    await write(io[stream], text(renderCheck(report, paint), paint));
  } else {
    const { makeLocator } = await import('./problems.js');
    const locator = makeLocator(io.cwd, pathOf(io, dir));
    await write(io.stdout, (await REPORTERS[format]()).renderReport(report, locator));
  }
}

/** Why a report is not ok, as failures everywhere say it; null if it is. */
export function errorOf(report: CheckReport): { readonly code: string; readonly message: string } | null {
  switch (report.verdict) {
    case 'ok':
      return null;
    case 'invalid':
      return { code: 'policy.invalid', message: summarize(report.diagnostics, report.files.length) };
    case 'tests_failed':
      return { code: 'policy.tests_failed', message: `${count(report.tests.failed, 'policy test')} failed` };
    case 'guardrails_violated':
      return {
        code: 'policy.guardrail_violated',
        message: `${count(report.guardrails.violated, 'guardrail')} violated`,
      };
  }
}

function summaryOf(report: CheckReport, paint: Paint): string {
  const { tests, guardrails } = report;
  const found = summarize(report.diagnostics, report.files.length);
  if (report.compiled === null) return paint('error', found);
  const parts = [
    found === '' ? `no mistakes in ${count(report.files.length, 'file')}` : found,
    tests.failed === 0
      ? `${count(tests.passed, 'test')} passed`
      : `${countOf(tests.failed, tests.passed + tests.failed, 'test')} failed`,
    guardrails.violated === 0
      ? guardrails.held === 0
        ? ''
        : `${count(guardrails.held, 'guardrail')} held`
      : `${countOf(guardrails.violated, guardrails.held + guardrails.violated, 'guardrail')} violated`,
  ];
  return paint(report.verdict === 'ok' ? 'good' : 'error', parts.filter((part) => part !== '').join(', '));
}
