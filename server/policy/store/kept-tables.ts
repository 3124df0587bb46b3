// Tables that were derived from snapshots, kept for the next time that a snapshot is opened (docs/serving.md "Kept
// tables"). The files are in a folder of the gateway. Their hashes are in the store, which only gateways write: a table
// is never received.
import { type PackedPolicy, packedOf, type Policy } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { sql } from '../../db/sql.js';
import { endsWithin } from '../../lib/ends-within.js';
import { patientReads } from '../../lib/patient-reads.js';
import type { Logger } from '../../lib/ports.js';
import { STORED_LIMITS } from '../../limits/policy.js';
import { findTableInThread, type TableFinder, writeTableInThread } from '../open/snapshot-thread.js';
import { tableFile, tableForm, type TableSeal } from '../open/table-file.js';
import { codeOf } from '../policy-fault.js';

export interface KeptTables extends TableFinder {
  /**
   * Keeps the table of a policy whose snapshot is in the store, unless it was opened from its table. Never rejects, and
   * is over in time: what cannot be kept, or not yet, is logged, and costs time where the policy is opened next.
   */
  readonly keep: (policy: Policy) => Promise<void>;
  /** Nothing is kept any more. Resolves to whether all that was begun has ended. */
  readonly close: () => Promise<boolean>;
}

export interface KeptTablesOptions {
  readonly db: Pick<Database, 'rows'>;
  /** Absolute. Made when the first table is kept. */
  readonly folder: string;
  readonly log: Logger;
  /** Whether another process of the gateway keeps the tables. Defaults to no. */
  readonly isReader?: boolean;
  /** The bytes of the smallest table that is kept. Defaults to that of the limits. */
  readonly leastBytes?: number;
  /** Milliseconds that a disk may take to write a table before nothing waits for it. Defaults to those of the limits. */
  readonly patience?: number;
  /** Writes a table. Defaults to doing so in a thread. */
  readonly write?: typeof writeTableInThread;
  /** Milliseconds in which a table must have been read. Defaults to those of the limits. */
  readonly readingTime?: number;
  /** Reads one. Defaults to doing so in a thread. */
  readonly read?: typeof findTableInThread;
}

/** A table that was not read in time: whoever reads it derives it instead. */
class LateTable extends Error {}

/** The store must be migrated. */
export function keptTables({ db, folder, log, isReader = false, ...options }: KeptTablesOptions): KeptTables {
  const { leastBytes = STORED_LIMITS.leastTableBytes, write = writeTableInThread, read = findTableInThread } = options;
  const { patience = STORED_LIMITS.tablePatience, readingTime = STORED_LIMITS.tableReading } = options;
  const reads = patientReads(readingTime);
  const closed = new AbortController();
  /** Policies with a table on the shelf, or with one that could not be put there. */
  const done = new WeakSet<Policy>();
  let hasFailed = false;
  /** One after the other: of a disk that does not answer only one thread waits. */
  let last = Promise.resolve();

  const fail = (policy: Policy, error: unknown): void => {
    if (closed.signal.aborted || hasFailed) return;
    hasFailed = true;
    log.warn(
      { snapshot: policy.digest, file: tableFile(folder, policy.digest), reason: codeOf(error), error },
      'the table of the policy could not be kept, so the next start takes longer: let the gateway write this file, or set `snapshot.tableFolder: none`',
    );
  };
  const put = async (policy: Policy, packed: PackedPolicy): Promise<void> => {
    const recent = await db.rows<{ readonly snapshot: string }>(
      sql`SELECT snapshot FROM snapshots ORDER BY used_at DESC, snapshot LIMIT ${STORED_LIMITS.keptTables}::integer`,
    );
    const kept = recent.map(({ snapshot }) => snapshot);
    const { left, ...seal } = await write({ folder, packed, kept }, closed.signal);
    await db.rows(sql`UPDATE snapshots SET derived_table = ${sealText(seal)} WHERE snapshot = ${policy.digest}`);
    log.info(
      { snapshot: policy.digest, bytes: seal.bytes },
      'the table of the policy is kept for the next time that it is opened',
    );
    if (left.length > 0) log.warn({ folder, files: left }, 'old tables could not be removed: remove them');
  };
  return {
    find: async (digest, signal) => {
      const [row] = await db.rows<{ readonly derived_table: string | null }>(
        sql`SELECT derived_table FROM snapshots WHERE snapshot = ${digest}`,
      );
      const seal = sealOf(row?.derived_table ?? '');
      try {
        return await reads.read(
          () => read({ folder, digest, seal }),
          () => new LateTable(),
          signal,
        );
      } catch (error) {
        if (error instanceof LateTable)
          return { kind: 'refused', reason: 'was not read in time: its disk does not answer' };
        throw error;
      }
    },
    note: (policy, found) => {
      const { digest: snapshot } = policy;
      if (found.kind === 'absent') return;
      if (found.kind === 'opened') {
        done.add(policy);
        log.info({ snapshot }, 'the policy was opened from its kept table');
        return;
      }
      const file = tableFile(folder, snapshot);
      if (found.kind === 'unknown') {
        log.info(
          { snapshot, file },
          'a kept table has no hash in the store, so the snapshot was opened instead: its gateway ended before it noted the hash, or another build noted its own since',
        );
        return;
      }
      log.warn(
        { snapshot, file, reason: `the file ${found.reason}` },
        'a kept table was not used, and the snapshot was opened instead: the file will be replaced; find out who changed it, or check the disk',
      );
    },
    keep: async (policy) => {
      const packed = isReader || done.has(policy) ? null : packedOf(policy);
      if (packed === null || packed.table.buffer.byteLength < leastBytes || closed.signal.aborted) return;
      done.add(policy);
      const putting = last
        .then(() => put(policy, packed))
        .catch((error: unknown) => {
          fail(policy, error);
        });
      last = putting;
      if (await endsWithin(putting, patience)) return;
      log.warn(
        { snapshot: policy.digest, file: tableFile(folder, policy.digest) },
        'the disk has not taken the table of the policy yet, which is put in force all the same: others derive the table until it is kept',
      );
    },
    close: async () => {
      closed.abort();
      return (await Promise.all([endsWithin(last, patience), reads.end(readingTime)])).every(Boolean);
    },
  };
}

function sealText({ bytes, sha256 }: TableSeal): string {
  return `${tableForm()} ${String(bytes)} ${sha256}`;
}

/** Null for a table of another form. */
function sealOf(text: string): TableSeal | null {
  const [form, bytes = '', sha256 = '', ...rest] = text.split(' ');
  if (form !== tableForm() || rest.length > 0 || !/^[0-9]{1,12}$/.test(bytes) || !/^[0-9a-f]{64}$/.test(sha256))
    return null;
  return { bytes: Number(bytes), sha256 };
}
