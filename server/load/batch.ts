// A batch of lines that is stored in one transaction, and what became of each.
import type { Knex } from 'knex';
import type { Instant } from '../../engine/index.js';
import type { BuriedIds } from './buried-ids.js';
import type { LoadRow } from './record-line.js';
import type { KnownTemplates } from './template-rules.js';

/** What happens if a record is stored with other content. */
export type OnConflict = 'report' | 'replace';

/**
 * How records get into the table. `direct` is fastest, and all or nothing. `staged` goes through a stage, from which
 * the server takes the rows that have a free id. A dataset that has met existing records is likely to meet more.
 */
export type Way = 'direct' | 'staged';

export interface StoreOptions {
  readonly way: Way;
  readonly onConflict: OnConflict;
  /** The creation time of records whose lines give none. */
  readonly now: Instant;
  /** Stored paths of namespaces that are known to exist. */
  readonly known: ReadonlySet<string>;
  /**
   * The templates that judge the records made from them; null if nothing is judged but that what a record refers to is
   * or was there.
   */
  readonly templates: KnownTemplates | null;
  /** The ids of records of which earlier batches say that they were deleted. */
  readonly buried: Pick<BuriedIds, 'has'>;
  /** `tried` holds no records for whoever comes next. */
  readonly effect?: 'stored' | 'tried';
}

export interface RecordRefusal {
  readonly code:
    | 'reference.not_found'
    | 'record.conflict'
    | 'record.name_taken'
    | 'record.deleted'
    | 'record.refused'
    | 'record.invalid';
  readonly pointer: string;
  readonly message: string;
}

export type LineOutcome = 'loaded' | 'replaced' | 'unchanged' | RecordRefusal;

export interface StoredBatch {
  /** The better way for the next batch. */
  readonly way: Way;
  readonly outcomes: ReadonlyMap<LoadRow, LineOutcome>;
  /** Stored paths of all namespaces that exist because of this batch. */
  readonly namespaces: readonly string[];
  /** How many of these were made only because something below them was loaded. */
  readonly implied: number;
}

/** Rows are identified by their places in the list, also in the stage. */
export interface Batch {
  readonly trx: Knex.Transaction;
  readonly rows: readonly LoadRow[];
  readonly options: StoreOptions;
  readonly outcomes: Map<LoadRow, LineOutcome>;
  way: Way;
  /** Whether the stage has been created. */
  staged: boolean;
}
