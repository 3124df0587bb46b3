// Views in the store, each once under its digest, for as long as a cursor may name it.
import type { Family, Visible } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { sql } from '../db/sql.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { type FeedView, readView, viewText } from './view.js';

export interface KeptViews {
  /** Keeps a view before a cursor names it. */
  readonly keep: (view: FeedView) => Promise<void>;
  /** Null if it is not kept any more, or was too large to be kept. */
  readonly find: (digest: string) => Promise<ReadonlyMap<Family, Visible> | null>;
}

export function makeKeptViews(db: Pick<Database, 'read' | 'rows'>): KeptViews {
  const known = makeLruCache<number>(Infinity, CHANGES_LIMITS.knownViews);
  return {
    keep: async (view) => {
      const noted = known.get(view.digest);
      if (noted !== undefined && performance.now() - noted < CHANGES_LIMITS.viewInterval) return;
      const began = performance.now();
      const text = viewText(view);
      // One that is too large is not written again either.
      if (text.length <= CHANGES_LIMITS.viewCharacters) {
        await db.rows(sql`INSERT INTO change_views AS v (digest, view, used_at)
          VALUES (${view.digest}::text, ${text}::text, statement_timestamp())
          ON CONFLICT (digest) DO UPDATE SET used_at = GREATEST(v.used_at, EXCLUDED.used_at)`);
      }
      known.put(view.digest, began, 0);
    },
    find: async (digest) => {
      const [row] = await db.read<{ readonly view: string }>(
        sql`SELECT v.view FROM change_views AS v WHERE v.digest = ${digest}::text`,
      );
      return row === undefined ? null : readView(row.view);
    },
  };
}
