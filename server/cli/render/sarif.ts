// SARIF 2.1.0 for code scanning. Valid whatever happened: what could not be read, and a command that failed altogether, are
// notifications of an execution that was not successful.
import { createHash } from 'node:crypto';
import { CODE_PAGES, type CodePage, type Range, type Severity } from '../../../engine/compiler.js';
import type { CheckReport } from '../check-policy.js';
import { helpUri } from '../documentation.js';
import { EXIT_MEANINGS, type ExitStatus } from '../exit-codes.js';
import { count } from './count.js';
import { type Locator, URI_BASES } from './locate.js';
import { OTHER_RULES, type Problem, problemsOf } from './problems.js';

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'note' };
const PAGES: ReadonlyMap<string, CodePage> = new Map(Object.entries(CODE_PAGES));

/** A report of `check` or `compile`. */
export function renderSarif(report: CheckReport, locator: Locator, version: string): string {
  const problems = problemsOf(report);
  const errors = problems.filter((problem) => problem.severity === 'error').length;
  const unread = report.compiled === null;
  const notifications = unread
    ? [`the policy could not be read whole (${count(errors, 'error')}): its tests and guardrails were not run`]
    : [];
  return log({ problems, locator, version, status: report.status, notifications, sources: report.sources });
}

/** A command that failed before there was anything to report. */
export function renderSarifFailure(message: string, status: ExitStatus, version: string): string {
  return log({ problems: [], locator: null, version, status, notifications: [message], sources: new Map() });
}

interface Log {
  readonly problems: readonly Problem[];
  readonly locator: Locator | null;
  readonly version: string;
  readonly status: ExitStatus;
  readonly notifications: readonly string[];
  readonly sources: ReadonlyMap<string, string>;
}

function log({ problems, locator, version, status, notifications, sources }: Log): string {
  const codes = [...new Set(problems.map(({ code }) => code))].sort();
  const fingerprint = makeFingerprints(sources);
  const results = locator === null ? [] : problems.map((problem) => toResult(problem, codes, { locator, fingerprint }));
  const bases = new Set(locator === null ? [] : problems.map(({ file }) => locator.uri(file).uriBaseId));
  const invocation = {
    executionSuccessful: notifications.length === 0,
    exitCode: status,
    exitCodeDescription: EXIT_MEANINGS.get(status) ?? '',
    ...(notifications.length === 0
      ? {}
      : { toolExecutionNotifications: notifications.map((text) => ({ level: 'error', message: { text } })) }),
  };
  const run = {
    tool: { driver: { name: 'bailiwick', version, semanticVersion: version, rules: codes.map(toRule) } },
    invocations: [invocation],
    originalUriBaseIds: Object.fromEntries(
      [...bases].sort().map((base) => [base, { description: { text: URI_BASES[base] ?? base } }]),
    ),
    columnKind: 'utf16CodeUnits',
    results,
  };
  const whole = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] };
  return `${JSON.stringify(whole)}\n`;
}

function toRule(code: string): object {
  const page = PAGES.get(code);
  const text = page?.title ?? OTHER_RULES.get(code) ?? code;
  if (page === undefined) return { id: code, shortDescription: { text }, helpUri: helpUri(code), help: { text } };
  return {
    id: code,
    shortDescription: { text },
    fullDescription: { text: page.explanation },
    helpUri: helpUri(code),
    help: {
      text: `${page.explanation}\n\nWrong:\n${page.wrong}\nRight:\n${page.right}`,
      markdown: `${page.explanation}\n\nWrong:\n\n~~~yaml\n${page.wrong}\n~~~\n\nRight:\n\n~~~yaml\n${page.right}\n~~~\n`,
    },
    defaultConfiguration: { level: LEVELS[page.severity] },
  };
}

interface Making {
  readonly locator: Locator;
  readonly fingerprint: (problem: Problem) => string;
}

function toResult(problem: Problem, codes: readonly string[], { locator, fingerprint }: Making): object {
  const { code, severity, file, range, message, detail, related } = problem;
  const location = (place: { readonly file: string; readonly range: Range }): object => ({
    physicalLocation: { artifactLocation: locator.uri(place.file), region: toRegion(place.range) },
  });
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: LEVELS[severity],
    message: { text: detail === '' ? message : `${message}\n${detail}` },
    locations: [location({ file, range })],
    ...(related.length === 0
      ? {}
      : { relatedLocations: related.map((place) => ({ ...location(place), message: { text: place.message } })) }),
    partialFingerprints: { primaryLocationLineHash: fingerprint(problem) },
  };
}

function toRegion({ start, end }: Range): object {
  return { startLine: start.line, startColumn: start.column, endLine: end.line, endColumn: end.column };
}

/** Of the rule, the file and the text of the line, not of its number: an edit elsewhere in the file keeps it. */
function makeFingerprints(sources: ReadonlyMap<string, string>): (problem: Problem) => string {
  const lines = new Map<string, readonly string[]>();
  const seen = new Map<string, number>();
  return ({ code, file, range, message }) => {
    let known = lines.get(file);
    if (known === undefined) lines.set(file, (known = sources.get(file)?.split('\n') ?? []));
    const text = JSON.stringify([code, file, known[range.start.line - 1]?.trim() ?? '', message]);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    const ordinal = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, ordinal);
    return `${hash}:${String(ordinal)}`;
  };
}
