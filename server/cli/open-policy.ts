// "Anything taking a policy accepts a folder or a snapshot file" (design 5): a folder is checked and compiled in memory, a
// file is verified whole. What comes out is the same opaque handle.
import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { groupDigits, loadSnapshot, type Policy } from '../../engine/index.js';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, pathOf, write } from './io.js';
import { CLI_LIMITS } from './limits.js';
import { fileFailure } from './path-failure.js';
import { escapeText } from './render/escape.js';
import { type Progress, startProgress } from './render/progress.js';

const READ_BYTES = 1024 * 1024;
const MEGABYTE = 1_000_000;
/** Bytes of a snapshot that are verified within a second anywhere. */
export const LARGE = 2 * 1024 * 1024;

export interface OpenedPolicy {
  readonly policy: Policy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly source: 'folder' | 'file' | 'stdin';
}

/** To study a policy is to ask why its tests fail, too: then failed tests and violated guardrails are told, not refused. */
export type Purpose = 'use' | 'study';

/**
 * Opens the policy that the user named as `path`; `-` is a snapshot on stdin. Warnings of a folder go to stderr.
 * Throws `CliFailure`: 2 missing or unreadable, 3, and for use 4 and 5, as `check`, 8 a snapshot that is not whole.
 */
export async function openPolicy(io: CliIo, path: string, purpose: Purpose = 'use'): Promise<OpenedPolicy> {
  if (path === '-') return openSnapshot(io, { stream: io.stdin, shown: '-', source: 'stdin' });
  const absolute = pathOf(io, path);
  const facts = await factsOf(absolute, path);
  if (facts.isDirectory()) return openFolder(io, path, purpose);
  if (facts.size > CLI_LIMITS.snapshotBytes) throw tooLarge(path);
  // Bounded as stdin is: a size is not believed, and pipes have none.
  const stream = createReadStream(absolute, { highWaterMark: READ_BYTES });
  return openSnapshot(io, { stream, shown: path, source: 'file' });
}

async function factsOf(absolute: string, shown: string): Promise<Stats> {
  try {
    return await stat(absolute);
  } catch (error) {
    throw fileFailure(error, shown);
  }
}

async function openFolder(io: CliIo, shown: string, purpose: Purpose): Promise<OpenedPolicy> {
  const [{ checkVisibly }, { errorOf, renderCheck, toJson }, { paintFor }] = await Promise.all([
    import('./check-visibly.js'),
    import('./render/report.js'),
    import('./render/palette.js'),
  ]);
  const report = await checkVisibly(io, shown);
  const text = renderCheck(report, paintFor(io, 'stderr'));
  const error = errorOf(report);
  if (report.compiled === null || (error !== null && purpose === 'use')) {
    const failure = error ?? { code: 'policy.invalid', message: 'the policy is invalid' };
    const message = `the policy \`${shown}\` cannot be used: ${failure.message}`;
    throw new CliFailure(report.status, { code: failure.code, message }, { text, report: toJson(report) });
  }
  if (error !== null || report.diagnostics.length > 0) await write(io.stderr, text);
  return { policy: report.compiled.handle, bytes: report.compiled.snapshot.bytes, source: 'folder' };
}

interface Opening {
  readonly stream: Readable;
  readonly shown: string;
  readonly source: 'file' | 'stdin';
}

async function openSnapshot(io: CliIo, { stream, shown, source }: Opening): Promise<OpenedPolicy> {
  const progress = startProgress(io);
  try {
    const bytes = await readAll(stream, shown, progress);
    if (bytes.length >= LARGE) progress.phase(`verifying ${escapeText(shown)}, ${megabytes(bytes.length)}`);
    const loaded = loadSnapshot(bytes);
    if (loaded.ok) return { policy: loaded.policy, bytes, source };
    const { code, message } = loaded.fault;
    throw new CliFailure(
      EXIT.integrity,
      { code, message: `\`${shown}\` is not a whole snapshot: ${message}` },
      { report: { file: shown, sha256: `sha256:${createHash('sha256').update(bytes).digest('hex')}` } },
    );
  } finally {
    progress.done();
  }
}

async function readAll(stream: Readable, shown: string, progress: Progress): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let total = 0;
  const parts: AsyncIterable<unknown> = stream;
  try {
    for await (const chunk of parts) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      total += bytes.length;
      if (total > CLI_LIMITS.snapshotBytes) throw tooLarge(shown);
      chunks.push(bytes);
      progress.update(`reading ${escapeText(shown)}, ${megabytes(total)}`);
    }
  } catch (error) {
    throw error instanceof CliFailure ? error : fileFailure(error, shown);
  }
  return Buffer.concat(chunks, total);
}

function megabytes(bytes: number): string {
  return `${groupDigits(Math.ceil(bytes / MEGABYTE))} MB`;
}

function tooLarge(shown: string): CliFailure {
  return new CliFailure(EXIT.integrity, {
    code: 'snapshot.too_large',
    message: `\`${shown}\` is larger than any snapshot may be (${groupDigits(CLI_LIMITS.snapshotBytes)} bytes)`,
  });
}
