// The text of a page of very many roots with a filter (server/query/merge-roots.ts), pinned whole: what is tried on which records, and
// what decides that it was enough.
import { describe, expect, it } from '@jest/globals';
import { ancestorKey } from '../../../server/query/ancestor-keys.js';
import { page, some } from './asked-pages.js';

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');
const LISTED = 'unnest(?::text[]) AS v (at)';
const NEWEST_FIRST = 'ORDER BY x.k0 DESC NULLS LAST, x.k1 ASC NULLS LAST';
const below = (depth: number): string => {
  const { key, exists } = ancestorKey(depth);
  return `${exists.text} AND ${key.text} = v.at`;
};

/** The first records of each root of a table `v`. */
const each = (roots: string, rows: string, arm = 0): string =>
  `SELECT ${String(arm)} AS arm, v.at, f.* FROM ${roots} CROSS JOIN LATERAL (${rows}) AS f`;
/** Those of the roots that have more, of which another query tells. */
const rest = (more: string, rows: string, arm = 0): string =>
  each(`(SELECT m.at FROM ${more} AS m WHERE m.arm = ${String(arm)}) AS v`, rows, arm);
const edgeOf = (first: string, offset: string): string =>
  `SELECT COALESCE(p.place, timestamptz '-infinity') AS place, p.place IS NULL AS whole
     FROM (SELECT (SELECT x.k0 FROM ${first} AS x ${NEWEST_FIRST} OFFSET ${offset} LIMIT 1) AS place OFFSET 0) AS p`;
const placeOf = (edge: string): string => `(SELECT e.place FROM ${edge} AS e)`;
const reachedBy = (first: string, edge: string): string =>
  `SELECT x.arm, x.at FROM ${first} AS x WHERE x.k0 >= ${placeOf(edge)} GROUP BY x.arm, x.at`;

describe('a statement', () => {
  it.each([
    [257, 'tried on what comes first, and on all if that is too few'],
    [513, 'tried on more if there is hope'],
  ])('is this one for a page of %i roots with a filter: %s', (count) => {
    const roots = Array.from({ length: count }, (_, index) => `/a/n${String(1000 + index)}`);
    const body = { select: ['name'], orderBy: [{ createdAt: 'desc' }], where: { revision: { gt: 1 } } };
    const statement = page({ visible: some([], roots), body });
    const filter = '((x.revision::numeric > ?::numeric))';
    const walk = `FROM records AS r WHERE ${below(2)}`;
    const inOrder = 'ORDER BY r.created_at DESC, uuid_send(r.id)';
    const keys = 'x.created_at AS k0, x.id AS k1';
    const within = (edge: string): string => `${walk} AND r.created_at >= ${placeOf(edge)} AND TRUE ${inOrder}`;
    const filtered = (rows: string): string =>
      `SELECT x.*, ${keys} FROM (SELECT r.*, uuid_send(r.id) AS id_bytes ${rows} OFFSET 0) AS x WHERE ${filter}
         ORDER BY x.created_at DESC, x.id_bytes LIMIT ?::bigint`;
    const unfiltered = (columns: string, rows: string): string =>
      `SELECT ${columns} FROM (SELECT r.*, uuid_send(r.id) AS id_bytes ${rows} LIMIT ?::bigint) AS x`;
    const page0 = (rows: string): string => `SELECT x.* FROM (${rows}) AS x ${NEWEST_FIRST} LIMIT ?::bigint`;

    const windowOf = (of: string): string => {
      const [first, edge, more] = [`tried_first${of}`, `tried_edge${of}`, `tried_more${of}`];
      const offset = `CASE WHEN (SELECT count(*) FROM ${first}) >= ?::bigint THEN ?::bigint ELSE
        (SELECT CASE WHEN bool_or(s.n = ?::bigint) THEN sum(s.n)::bigint / 2 ELSE ?::bigint END
          FROM (SELECT count(*) AS n FROM ${first} AS x GROUP BY x.arm, x.at) AS s) END`;
      return `${first} AS MATERIALIZED (${each(LISTED, unfiltered(keys, `${walk} AND TRUE ${inOrder}`))}),
          ${edge} AS MATERIALIZED (${edgeOf(first, offset)}),
          ${more} AS MATERIALIZED (${reachedBy(first, edge)}),
          tried${of} AS MATERIALIZED (${page0(rest(more, unfiltered(`x.*, ${keys}`, within(edge))))}),
          hits${of} AS MATERIALIZED (SELECT x.* FROM tried${of} AS x WHERE ${filter} ${NEWEST_FIRST} LIMIT ?::bigint),
          short${of} AS MATERIALIZED (SELECT (SELECT count(*) FROM hits${of}) < ?::bigint AND NOT
            ((SELECT e.whole FROM ${edge} AS e) AND (SELECT count(*) FROM tried${of}) < ?::bigint) AS short)`;
    };
    const isShort = (of: string): string => `(SELECT s.short FROM short${of} AS s)`;
    const kept = `SELECT x.* FROM first0 AS x WHERE x.k0 >= ${placeOf('edge0')}
      AND (x.arm, x.at) NOT IN (SELECT m.arm, m.at FROM more0 AS m)`;
    const all = `first0 AS MATERIALIZED (${each(LISTED, filtered(`${walk} AND TRUE ${inOrder}`))}),
          edge0 AS MATERIALIZED (${edgeOf('first0', '?::bigint')}),
          more0 AS MATERIALIZED (${reachedBy('first0', 'edge0')} HAVING count(*) = ?::bigint),
          all0 AS MATERIALIZED (${page0(`${kept} UNION ALL ${rest('more0', filtered(within('edge0')))}`)})`;
    const hopeful = `hopeful0 AS MATERIALIZED (SELECT ${isShort('0_near')}
            AND (SELECT count(*) FROM hits0_near) * ?::bigint >= ?::bigint AS hopeful), ${windowOf('0_far')},`;
    const isHopeful = '(SELECT h.hopeful FROM hopeful0 AS h)';
    const near = `SELECT x.* FROM hits0_near AS x WHERE NOT ${isShort('0_near')}`;
    const far = `SELECT x.* FROM hits0_far AS x WHERE CASE WHEN ${isHopeful} THEN NOT ${isShort('0_far')} ELSE FALSE END`;
    const others = `SELECT x.* FROM all0 AS x WHERE`;
    const either = `CASE WHEN ${isHopeful} THEN ${isShort('0_far')} ELSE ${isShort('0_near')} END`;
    const answers = count > 512 ? [near, far, `${others} ${either}`] : [near, `${others} ${isShort('0_near')}`];
    expect(flat(statement.text.slice(0, statement.text.lastIndexOf(')\n    SELECT ') + 1))).toBe(
      flat(`WITH ${windowOf('0_near')}, ${count > 512 ? hopeful : ''} ${all},
          page0 AS MATERIALIZED (${answers.join(' UNION ALL ')})`),
    );
    const keysOf = roots.map((root) => `2${root}/`);
    const window = (size: number): unknown[] => {
      const share = Math.ceil((2 * size) / count);
      return [...[keysOf, share, size, size - 1, share, size - 1], ...[size, size, '1', 51, 51, size]];
    };
    const bound = [
      ...window(816),
      ...(count > 512 ? [20, 51, ...window(8160)] : []),
      ...[keysOf, '1', 1, 50, 1, '1', 51, 51],
    ];
    expect(statement.bindings.slice(0, bound.length)).toEqual(bound);
    // A page without a filter has nothing to try.
    expect(page({ visible: some([], roots), body: { ...body, where: {} } }).text).not.toContain('tried');
    expect(page({ visible: some([], roots.slice(0, 256)), body }).text).not.toContain('tried');
  });
});
