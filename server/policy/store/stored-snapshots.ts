// Snapshots in the store, each once, under the digest of its bytes (docs/serving.md "Stored snapshots"). They are
// stored in parts of one size, each compressed separately. So a killed writer, or two writers at once, leave nothing
// but what others write in the same way.
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { formatInstant, type Instant, instantOf, type Policy } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import { unlessStoreFails } from '../../db/failures.js';
import { sql } from '../../db/sql.js';
import type { Store, Writing } from '../../db/writing.js';
import { POLICY_LIMITS, STORED_LIMITS } from '../../limits/policy.js';
import type { Labels } from '../active/active-policy.js';

export interface NewSnapshot {
  readonly policy: Pick<Policy, 'name' | 'digest' | 'decisions'>;
  readonly bytes: Uint8Array;
  readonly labels: Labels;
  /** The signed envelope as JSON; not verified yet. */
  readonly statement: string | null;
  readonly at: Instant;
}

interface StoredSnapshot {
  readonly snapshot: string;
  readonly policy: string;
  readonly decisions: string;
  readonly bytes: number;
  readonly labels: Labels;
  readonly statement: string | null;
  readonly storedAt: Instant;
}

export interface Snapshots {
  /**
   * Stores the snapshot unless it is there; for an existing one it stores the statement. The least recently used makes
   * room. Returns what is known about its labels.
   */
  readonly keep: (snapshot: NewSnapshot) => Promise<Labels>;
  /**
   * Like `keep`, but also writes the bytes again, which repairs a damaged copy. In one transaction with `beside`, it is
   * there or not at all. `beside` is given whether the snapshot is new.
   */
  readonly put: (
    snapshot: NewSnapshot,
    beside?: (writing: Writing, isNew: boolean) => Promise<void>,
  ) => Promise<Labels>;
  readonly find: (snapshot: string) => Promise<StoredSnapshot | null>;
  /** Most recently used first. */
  readonly list: () => Promise<readonly StoredSnapshot[]>;
  /** One part of `STORED_LIMITS.partBytes`, the last one shorter: as it was stored, not verified. Null if it is missing or damaged. */
  readonly readPart: (stored: StoredSnapshot, part: number) => Promise<Uint8Array<ArrayBuffer> | null>;
  /** All parts; null if one is missing or damaged. */
  readonly read: (stored: StoredSnapshot) => Promise<readonly Uint8Array<ArrayBuffer>[] | null>;
  /** Notes what was found out about the labels of a snapshot. */
  readonly noteLabels: (snapshot: string, labels: Labels) => Promise<void>;
}

interface SnapshotRow extends Omit<StoredSnapshot, 'bytes' | 'storedAt'> {
  /** The text of a bigint. */
  readonly bytes: string;
  readonly stored_at: Date;
}

interface Entry {
  readonly labels: Labels;
  readonly isNew: boolean;
}

const COLUMNS = sql`snapshot, policy, decisions, bytes, labels, statement, stored_at`;

/** The store must be migrated. */
export function storedSnapshots(db: Pick<Database, 'rows' | 'write'>): Snapshots {
  const find = async (snapshot: string): Promise<StoredSnapshot | null> => {
    const [row] = await db.rows<SnapshotRow>(sql`SELECT ${COLUMNS} FROM snapshots WHERE snapshot = ${snapshot}`);
    return row === undefined ? null : toStored(row);
  };
  const put: Snapshots['put'] = async (kept, beside) => {
    const { policy, bytes, at } = kept;
    const writtenAt = formatInstant(at);
    // Each part without a transaction, because on the embedded store a transaction keeps everybody waiting.
    for (let part = 0; part * STORED_LIMITS.partBytes < bytes.length; part += 1) {
      const packed = await deflate(sliceOf(bytes, part), { level: 1 });
      await db.rows(sql`INSERT INTO snapshot_parts AS p (snapshot, part, bytes, written_at)
          VALUES (${policy.digest}, ${part}, decode(${packed.toString('base64')}, 'base64'), ${writtenAt}::timestamptz)
          ON CONFLICT (snapshot, part) DO UPDATE SET bytes = EXCLUDED.bytes, written_at = EXCLUDED.written_at`);
    }
    const entered =
      beside === undefined
        ? await enter(kept, db)
        : await db.write(async (within) => {
            const entry = await enter(kept, within);
            await beside(within, entry.isNew);
            return entry;
          });
    // It is stored, and the next one makes room for both.
    await makeRoom(policy.digest, writtenAt).catch(unlessStoreFails);
    return entered.labels;
  };
  /** The snapshot only exists from here on. */
  const enter = async ({ policy, bytes, labels, statement, at }: NewSnapshot, into: Store): Promise<Entry> => {
    const storedAt = formatInstant(at);
    const [row] =
      await into.rows<Entry>(sql`INSERT INTO snapshots AS s (snapshot, policy, decisions, bytes, labels, statement, stored_at, used_at)
        VALUES (${policy.digest}, ${policy.name}, ${policy.decisions}, ${bytes.length}, ${labels}, ${statement},
          ${storedAt}::timestamptz, ${storedAt}::timestamptz)
        ON CONFLICT (snapshot) DO UPDATE SET statement = COALESCE(EXCLUDED.statement, s.statement),
          labels = CASE WHEN s.labels = 'unverified' THEN EXCLUDED.labels ELSE s.labels END,
          used_at = GREATEST(s.used_at, EXCLUDED.used_at)
        RETURNING labels, xmax = 0 AS "isNew"`);
    return row ?? { labels, isNew: true };
  };
  /** Keeps the snapshot in force, and parts that somebody may still be writing. */
  const makeRoom = async (just: string, now: string): Promise<void> => {
    const last = sql`SELECT used_at FROM snapshots ORDER BY used_at DESC OFFSET ${STORED_LIMITS.kept - 1}::integer LIMIT 1`;
    await db.rows(sql`WITH gone AS (
          DELETE FROM snapshots WHERE used_at < (${last}) AND snapshot <> ${just}
            AND snapshot <> COALESCE((SELECT snapshot FROM activations ORDER BY generation DESC LIMIT 1), '')
          RETURNING snapshot)
        DELETE FROM snapshot_parts WHERE snapshot IN (SELECT snapshot FROM gone)`);
    await db.rows(sql`DELETE FROM snapshot_parts AS p WHERE NOT EXISTS (SELECT 1 FROM snapshots AS s WHERE s.snapshot = p.snapshot)
        AND p.written_at < ${now}::timestamptz - make_interval(secs => ${STORED_LIMITS.unfinished / 1000}::integer)`);
  };
  const readPart: Snapshots['readPart'] = async ({ snapshot, bytes }, part) => {
    const [row] = await db.rows<{ readonly bytes: Buffer }>(
      sql`SELECT bytes FROM snapshot_parts WHERE snapshot = ${snapshot} AND part = ${part}`,
    );
    const due = Math.min(STORED_LIMITS.partBytes, bytes - part * STORED_LIMITS.partBytes);
    const found = row === undefined ? null : await inflateTo(row.bytes, due);
    return found === null ? null : Uint8Array.from(found);
  };
  return {
    keep: async (kept) => {
      const known = await find(kept.policy.digest);
      if (known === null) return put(kept);
      const isNews = kept.statement !== null && kept.statement !== known.statement;
      const isVerified = known.labels === 'unverified' && kept.labels !== known.labels;
      // Also marks it as used, before others make room: it is about to be in force. A store that takes no writes makes none.
      const { labels, isNew } = await enter(kept, db).catch((error: unknown) => {
        if (isNews || isVerified) throw error;
        unlessStoreFails(error);
        return { labels: known.labels, isNew: false };
      });
      return isNew ? put(kept) : labels;
    },
    put,
    find,
    list: async () => {
      const rows = await db.rows<SnapshotRow>(
        sql`SELECT ${COLUMNS} FROM snapshots ORDER BY used_at DESC, snapshot LIMIT ${STORED_LIMITS.kept + 1}::integer`,
      );
      return rows.map(toStored);
    },
    readPart,
    read: async (stored) => {
      if (stored.bytes > POLICY_LIMITS.snapshotBytes) return null;
      const parts: Uint8Array<ArrayBuffer>[] = [];
      for (let part = 0; part * STORED_LIMITS.partBytes < stored.bytes; part += 1) {
        const found = await readPart(stored, part);
        if (found === null) return null;
        parts.push(found);
      }
      return parts;
    },
    noteLabels: async (snapshot, labels) => {
      await db.rows(sql`UPDATE snapshots SET labels = ${labels} WHERE snapshot = ${snapshot}`);
    },
  };
}

const deflate = promisify<Uint8Array, { readonly level: number }, Buffer>(deflateRaw);
const inflate = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(inflateRaw);

function sliceOf(bytes: Uint8Array, part: number): Uint8Array {
  return bytes.subarray(part * STORED_LIMITS.partBytes, (part + 1) * STORED_LIMITS.partBytes);
}

/** Null if the result is not what was packed. */
async function inflateTo(packed: Buffer, due: number): Promise<Buffer | null> {
  try {
    const bytes = await inflate(packed, { maxOutputLength: due });
    return bytes.length === due ? bytes : null;
  } catch {
    return null;
  }
}

function toStored({ stored_at, bytes, ...row }: SnapshotRow): StoredSnapshot {
  return { ...row, bytes: Number(bytes), storedAt: instantOf(stored_at.getTime()) };
}
