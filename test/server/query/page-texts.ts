// How a page is written, in the words of its statement: what stands around its rows.
interface Shown {
  /** A field of the record that is all that is shown, and its JSON. */
  readonly shown: string;
  readonly at: string;
  readonly order: string;
}

const json = ({ shown }: Shown): string =>
  `string_agg(('{' || NULLIF(array_to_string(ARRAY[${shown}], ','), '') || '}'), ',' ORDER BY x.place)`;
/** None of what these pages show can be large. */
const placed = (rows: string, { order }: Shown): string =>
  `SELECT x.*, row_number() OVER (${order}) AS place, FALSE AS large FROM (${rows}) AS x`;

/** The page that is made of rows: their JSON, the place of the last, whether there are more, how many are shown and whether some are large. */
export const made = (rows: string, shown: Shown): string =>
  `SELECT ${json(shown)} FILTER (WHERE x.place <= ?::bigint AND NOT x.large) AS records,
     string_agg(x.id::text, ',' ORDER BY x.place) FILTER (WHERE x.place <= ?::bigint) AS ids, max(array_to_json(ARRAY[${shown.at}])::text) FILTER (WHERE x.place = ?::bigint) AS at, bool_or(x.place > ?::bigint) AS more,
     LEAST(max(x.place), ?::bigint)::integer AS shown, bool_or(x.large) AS large
   FROM (${placed(rows, shown)}) AS x
   GROUP BY x.place / 64 ORDER BY x.place / 64`;

/** The same, text by text until there are 8 MiB. */
export const madeInParts = (rows: string, shown: Shown): string =>
  `SELECT o.* FROM (WITH RECURSIVE placed AS MATERIALIZED (${placed(rows, shown)}),
     texts (part, records, ids, place, bytes) AS ( SELECT 0::bigint, NULL::text COLLATE "C", NULL::text, 0::bigint, 0::bigint
       UNION ALL SELECT t.part + 1, n.records, n.ids, n.place, t.bytes + octet_length(n.records) + 1
         FROM texts AS t CROSS JOIN LATERAL ( SELECT ${json(shown)} AS records, string_agg(x.id::text, ',' ORDER BY x.place) AS ids, max(x.place) AS place
           FROM placed AS x WHERE x.place > t.place AND x.place <= LEAST(t.place
             + (SELECT CASE WHEN bool_or(x.large) THEN 4 ELSE 64 END FROM placed AS x), ?::bigint)) AS n
         WHERE n.place > 0 AND t.bytes <= 8388608),
     kept AS (SELECT t.*, max(t.place) OVER () AS last FROM texts AS t WHERE t.part = 1 OR t.part > 1 AND t.bytes <= 8388608)
   SELECT k.records, k.ids, k.last < (SELECT count(*) FROM placed) AS more, k.last::integer AS shown, FALSE AS large,
     (SELECT array_to_json(ARRAY[${shown.at}])::text FROM placed AS x WHERE x.place = k.last
       AND k.place = k.last AND (k.last = ?::bigint OR k.last < (SELECT count(*) FROM placed))) AS at
   FROM kept AS k ORDER BY k.part) AS o`;
