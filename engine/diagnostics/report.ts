// Collects mistakes: each run has one sink, which keeps a limited number of them. The result is sorted and without duplicates
// (docs/language.md "Mistakes").
import { groupDigits } from './fault-words.js';
import type { Diagnostic, Related } from './diagnostic.js';
import { codePage, type DiagnosticCode } from './diagnostic-codes.js';
import type { EngineLimits } from '../limits.js';
import { compareTexts } from '../model/order.js';
import { FILE_START, type Range } from '../model/span.js';

export interface Finding {
  readonly code: DiagnosticCode;
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  /** If it is absent, the finding is about the whole file. */
  readonly range?: Range;
  /** One line, lower case, no period, in the user's words. */
  readonly message: string;
  readonly help?: string | undefined;
  readonly related?: readonly Related[];
}

/** The severity comes from the registry of codes. */
export function makeDiagnostic(finding: Finding): Diagnostic {
  return {
    code: finding.code,
    severity: codePage(finding.code).severity,
    file: finding.file,
    range: finding.range ?? FILE_START,
    message: finding.message,
    ...(finding.help === undefined ? {} : { help: finding.help }),
    related: finding.related ?? [],
  };
}

export interface Sink {
  readonly add: (finding: Finding) => void;
  /** How many findings have been added, listed or not. */
  readonly added: () => number;
  /** Whether an error has been added, listed or not. */
  readonly failed: () => boolean;
  /** Sorted and without duplicates. For each limit that left some out, one diagnostic says how many. */
  readonly diagnostics: () => readonly Diagnostic[];
}

type SinkLimits = Pick<EngineLimits, 'diagnostics' | 'fileDiagnostics' | 'codeDiagnostics'>;

/** How many findings one limit has kept, how many it has left out, and the first of those. */
interface Quota {
  kept: number;
  left: number;
  firstLeft: Diagnostic | null;
}

export function makeSink(limits: SinkLimits): Sink {
  const kept: Diagnostic[] = [];
  const quotas = new Map<string, Quota>();
  let added = 0;
  let failed = false;
  /** The first quota that is full. If none is, the finding is counted in all of them and the result is null. */
  const fullQuota = ({ file, code }: Finding): Quota | null => {
    const of = [
      [limits.codeDiagnostics, quotaOf(quotas, `${code} ${file}`)],
      [limits.fileDiagnostics, quotaOf(quotas, ` ${file}`)],
      [limits.diagnostics, quotaOf(quotas, '')],
    ] as const;
    const full = of.find(([limit, quota]) => quota.kept >= limit)?.[1] ?? null;
    if (full === null) for (const [, quota] of of) quota.kept += 1;
    return full;
  };
  return {
    add: (finding) => {
      added += 1;
      failed ||= codePage(finding.code).severity === 'error';
      const full = fullQuota(finding);
      if (full === null) kept.push(makeDiagnostic(finding));
      else {
        failed = true;
        full.left += 1;
        full.firstLeft ??= makeDiagnostic(finding);
      }
    },
    added: () => added,
    failed: () => failed,
    diagnostics: () => {
      const unlisted = [...quotas].flatMap(([key, { left, firstLeft }]) =>
        firstLeft === null ? [] : [countLeft(firstLeft, left, key)],
      );
      return sortDiagnostics([...kept, ...unlisted]);
    },
  };
}

function quotaOf(quotas: Map<string, Quota>, key: string): Quota {
  const known = quotas.get(key);
  if (known !== undefined) return known;
  const quota = { kept: 0, left: 0, firstLeft: null };
  quotas.set(key, quota);
  return quota;
}

/** `key` names the quota: one code in one file, one file, or the run. */
function countLeft({ code, file, range }: Diagnostic, left: number, key: string): Diagnostic {
  const what = key === '' ? 'mistakes' : key.startsWith(' ') ? 'mistakes in this file' : `of ${code} in this file`;
  const one = what.replace('mistakes', 'mistake');
  const message = `${groupDigits(left)} more ${left === 1 ? `${one} is` : `${what} are`} not listed`;
  return makeDiagnostic({
    code: 'LIMIT_DIAGNOSTICS',
    file,
    range,
    message,
    help: 'correct what is listed and check again',
  });
}

/** Sorts by file, position, code and message, and drops duplicates. */
export function sortDiagnostics(diagnostics: Iterable<Diagnostic>): readonly Diagnostic[] {
  const sorted = [...diagnostics].sort(compareDiagnostics);
  return sorted.filter((diagnostic, index) => {
    const before = sorted[index - 1];
    return before === undefined || compareDiagnostics(before, diagnostic) !== 0;
  });
}

function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareTexts(a.file, b.file) ||
    a.range.start.line - b.range.start.line ||
    a.range.start.column - b.range.start.column ||
    compareTexts(a.code, b.code) ||
    a.range.end.line - b.range.end.line ||
    a.range.end.column - b.range.end.column ||
    compareTexts(a.message, b.message)
  );
}
