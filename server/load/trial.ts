// A load that stores nothing. Each batch is stored in a transaction that is rolled back, so the store says what it
// would say in earnest. This remembers what the store would hold by then, because later lines refer to it, repeat it or
// contradict it.
import { hash } from 'node:crypto';
import type { Family, NamespacePath } from '../../engine/index.js';
import type { LoadRow } from './record-line.js';
import { NAME_TAKEN, type OnConflict, type LineOutcome } from './store-batch.js';

interface Tried {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly template: string | null;
  readonly content: string;
}

export interface Trial {
  /**
   * Rows that repeat or contradict what earlier batches have brought, with their outcomes. The store judges the other
   * rows, also those that replace something from an earlier batch.
   */
  readonly settled: (rows: readonly LoadRow[], onConflict: OnConflict) => ReadonlyMap<LoadRow, LineOutcome>;
  /**
   * `outcomes` are those of the store, and `marked` the ids that it has marked for a unique name. Returns the outcomes as
   * they would be if the store had earlier batches, with those that fail for a name which one of these has taken.
   */
  readonly remember: (
    outcomes: ReadonlyMap<LoadRow, LineOutcome>,
    marked: ReadonlySet<string>,
  ) => ReadonlyMap<LoadRow, LineOutcome>;
  /** The record of this id that an earlier batch would have stored. */
  readonly find: (id: string) => Pick<Tried, 'family' | 'namespace' | 'template'> | null;
  /** A template from an earlier batch, its parts as JSON texts; undefined if there is no such template. */
  readonly templateOf: (id: string) => Pick<LoadRow, 'schema' | 'slots'> | undefined;
}

export function makeTrial(): Trial {
  const tried = new Map<string, Tried>();
  const templates = new Map<string, Pick<LoadRow, 'schema' | 'slots' | 'uniqueName'>>();
  const names = makeNames();
  const settle = (row: LoadRow, onConflict: OnConflict): LineOutcome | null => {
    const before = tried.get(keyOf(row));
    if (before === undefined) return null;
    if (before.content === contentOf(row)) return 'unchanged';
    const isMarked = templates.get(row.id)?.uniqueName ?? row.uniqueName;
    if (onConflict === 'replace' && before.family === row.family && isMarked === row.uniqueName) return null;
    const message = 'an earlier line has other content for the same record';
    return { code: 'record.conflict', pointer: row.given ? '/id' : '', message };
  };
  return {
    settled: (rows, onConflict) =>
      new Map(
        rows.flatMap((row) => {
          const outcome = settle(row, onConflict);
          return outcome === null ? [] : [[row, outcome] as const];
        }),
      ),
    remember: (outcomes, marked) => {
      const right = new Map(outcomes);
      for (const [row, outcome] of outcomes) {
        if (typeof outcome !== 'string') continue;
        const { family, namespace, template, schema, slots, uniqueName } = row;
        // The store knows neither a template that an earlier batch has brought, nor its records.
        const before = tried.get(keyOf(row));
        if (before !== undefined) right.set(row, 'replaced');
        else if (outcome === 'unchanged') continue;
        const stays = before !== undefined && before.template === template && names.has(row.id);
        const isUnique = stays || marked.has(row.id) || templates.get(template ?? '')?.uniqueName === true;
        if (!names.take(row, isUnique)) {
          right.set(row, NAME_TAKEN);
          continue;
        }
        tried.set(keyOf(row), { family, namespace, template, content: contentOf(row) });
        if (family === 'namespace') tried.set(row.id, { family, namespace, template, content: contentOf(row) });
        if (family.endsWith('-template')) templates.set(row.id, { schema, slots, uniqueName });
      }
      return right;
    },
    find: (id) => tried.get(id) ?? null,
    templateOf: (id) => templates.get(id),
  };
}

interface Names {
  readonly has: (id: string) => boolean;
  /** Gives the row its name, and frees the one that it had. False if another row has it. */
  readonly take: (row: LoadRow, isUnique: boolean) => boolean;
}

function makeNames(): Names {
  const holders = new Map<string, string>();
  const held = new Map<string, string>();
  return {
    has: (id) => held.has(id),
    take: ({ id, family, path, name, archivedAt }, isUnique) => {
      const key = isUnique && name !== null && archivedAt === null ? `${family} ${path} ${name}` : null;
      if (key !== null && (holders.get(key) ?? id) !== id) return false;
      const before = held.get(id);
      if (before !== undefined) holders.delete(before);
      held.delete(id);
      if (key === null) return true;
      holders.set(key, id);
      held.set(id, key);
      return true;
    },
  };
}

function keyOf({ family, id, path }: LoadRow): string {
  return family === 'namespace' ? path : id;
}

const NOT_STORED: ReadonlySet<string> = new Set(['line', 'bytes', 'references']);

/** A digest of what is stored, without where the line is or how it is written. */
function contentOf(row: LoadRow): string {
  const content = Object.entries(row).filter(([name]) => !NOT_STORED.has(name));
  return hash('sha256', JSON.stringify(content), 'base64url');
}
