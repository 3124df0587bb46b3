// The same query read in every way that its order allows (server/query/README.md), whichever the gateway would have
// chosen. All of them must give the same answer.
import { visibility } from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { rowsOf, type Fragment } from '../../server/db/sql.js';
import { keyOrder } from '../../server/query/key-order.js';
import type { SortPosition } from '../../server/query/order.js';
import { isTooLarge, itemsJson, pageStatement, type PageRow } from '../../server/query/page-statement.js';
import { parseQuery } from './parse-query.js';
import { rowPredicate } from '../../server/query/row-predicate.js';
import type { Asker } from './query-doors.js';
import type { Envelope } from './query-envelopes.js';

/**
 * All visible records sorted; or the first of each root merged, read at once, after a look at what each of them has, or of very
 * many with the filter tried on those that would come first without it.
 */
export type Shape = 'gather' | 'merge at once' | 'merge in two phases' | 'merge with a window';

export function shapeOf({ text }: Fragment): Shape {
  if (!text.startsWith('WITH ')) return 'gather';
  if (text.includes('tried0_near AS')) return 'merge with a window';
  return text.includes('edge0 AS') ? 'merge in two phases' : 'merge at once';
}

export interface ReadPage {
  readonly ids: readonly string[];
  /** Of the last record, if the page is full. */
  readonly at: SortPosition | null;
  readonly more: boolean;
}

/** What a page's statement gives; the plan has to select ids. */
export async function readPage(db: Database, statement: Fragment): Promise<ReadPage> {
  const rows = await rowsOf<PageRow>(db.knex, statement);
  if (isTooLarge(rows)) throw new Error('a page of large records');
  const items = JSON.parse(itemsJson(rows)) as readonly { readonly id: string }[];
  const places = rows.flatMap(({ at }) => at ?? []);
  if (places.length > 1) throw new Error('a page ends in one place');
  return {
    ids: items.map(({ id }) => id),
    at: places[0] === undefined ? null : (JSON.parse(places[0]) as SortPosition),
    more: rows.some(({ more }) => more),
  };
}

export interface ReadShape {
  readonly shape: Shape;
  readonly ids: readonly string[];
}

/** All ids in pages of `size`, once for each shape; none if the actor is denied. */
export async function readInShapes(
  db: Database,
  asker: Asker,
  { body, size }: { readonly body: Envelope; readonly size: number },
): Promise<readonly ReadShape[]> {
  const plan = parseQuery({ ...body, select: ['id'], page: { size } }, 'query');
  const { family, namespace: context, reach } = plan;
  const visible = visibility(asker.policy, { ...asker, request: { family, context, reach } });
  if (visible.kind === 'none') return [];
  const predicate = rowPredicate(visible);
  const key = keyOrder(plan.orderBy, family);
  const read: ReadShape[] = [];
  for (const order of key === null ? [null] : [key, null]) {
    const ids: string[] = [];
    let statement = pageStatement({ predicate, plan, after: null, order });
    const shape = shapeOf(statement);
    for (;;) {
      const page = await readPage(db, statement);
      ids.push(...page.ids);
      if (!page.more) break;
      if (page.at === null) throw new Error('a page that goes on without a place');
      statement = pageStatement({ predicate, plan, after: page.at, order });
    }
    read.push({ shape, ids });
  }
  return read;
}
