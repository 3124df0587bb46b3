// The same query read in every shape that its order allows (server/query/README.md), whichever the gateway would have chosen:
// all of them must give one answer.
import { visibility } from '../../engine/index.js';
import type { Database } from '../../server/db/database.js';
import { rowsOf } from '../../server/db/sql.js';
import { isEverything } from '../../server/query/condition.js';
import { keyOrder } from '../../server/query/key-order.js';
import type { Position } from '../../server/query/order.js';
import { pageStatement, type Shape } from '../../server/query/page-statement.js';
import { parseQuery } from '../../server/query/parse-query.js';
import { rowPredicate, visibleExtent } from '../../server/query/row-predicate.js';
import type { Asker } from './query-doors.js';
import type { Envelope } from './query-envelopes.js';

interface PageRow {
  readonly id: string;
  readonly at: Position;
}

export interface ReadShape {
  readonly kind: Shape['kind'];
  readonly ids: readonly string[];
}

/** All ids in pages of `size`, once for each shape; none where the actor is denied or the order has no index. */
export async function readInShapes(
  db: Database,
  asker: Asker,
  { body, size }: { readonly body: Envelope; readonly size: number },
): Promise<readonly ReadShape[]> {
  const plan = parseQuery({ ...body, select: ['id'], page: { size } }, 'query');
  const { family, namespace: context, reach } = plan;
  const visible = visibility(asker.policy, { ...asker, request: { family, context, reach } });
  const order = keyOrder(plan.orderBy);
  if (visible.kind === 'none' || order === null) return [];
  const predicate = rowPredicate(visible);
  const { exact, everything } = visibleExtent(predicate);
  const shapes: readonly Shape[] = [
    { kind: 'gather', order },
    ...(everything ? [{ kind: 'scan' as const, order }] : []),
    ...(exact && isEverything(plan.where) ? [{ kind: 'merge' as const, order }] : []),
  ];
  const read: ReadShape[] = [];
  for (const shape of shapes) {
    const ids: string[] = [];
    let after: Position | null = null;
    for (let more = true; more;) {
      const statement = pageStatement({ predicate, plan, after, shape });
      const rows: readonly PageRow[] = await rowsOf<PageRow>(db.knex, statement);
      const shown = rows.slice(0, size);
      ids.push(...shown.map(({ id }) => id));
      after = shown.at(-1)?.at ?? null;
      more = rows.length > size;
    }
    read.push({ kind: shape.kind, ids });
  }
  return read;
}
