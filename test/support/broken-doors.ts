// Doors that are broken on purpose. Each is broken in a way in which a query once leaked or lost something somewhere. A
// suite that does not notice one of them is blind.
import type { Knex } from 'knex';
import type { Database } from '../../server/db/database.js';
import type { Fragment } from '../../server/db/sql.js';
import { type Answer, type Ask, openDoors } from './query-doors.js';

export interface BrokenDoors {
  readonly what: string;
  readonly open: (db: Database) => Promise<Ask>;
}

type Statement = readonly [text: string, bindings: readonly Knex.RawBinding[]];

/** The store with every statement of a query changed on its way. */
export function rewriting(db: Database, rewrite: (statement: Statement) => Statement | Promise<Statement>): Database {
  const read: Database['read'] = async <Row>({ text, bindings }: Fragment) => {
    const [changed, values] = await rewrite([text, bindings as readonly Knex.RawBinding[]]);
    const { rows } = await db.knex.raw<{ readonly rows: readonly Row[] }>(changed, values);
    return rows;
  };
  return { ...db, read, readReplica: read };
}

/** In bindings the end of an exact namespace is its stored path and a space; that of a subtree ends in the next character. */
function openSubtrees(binding: Knex.RawBinding): Knex.RawBinding {
  const open = (text: string): string => text.replaceAll(/\/ (?="|$)/g, '0');
  if (typeof binding === 'string') return open(binding);
  return Array.isArray(binding)
    ? binding.map((one: unknown) => (typeof one === 'string' ? open(one) : one) as string)
    : binding;
}

const changing =
  (change: (answer: Answer, db: Database, body: unknown) => Answer | Promise<Answer>) =>
  async (db: Database): Promise<Ask> => {
    const ask = await openDoors(db);
    return async (asker, kind, body) => change(await ask(asker, kind, body), db, body);
  };

const edited = (answer: Answer, edit: (body: Record<string, unknown>) => Record<string, unknown>): Answer =>
  answer.status === 200
    ? { ...answer, text: JSON.stringify(edit(JSON.parse(answer.text) as Record<string, unknown>)) }
    : answer;

async function tableSize(db: Database): Promise<number> {
  const { rows } = await db.knex.raw<{ rows: readonly { n: number }[] }>('SELECT count(*)::int AS n FROM records');
  return rows[0]?.n ?? 0;
}

/** Broken in what is visible: both suites must see these. */
export const LEAKING: readonly BrokenDoors[] = [
  {
    what: 'an exact namespace that opens everything below it',
    open: (db) =>
      openDoors(
        rewriting(db, ([text, bindings]) => [
          text.replaceAll('r.path = v.at', 'starts_with(r.path, v.at)'),
          bindings.map(openSubtrees),
        ]),
      ),
  },
  {
    what: 'a root that is read on beyond its end',
    // Pages read root by root, counts with a filter all roots of a depth at once.
    open: (db) =>
      openDoors(rewriting(db, ([text, bindings]) => [text.replaceAll(/\) = (?=v\.at|ANY\()/g, ') >= '), bindings])),
  },
  {
    what: 'a condition that is evaluated below the fence and is not total',
    open: (db) =>
      openDoors(
        rewriting(db, async (statement) => {
          if (/\brecords\b/.test(statement[0])) {
            await db.knex.raw("SELECT count(*) FROM records WHERE (properties ->> 'rank')::numeric > ?", [0]);
          }
          return statement;
        }),
      ),
  },
];

/** Broken in what is counted, ordered or cut. */
export const LOSING: readonly BrokenDoors[] = [
  {
    what: 'a page that loses its last record',
    open: changing((answer) =>
      edited(answer, (body) => {
        const items = body['items'];
        return Array.isArray(items) && items.length > 1 ? { ...body, items: items.slice(0, -1) as unknown[] } : body;
      }),
    ),
  },
  {
    what: 'ties that come in another order on a later page',
    open: changing((answer, _, asked) =>
      edited(answer, (body) => {
        const { page } = asked as { readonly page?: { readonly after?: string | null } };
        const items = body['items'];
        return typeof page?.after === 'string' && Array.isArray(items)
          ? { ...body, items: [...(items as unknown[])].reverse() }
          : body;
      }),
    ),
  },
  {
    what: 'a count that is off by one',
    open: changing((answer) =>
      edited(answer, (body) => (typeof body['count'] === 'number' ? { ...body, count: body['count'] + 1 } : body)),
    ),
  },
];

/** Broken in telling of what is invisible without showing any of it. */
export const TELLING: readonly BrokenDoors[] = [
  {
    what: 'a count that depends on the size of the table',
    open: changing(async (answer, db) => {
      const size = await tableSize(db);
      return edited(answer, (body) => (typeof body['count'] === 'number' ? { ...body, count: size } : body));
    }),
  },
  {
    what: 'a page edge that depends on the size of the table',
    open: changing(async (answer, db) => {
      const size = await tableSize(db);
      return edited(answer, (body) => ({ ...body, page: size % 2 === 0 ? body['page'] : null }));
    }),
  },
  {
    what: 'a refusal that depends on the size of the table',
    open: changing(async (answer, db) => {
      const odd = (await tableSize(db)) % 2 === 1;
      return answer.status === 403 && odd ? { ...answer, status: 404 } : answer;
    }),
  },
];
