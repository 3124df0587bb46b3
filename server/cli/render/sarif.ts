// SARIF 2.1.0 for code scanning. Valid whatever happened: what could not be read, and a command that failed altogether, are
// notifications of an execution that was not successful.
import { createHash } from 'node:crypto';
import { codePage, type ProblemCode, type Range, type Severity } from '../../../engine/compiler.js';
import type { CheckReport } from '../../policy/open/check-policy.js';
import { programVersion } from '../../lib/version.js';
import { EXIT_MEANINGS, type ExitStatus, statusOf } from '../exit.js';
import { escapeJson } from './escape.js';
import { count } from './text.js';
import { type Locator, URI_BASES, type CheckProblem, problemsOf } from './problems.js';

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'note' };

/** A report of `check` or `compile`. */
export function renderReport(report: CheckReport, locator: Locator): string {
  const problems = problemsOf(report);
  const errors = problems.filter((problem) => problem.severity === 'error').length;
  const unread = report.compiled === null;
  const notifications = unread
    ? [`the policy could not be read completely (${count(errors, 'error')}): its tests and guardrails were not run`]
    : [];
  return log({ problems, locator, status: statusOf(report), notifications, sources: report.sources });
}

/** A command that failed before there was anything to report. */
export function renderFailure({ message, status }: { readonly message: string; readonly status: ExitStatus }): string {
  return log({ problems: [], locator: null, status, notifications: [message], sources: new Map() });
}

interface Log {
  readonly problems: readonly CheckProblem[];
  readonly locator: Locator | null;
  readonly status: ExitStatus;
  readonly notifications: readonly string[];
  readonly sources: ReadonlyMap<string, string>;
}

function log({ problems, locator, status, notifications, sources }: Log): string {
  const version = programVersion();
  const codes = [...new Set(problems.map(({ code }) => code))].sort();
  const fingerprint = makeFingerprints(sources);
  const results = locator === null ? [] : problems.map((problem) => toResult(problem, codes, locator, fingerprint));
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
  return `${escapeJson(JSON.stringify(whole))}\n`;
}

/** With its page inside: a URI of it would have to be absolute, and there is no host that everybody can reach. */
function toRule(code: ProblemCode): object {
  const { title, explanation, wrong, right, severity, shows } = codePage(code);
  const example = (text: string): string => (shows === 'words' ? `${text}\n` : `~~~yaml\n${text.trimEnd()}\n~~~\n`);
  return {
    id: code,
    shortDescription: { text: title },
    fullDescription: { text: explanation },
    help: {
      text: `${explanation}\n\nWrong:\n${wrong}\nRight:\n${right}`,
      markdown: `${explanation}\n\nWrong:\n\n${example(wrong)}\nRight:\n\n${example(right)}`,
    },
    defaultConfiguration: { level: LEVELS[severity] },
  };
}

function toResult(
  problem: CheckProblem,
  codes: readonly ProblemCode[],
  locator: Locator,
  fingerprint: (problem: CheckProblem) => string,
): object {
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
function makeFingerprints(sources: ReadonlyMap<string, string>): (problem: CheckProblem) => string {
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
