// A load that stores nothing. Each batch is stored in a transaction that is rolled back, so the store says what it
// would say in earnest. This remembers what the store would hold by then, because later lines refer to it, repeat it or
// contradict it.
import { hash } from 'node:crypto';
import type { Family, NamespacePath } from '../../engine/index.js';
import type { LoadRow } from './record-line.js';
import type { OnConflict, Outcome } from './store-batch.js';

interface Tried {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly template: string | null;
  readonly content: string;
}

export interface Trial {
  /** Rows about records of earlier batches, with their outcomes. The store judges the other rows. */
  readonly settled: (rows: readonly LoadRow[], onConflict: OnConflict) => ReadonlyMap<LoadRow, Outcome>;
  readonly remember: (outcomes: ReadonlyMap<LoadRow, Outcome>) => void;
  /** The record of this id that an earlier batch would have stored. */
  readonly find: (id: string) => Pick<Tried, 'family' | 'namespace' | 'template'> | null;
  /** A template from an earlier batch, its parts as JSON texts; undefined if there is no such template. */
  readonly templateOf: (id: string) => Pick<LoadRow, 'schema' | 'slots'> | undefined;
}

export function makeTrial(): Trial {
  const tried = new Map<string, Tried>();
  const templates = new Map<string, Pick<LoadRow, 'schema' | 'slots'>>();
  const settle = (row: LoadRow, onConflict: OnConflict): Outcome | null => {
    const before = tried.get(keyOf(row));
    if (before === undefined) return null;
    if (before.content === contentOf(row)) return 'unchanged';
    if (onConflict === 'replace' && before.family === row.family) return 'replaced';
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
    remember: (outcomes) => {
      for (const [row, outcome] of outcomes) {
        if (outcome !== 'loaded' && outcome !== 'replaced') continue;
        const { family, namespace, template, schema, slots } = row;
        tried.set(keyOf(row), { family, namespace, template, content: contentOf(row) });
        if (family === 'namespace') tried.set(row.id, { family, namespace, template, content: contentOf(row) });
        if (family.endsWith('-template')) templates.set(row.id, { schema, slots });
      }
    },
    find: (id) => tried.get(id) ?? null,
    templateOf: (id) => templates.get(id),
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
