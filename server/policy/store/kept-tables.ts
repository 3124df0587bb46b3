// Tables that were derived from snapshots, kept for the next time that a snapshot is opened (docs/serving.md "Kept
// tables"). The files are in a folder of the gateway. Their hashes are in the store, which only gateways write: a table
// is never received.
import { type PackedPolicy, packedOf, type Policy } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { sql } from '../../db/sql.js';
import { endsWithin } from '../../lib/ends-within.js';
import type { Logger } from '../../lib/ports.js';
import { STORED_LIMITS } from '../../limits/policy.js';
import { type TableFinder, writeTableInThread } from '../open/snapshot-thread.js';
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
  /** Milliseconds that a disk may take for a table before nothing waits for it. Defaults to that of the limits. */
  readonly patience?: number;
  /** Writes a table. Defaults to doing so in a thread. */
  readonly write?: typeof writeTableInThread;
}

interface SealRow {
  readonly snapshot: string;
  readonly derived_table: string;
}

/** The store must be migrated. */
export function keptTables({ db, folder, log, isReader = false, ...options }: KeptTablesOptions): KeptTables {
  const { leastBytes = STORED_LIMITS.leastTableBytes, write = writeTableInThread } = options;
  const { patience = STORED_LIMITS.tablePatience } = options;
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
    const recent = await db.rows<Pick<SealRow, 'snapshot'>>(
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
    shelf: async () => {
      const rows = await db.rows<SealRow>(
        sql`SELECT snapshot, derived_table FROM snapshots WHERE starts_with(derived_table, ${`${tableForm()} `})`,
      );
      const seals = rows.flatMap(({ snapshot, derived_table }): [string, TableSeal][] => {
        const seal = sealOf(derived_table);
        return seal === null ? [] : [[snapshot, seal]];
      });
      return { folder, seals: new Map(seals) };
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
    close: () => {
      closed.abort();
      return endsWithin(last, patience);
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
