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

const READ_BYTES = 1024 * 1024;

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
  if (path === '-') return openSnapshot(await readAll(io.stdin, '-'), '-', 'stdin');
  const absolute = pathOf(io, path);
  const facts = await factsOf(absolute, path);
  if (facts.isDirectory()) return openFolder(io, path, purpose);
  if (facts.size > CLI_LIMITS.snapshotBytes) throw tooLarge(path);
  // Bounded as stdin is: a size is not believed, and pipes have none.
  const bytes = await readAll(createReadStream(absolute, { highWaterMark: READ_BYTES }), path).catch(
    (error: unknown) => {
      throw error instanceof CliFailure ? error : fileFailure(error, path);
    },
  );
  return openSnapshot(bytes, path, 'file');
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

function openSnapshot(bytes: Uint8Array, shown: string, source: 'file' | 'stdin'): OpenedPolicy {
  const loaded = loadSnapshot(bytes);
  if (loaded.ok) return { policy: loaded.policy, bytes, source };
  const { code, message } = loaded.fault;
  throw new CliFailure(
    EXIT.integrity,
    { code, message: `\`${shown}\` is not a whole snapshot: ${message}` },
    { report: { file: shown, sha256: `sha256:${createHash('sha256').update(bytes).digest('hex')}` } },
  );
}

async function readAll(stream: Readable, shown: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    total += bytes.length;
    if (total > CLI_LIMITS.snapshotBytes) throw tooLarge(shown);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, total);
}

function tooLarge(shown: string): CliFailure {
  return new CliFailure(EXIT.integrity, {
    code: 'snapshot.too_large',
    message: `\`${shown}\` is larger than any snapshot may be (${groupDigits(CLI_LIMITS.snapshotBytes)} bytes)`,
  });
}
