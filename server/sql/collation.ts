// Whether a column of PostgreSQL holds namespaces as strings that are compared byte by byte.
import { quoteNames } from './predicate.js';

/** What a door runs for `assertCollation`. Each `?` stands for one of the values. */
interface Question {
  readonly text: string;
  readonly values: readonly [table: string, column: string];
}

type Catalog = Readonly<Record<string, string | null>>;

interface Found {
  readonly type: string;
  readonly collation: Catalog | null;
  readonly database: Catalog;
}

/** What the question returns: one row with `found`, or none where there is no such column. */
export type CatalogRow = Readonly<Record<string, unknown>>;

/** Catalogs as JSON: their columns differ between versions of PostgreSQL. */
const ASK = `SELECT jsonb_build_object(
  'type', format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL),
  'collation', (SELECT to_jsonb(n) FROM pg_collation AS n WHERE n.oid = a.attcollation),
  'database', (SELECT to_jsonb(d) FROM pg_database AS d WHERE d.datname = current_database())) AS found
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(CAST(? AS text)) AND a.attname = CAST(? AS text) AND a.attnum > 0 AND NOT a.attisdropped`;

export function collationQuestion(column: string): Question {
  const names = column.split('.');
  const name = names.pop() ?? '';
  if (names.length === 0) throw new TypeError(`\`${column}\` must name a table and a column, like \`invoice.path\``);
  return { text: ASK, values: [quoteNames(names.join('.')), name] };
}

/** With `$1` and `$2` in place of the question marks. */
export function numbered(sql: string): string {
  let n = 0;
  return sql.replaceAll('?', () => `$${String(++n)}`);
}

/** Throws an error that says what to do, unless the rows of the question say that the column is compared byte by byte. */
export function requireByteOrder(column: string, rows: readonly CatalogRow[]): void {
  const [row] = rows;
  if (row === undefined)
    throw new Error(`the database has no column ${column}: check its name, the schema and the search_path`);
  const found = row['found'];
  if (!isFound(found)) throw new TypeError('the driver did not return what the catalog holds as JSON');
  const names = column.split('.');
  const name = names.pop() ?? '';
  const repair = `ALTER TABLE ${quoteNames(names.join('.'))} ALTER COLUMN ${quoteNames(name)} TYPE text COLLATE "C"`;
  if (found.type !== 'text' && found.type !== 'character varying')
    throw new Error(`${column} has the type ${found.type}; namespaces are stored as text. Run: ${repair}`);
  const fault = faultOf(found);
  if (fault === null) return;
  throw new Error(
    `${column} is compared by ${fault}, not byte by byte. A condition of \`visibleWhere\` stays right, because it states COLLATE "C", but a comparison of your own can show siblings, and no index on the column serves either. Run: ${repair}`,
  );
}

function isFound(value: unknown): value is Found {
  return typeof value === 'object' && value !== null && 'type' in value && 'collation' in value && 'database' in value;
}

function faultOf({ collation, database }: Found): string | null {
  if (collation === null) return 'no collation';
  const ofDatabase = collation['collprovider'] === 'd';
  const of = ofDatabase ? database : collation;
  const word = (...keys: readonly string[]): string =>
    keys.map((key) => of[key]).find((value) => typeof value === 'string') ?? '';
  // Before PostgreSQL 15 databases had no provider but the C library.
  const provider = ofDatabase ? word('datlocprovider') || 'c' : word('collprovider');
  const libc = word('datcollate', 'collcollate');
  if (provider === 'b' || (provider === 'c' && /^(?:C|POSIX|C\.UTF-?8)$/i.test(libc))) return null;
  const locale = provider === 'c' ? libc : word('datlocale', 'daticulocale', 'colllocale', 'colliculocale');
  const from = provider === 'i' ? 'ICU' : 'the C library';
  return ofDatabase
    ? `the locale ${locale} of the database (${from})`
    : `the collation "${collation['collname'] ?? ''}" (${from}, ${locale})`;
}
