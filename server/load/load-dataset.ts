// Loads a dataset (docs/datasets.md "A line"). Lines stream through in batches, one transaction each, and the next
// batch is read while the last one is stored. A bad line is reported and skipped; the rest of its batch is stored.
import type { Knex } from 'knex';
import type { Instant } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { isBlank } from '../json/strict-json.js';
import { type BuriedIds, makeBuriedIds } from './buried-ids.js';
import { makeDigestCounter } from './digest-counter.js';
import { violates } from '../db/failures.js';
import { holdMoves } from '../db/hold-moves.js';
import { rowsOf } from '../db/sql.js';
import { UNIQUE_NAME } from '../db/tables.js';
import type { Store } from '../db/writing.js';
import { LOAD_LIMITS } from '../limits/records.js';
import { isOpening, readRecordLine, type DatasetText, type SkippedLine, type LoadRow } from './record-line.js';
import type { KnownTemplates } from './template-rules.js';
import { makeTrial, type Trial } from './trial.js';
import type { OnConflict, RecordRefusal, StoredBatch, Way } from './batch.js';
import { NAME_TAKEN, storeBatch } from './store-batch.js';

export interface LoadCounts {
  /** The number of lines read, without blank lines. It is the sum of the other counts. */
  readonly lines: number;
  readonly loaded: number;
  readonly replaced: number;
  readonly unchanged: number;
  readonly bad: number;
}

export interface LoadProgress extends LoadCounts {
  /**
   * Bytes of the dataset read so far, including blank lines and line ends. A line beyond the limit counts as one byte.
   */
  readonly bytes: number;
}

export interface LoadReport extends LoadCounts {
  /** Namespaces made because something below them was loaded. */
  readonly implied: number;
  /** The first thousand faults in the order of lines; `bad` counts all. */
  readonly faults: readonly SkippedLine[];
}

/** A batch is one transaction. It is full when it reaches either limit. */
interface BatchSize {
  readonly lines: number;
  readonly bytes: number;
}

export interface LoadOptions {
  /** What happens if a record is stored with other content: the line is an error, or it replaces the record. */
  readonly onConflict: OnConflict;
  /**
   * The `createdAt` of records whose lines give none, and the `updatedAt` of replaced ones, unless that is later already.
   */
  readonly now: Instant;
  /**
   * Whether schemas of templates, the records made from them, and where a record is that another refers to, are checked
   * as the API checks them. Defaults to `checked`.
   */
  readonly schemas?: 'checked' | 'unchecked';
  /** `tried`: everything is checked and nothing is stored. */
  readonly effect?: 'stored' | 'tried';
  /** When a batch is full. Defaults to what suits the store. */
  readonly batch?: BatchSize;
  /**
   * Audits a batch that stores something, in its transaction. `items` is the number of records that are new or
   * replaced.
   */
  readonly record?: (store: Store, items: number) => Promise<void>;
  /** Called after each batch. */
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Called for every bad line, in the order of lines. */
  readonly onFault?: (fault: SkippedLine) => void;
}

/**
 * Loads JSON Lines into a migrated store. `lines` come in groups of any size, without line ends. A line longer than
 * `LOAD_LIMITS.lineBytes` has null as its bytes. Rejects if the lines cannot be read or the store fails. Batches stored
 * by then stay stored, and loading the same dataset again continues where it stopped.
 */
export async function loadDataset(
  db: Database,
  lines: AsyncIterable<readonly DatasetText[]>,
  options: LoadOptions,
): Promise<LoadReport> {
  const tally = makeTally(options);
  const size = options.batch ?? LOAD_LIMITS.batches[db.kind];
  const known = new Set<string>();
  const buried = makeBuriedIds();
  const { schemas = 'checked', effect = 'stored' } = options;
  const templates: KnownTemplates | null = schemas === 'checked' ? new Map() : null;
  const trial = effect === 'tried' ? makeTrial() : null;
  const reading = { count: makeDigestCounter(), schemas };
  let batch = makeBatch();
  let way: Way = 'direct';
  let storing: Promise<void> = Promise.resolve();
  let begun = false;

  const flush = async (): Promise<void> => {
    const full = batch;
    batch = makeBatch();
    await storing;
    storing = store(db, full.rows, { ...options, known, buried, templates, trial, way }).then((stored) => {
      way = stored.way;
      tally.add(full, stored);
    });
    // The next `await` of `storing` gets the failure. Until then this keeps it from being an unhandled rejection.
    storing.catch(() => undefined);
  };

  try {
    reading: for await (const group of lines) {
      for (const text of group) {
        batch.read += (text.bytes?.length ?? 0) + 1;
        const line = withoutMark(text);
        if (line.bytes !== null && isBlank(line.bytes)) continue;
        const result = readRecordLine(line, reading);
        if (result.ok && meets(batch, result.row)) await flush();
        if (result.ok) put(batch, result.row);
        else batch.faults.push(result.fault);
        // This is not a dataset at all: every further line would be a fault, and then the last record would be stored.
        if (!begun && line.bytes !== null && isOpening(line.bytes)) break reading;
        begun = true;
        if (isFull(batch, size)) await flush();
      }
    }
    await flush();
  } finally {
    // Even if reading fails, the batch that is being stored is finished.
    await storing;
  }
  return tally.report();
}

interface Batch {
  readonly rows: LoadRow[];
  readonly faults: SkippedLine[];
  readonly keys: Set<string>;
  /** Bytes of the rows. */
  bytes: number;
  /** Bytes of the dataset up to the end of the batch. */
  read: number;
}

function makeBatch(): Batch {
  return { rows: [], faults: [], keys: new Set(), bytes: 0, read: 0 };
}

/** Whether the batch has a row about the same record. The second row then waits until the first is stored. */
function meets({ keys }: Batch, row: LoadRow): boolean {
  return keysOf(row).some((key) => keys.has(key));
}

function put(batch: Batch, row: LoadRow): void {
  batch.rows.push(row);
  for (const key of keysOf(row)) batch.keys.add(key);
  batch.bytes += row.bytes;
}

function keysOf({ id, family, path }: LoadRow): readonly string[] {
  return family === 'namespace' ? [id, path] : [id];
}

function isFull({ rows, faults, bytes }: Batch, size: BatchSize): boolean {
  return rows.length + faults.length >= size.lines || bytes >= size.bytes;
}

interface StoreContext extends LoadOptions {
  readonly known: Set<string>;
  readonly buried: BuriedIds;
  readonly templates: KnownTemplates | null;
  readonly trial: Trial | null;
  readonly way: Way;
}

/**
 * Stores the rows of a batch. If PostgreSQL refuses a value, stores one half and then the other, and so on down to the
 * single row.
 */
async function store(db: Database, rows: readonly LoadRow[], context: StoreContext): Promise<StoredBatch> {
  const [row] = rows;
  if (row === undefined) return { outcomes: new Map(), namespaces: [], implied: 0, way: context.way };
  try {
    const stored = await (context.trial === null
      ? inBatch(db, context, (trx) => storeRecorded(trx, rows, context))
      : tryBatch(db, rows, { ...context, trial: context.trial }));
    remember(context.known, stored.namespaces);
    for (const [{ id, deletedAt }, how] of stored.outcomes) {
      if (deletedAt !== null && typeof how === 'string') context.buried.add(id);
    }
    return stored;
  } catch (error) {
    const state = refusedState(error);
    if (state === null) throw error;
    if (rows.length === 1)
      return refused(row, violates(error, UNIQUE_NAME) ? NAME_TAKEN : refusalFor(state), context.way);
    const middle = Math.ceil(rows.length / 2);
    const first = await store(db, rows.slice(0, middle), context);
    const second = await store(db, rows.slice(middle), context);
    return {
      outcomes: new Map([...first.outcomes, ...second.outcomes]),
      way: second.way,
      namespaces: [],
      implied: first.implied + second.implied,
    };
  }
}

/** In a transaction that is repeated if the store aborts it in favour of somebody else's. */
function inBatch<T>(
  db: Database,
  { onConflict, effect }: Pick<LoadOptions, 'onConflict' | 'effect'>,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  let isRepeated = false;
  return db.transaction(
    async (trx) => {
      const hold = holdMoves(db, { moves: onConflict === 'replace' && effect !== 'tried', isRepeated });
      isRepeated = true;
      if (hold !== null) await rowsOf(trx, hold);
      return work(trx);
    },
    { retry: LOAD_LIMITS.retries },
  );
}

async function storeRecorded(
  trx: Knex.Transaction,
  rows: readonly LoadRow[],
  context: StoreContext,
): Promise<StoredBatch> {
  const stored = await storeBatch(trx, rows, context);
  // A note that a record was deleted counts, too: its id is then taken for good.
  const changed = [...stored.outcomes.values()].filter((outcome) => outcome === 'loaded' || outcome === 'replaced');
  const items = changed.length + stored.implied;
  if (items > 0) await context.record?.({ rows: (statement) => rowsOf(trx, statement) }, items);
  return stored;
}

/** Stores the batch, notes the outcome, and rolls it back. */
function tryBatch(
  db: Database,
  rows: readonly LoadRow[],
  context: StoreContext & { readonly trial: Trial },
): Promise<StoredBatch> {
  const { trial, known } = context;
  return takenBack(db, context, (trx) =>
    trial.attempt(trx, rows, { known, store: () => storeBatch(trx, rows, context) }),
  );
}

/** The result of work in a transaction that is rolled back. */
async function takenBack<T>(
  db: Database,
  how: Pick<LoadOptions, 'onConflict' | 'effect'>,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const results: T[] = [];
  const rollBack = new Error('nothing is stored');
  try {
    await inBatch(db, how, async (trx) => {
      results.push(await work(trx));
      throw rollBack;
    });
  } catch (error) {
    if (error !== rollBack) throw error;
  }
  const [result] = results;
  if (result === undefined) throw new TypeError('a transaction that committed what it should have rolled back');
  return result;
}

function refusalFor(state: string): RecordRefusal {
  return { code: 'record.refused', pointer: '', message: `the store refuses a value of it (${state})` };
}

function refused(row: LoadRow, refusal: RecordRefusal, way: Way): StoredBatch {
  return { outcomes: new Map([[row, refusal]]), namespaces: [], implied: 0, way };
}

/** The SQLSTATE of an error about the given values: data exceptions, violated constraints, sizes beyond a limit. */
function refusedState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return /^(?:22|23|54)[0-9A-Z]{3}$/.test(error.code) ? error.code : null;
}

/** Bounded. If a namespace is forgotten, one more statement finds it again. */
function remember(known: Set<string>, namespaces: readonly string[]): void {
  if (known.size > LOAD_LIMITS.knownNamespaces) known.clear();
  for (const path of namespaces) known.add(path);
}

interface Tally {
  readonly add: (batch: Batch, stored: StoredBatch) => void;
  readonly report: () => LoadReport;
}

function makeTally({ onFault, onProgress }: LoadOptions): Tally {
  const counts = { loaded: 0, replaced: 0, unchanged: 0, bad: 0 };
  const faults: SkippedLine[] = [];
  let implied = 0;
  let bytes = 0;
  const current = (): LoadCounts => ({
    lines: counts.loaded + counts.replaced + counts.unchanged + counts.bad,
    ...counts,
  });
  return {
    add: (batch, stored) => {
      const bad = [...batch.faults];
      for (const [{ line }, outcome] of stored.outcomes) {
        if (typeof outcome === 'string') counts[outcome] += 1;
        else bad.push({ line, ...outcome });
      }
      bad.sort((a, b) => a.line - b.line);
      counts.bad += bad.length;
      implied += stored.implied;
      bytes += batch.read;
      for (const fault of bad) {
        if (faults.length < LOAD_LIMITS.keptFaults) faults.push(fault);
        onFault?.(fault);
      }
      onProgress?.({ ...current(), bytes });
    },
    report: () => ({ ...current(), implied, faults }),
  };
}

/** Some editors begin a file with a byte order mark. */
function withoutMark({ number, bytes }: DatasetText): DatasetText {
  const marked = number === 1 && bytes?.[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return marked ? { number, bytes: bytes.subarray(3) } : { number, bytes };
}
