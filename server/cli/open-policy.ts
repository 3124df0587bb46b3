// Policies as verbs name them: opened or checked with progress on a terminal, and failures reported with an exit
// status.
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import type { GuardrailReport, PolicySet } from '../../engine/compiler.js';
import {
  groupDigits,
  type Instant,
  type NamespaceDigest,
  namespaceDigests,
  type Policy,
  type SnapshotFault,
  verifyDecisions,
} from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import type { CheckReport, CheckRequest, Phase } from '../policy/open/check-policy.js';
import type { AskedResult, OpenResult, OpenWatcher, Purpose } from '../policy/open/open-policy.js';
import { atPolicy } from './at-policy.js';
import { CliFailure, EXIT, statusOf } from './exit.js';
import { type CliIo, write } from './io.js';
import { pathFailure } from './files.js';
import { count } from './render/text.js';
import { escapeText } from './render/escape.js';
import { paintFor, startProgress } from './render/terminal.js';

const MEGABYTE = 1_000_000;

export interface OpenedPolicy {
  readonly policy: Policy;
  /** The declarations of the folder; null for a snapshot. */
  readonly set: PolicySet | null;
  /** How its guardrails were proved; null for a snapshot. */
  readonly guardrails: GuardrailReport | null;
  /** The texts of the folder's files; none of a snapshot. */
  readonly sources: ReadonlyMap<string, string>;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly source: 'folder' | 'file' | 'stdin';
}

/** One whose digests and bytes nobody needs: those of a folder are not made. */
export type AskedPolicy = Omit<OpenedPolicy, 'bytes'>;

/** Checks the folder that the user named. Throws `CliFailure` if there is none. */
export async function checkVisibly(
  io: CliIo,
  dir: string,
  options: Pick<CheckRequest, 'lint' | 'onlyTests' | 'digests'> = {},
): Promise<CheckReport> {
  const { checkPolicy } = await import('../policy/open/check-policy.js');
  const progress = startProgress(io);
  try {
    const onPhase = (phase: Phase): void => {
      progress.phase(phaseText(phase));
    };
    return await atPolicy(io, dir, async (content) => {
      if (content.kind === 'parts') throw pathFailure({ kind: 'not_a_folder' }, dir);
      const result = await checkPolicy({ folder: content.path, onPhase, ...options });
      if (result.kind === 'path') throw pathFailure(result.fault, dir);
      return result.report;
    });
  } finally {
    progress.done();
  }
}

/**
 * Opens the policy that the user named as `path`; `-` is a snapshot on stdin, `<revision>:<path>` is in git. Warnings of a folder go to stderr.
 * Throws `CliFailure`: 2 missing or unreadable, 3, and for use 4 and 5, as `check`, 8 a snapshot that is not intact.
 */
export async function openPolicy(io: CliIo, path: string, purpose: Purpose = 'use'): Promise<OpenedPolicy> {
  const { openPolicy: open } = await import('../policy/open/open-policy.js');
  const opened = await openVisibly(io, { path, purpose }, (at, watcher) => open(at, purpose, watcher));
  return opened.kind === 'opened' ? { ...opened, ...(await reported(io, opened.report)) } : refuse(io, path, opened);
}

/** Like `openPolicy`, for verbs that state no digest of it. */
export async function openToAsk(
  io: CliIo,
  path: string,
  purpose: Exclude<Purpose, 'serve'> = 'use',
): Promise<AskedPolicy> {
  const { openToAsk: open } = await import('../policy/open/open-policy.js');
  const opened = await openVisibly(io, { path, purpose }, (at, watcher) => open(at, purpose, watcher));
  return opened.kind === 'opened' ? { ...opened, ...(await reported(io, opened.report)) } : refuse(io, path, opened);
}

/** What a report says of a folder, once its diagnostics are printed. */
async function reported(
  io: CliIo,
  report: CheckReport | null,
): Promise<Pick<OpenedPolicy, 'set' | 'guardrails' | 'sources'>> {
  if (report !== null && (report.verdict !== 'ok' || report.diagnostics.length > 0)) {
    const { renderCheck } = await import('./render/report.js');
    await write(io.stderr, renderCheck(report, paintFor(io, 'stderr')));
  }
  return {
    set: report?.compiled?.set ?? null,
    guardrails: report?.guardrails ?? null,
    sources: report?.sources ?? new Map<string, string>(),
  };
}

async function refuse(
  io: CliIo,
  path: string,
  failed: Exclude<OpenResult, { readonly kind: 'opened' }>,
): Promise<never> {
  switch (failed.kind) {
    case 'refused': {
      const { errorOf, renderCheck, toJson } = await import('./render/report.js');
      const { report } = failed;
      const { code, message: why } = errorOf(report) ?? { code: 'policy.invalid', message: 'the policy is invalid' };
      const detail = { text: renderCheck(report, paintFor(io, 'stderr')), report: toJson(report) };
      throw new CliFailure(statusOf(report), code, `the policy \`${path}\` cannot be used: ${why}`, detail);
    }
    case 'path':
      throw pathFailure(failed.fault, path);
    case 'too_large': {
      const message = `\`${path}\` is larger than any snapshot may be (${groupDigits(POLICY_LIMITS.snapshotBytes)} bytes)`;
      throw new CliFailure(EXIT.integrity, 'snapshot.too_large', message);
    }
    case 'corrupt':
      throw notWhole(path, failed.fault, failed.sha256);
  }
}

/**
 * Like `openPolicy`, for verbs that state or sign digests: the decision digest of a snapshot is computed before it is
 * repeated. Also throws `CliFailure` 8 if the file states a different digest.
 */
export async function openStated(io: CliIo, path: string, purpose: Purpose = 'use'): Promise<OpenedPolicy> {
  const opened = await openPolicy(io, path, purpose);
  // A policy that was compiled just now states what was computed just now.
  const fault = opened.source === 'folder' ? null : verifyDecisions(opened.policy);
  if (fault === null) return opened;
  throw notWhole(path, fault, opened.policy.digest);
}

/**
 * Like `openStated`, with the digest of each namespace. The root's is the decision digest, so nothing is computed
 * twice.
 */
export async function openListed(
  io: CliIo,
  path: string,
): Promise<OpenedPolicy & { readonly namespaces: readonly NamespaceDigest[] }> {
  const opened = await openPolicy(io, path);
  const listing = namespaceDigests(opened.policy);
  if (listing.ok) return { ...opened, namespaces: listing.namespaces };
  throw notWhole(path, listing.fault, opened.policy.digest);
}

function notWhole(path: string, { code, message }: SnapshotFault, sha256: string): CliFailure {
  return new CliFailure(EXIT.integrity, code, `\`${path}\` is not an intact snapshot: ${message}`, {
    report: { file: path, sha256 },
    ...(/\.ya?ml$/i.test(path) && {
      help: `this looks like a file of a policy folder: name the folder \`${dirname(path)}\``,
    }),
  });
}

/** For people: a note if the time asked about is past, because the policy is the one that the folder holds today. */
export function noteOnTime(source: OpenedPolicy['source'], { asked, at }: { asked: boolean; at: Instant }): string {
  if (!asked || source !== 'folder' || at >= Date.now()) return '';
  return `note: \`--at\` changes the time, not the policy: this is the folder as it is today; for a past policy, name its snapshot or \`<revision>:<folder>\`\n`;
}

async function openVisibly<T extends AskedResult>(
  io: CliIo,
  { path, purpose }: { readonly path: string; readonly purpose: Purpose },
  openAt: (path: string, watcher: OpenWatcher) => Promise<T>,
): Promise<T | OpenResult> {
  const { openSnapshot } = await import('../policy/open/open-policy.js');
  const progress = startProgress(io);
  const watcher = {
    onPhase: (phase: Phase): void => {
      progress.phase(phaseText(phase));
    },
    onBytes: (bytes: number, doing: 'reading' | 'verifying'): void => {
      const text = `${doing} ${escapeText(path)}, ${groupDigits(Math.ceil(bytes / MEGABYTE))} MB`;
      if (doing === 'verifying') progress.phase(text);
      else progress.update(text);
    },
  };
  try {
    if (path === '-') return await openSnapshot(io.stdin, { source: 'stdin', purpose }, watcher);
    return await atPolicy<T | OpenResult>(io, path, (content) => {
      if (content.kind !== 'parts') return openAt(content.path, watcher);
      const bytes = content.parts.map((part) => Buffer.from(part.buffer));
      return openSnapshot(Readable.from(bytes), { source: 'file', purpose }, watcher);
    });
  } finally {
    progress.done();
  }
}

function phaseText({ kind, count: number }: Phase): string {
  switch (kind) {
    case 'reading':
      return `reading ${count(number, 'file')}`;
    case 'linting':
      return `linting ${count(number, 'grant')}`;
    case 'compiling':
      return `compiling ${count(number, 'grant')}`;
    case 'testing':
      return `running ${count(number, 'test')}`;
    case 'proving':
      return `checking ${count(number, 'guardrail')}`;
  }
}
