// SQL as values. Only the `sql` tag makes a fragment. Its text is what our source contains, and everything interpolated
// is another fragment or becomes a binding. So no text of a request can reach a statement.
import type { Knex } from 'knex';

/** Nobody else has this symbol, and no parsed text can carry it, so whatever has it was made here. */
const brand: unique symbol = Symbol('sql');

export type Binding = string | number | boolean | null | BoundList;

/** One array on the server, however long. */
export type BoundList = readonly (string | null)[] | readonly number[];

export interface Fragment {
  readonly text: string;
  readonly bindings: readonly Binding[];
  readonly [brand]: true;
}

/** A fragment of SQL. `${…}` takes fragments, which are spliced in, and values, which are bound. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Fragment | Binding)[]): Fragment {
  let text = strings[0] ?? '';
  const bindings: Binding[] = [];
  parts.forEach((part, index) => {
    if (isFragment(part)) {
      text += part.text;
      bindings.push(...part.bindings);
    } else {
      text += '?';
      bindings.push(part);
    }
    text += strings[index + 1] ?? '';
  });
  return make(text, bindings);
}

/** Joins the fragments with `separator`. An empty list gives an empty fragment. */
export function join(
  fragments: readonly Fragment[],
  separator: '' | ', ' | ' AND ' | ' OR ' | ' - ' | ' UNION ALL ',
): Fragment {
  return make(
    fragments.map(({ text }) => text).join(separator),
    fragments.flatMap(({ bindings }) => bindings),
  );
}

/** The same statement with different values. */
export function rebound({ text, bindings }: Fragment, values: readonly Binding[]): Fragment {
  if (values.length !== bindings.length) throw new RangeError('a statement takes as many values as it has places');
  return make(text, values);
}

/** A whole number as text: for an expression that must be exactly that of an index. */
export function literal(number: number): Fragment {
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError('a literal is a whole number');
  return make(String(number), []);
}

/** A column name that we make: `k0`, `k1`, … */
export function numbered(index: number): Fragment {
  if (!Number.isSafeInteger(index) || index < 0) throw new RangeError('a column number is a whole number');
  return make(`k${String(index)}`, []);
}

/**
 * Runs a statement in a transaction, or by itself, and returns its rows. Every statement of ours has a binding, so the
 * protocol accepts only one at a time.
 */
export async function rowsOf<Row>(knex: Knex, statement: Fragment): Promise<readonly Row[]> {
  if (statement.bindings.length === 0) throw new Error('a statement without bindings');
  const result = await knex.raw<{ readonly rows: readonly Row[] }>(statement.text, statement.bindings.map(toKnex));
  return result.rows;
}

/** The text in which an array is sent to the server. */
export function listText(list: BoundList): string {
  return `{${list.map(itemText).join(',')}}`;
}

function itemText(item: string | number | null): string {
  if (item === null) return 'NULL';
  if (typeof item === 'number') return String(item);
  // Few items need escaping, and checking is faster than replacing.
  const isPlain = !item.includes('"') && !item.includes('\\');
  return `"${isPlain ? item : item.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/**
 * `$1`, `$2`, … in place of question marks, as knex does it. A question mark after a backslash belongs to an operator.
 */
export function placeholders(text: string): string {
  let count = 0;
  return text.replaceAll(/\\?\?/g, (mark) => (mark === '?' ? `$${String((count += 1))}` : '?'));
}

/** `$1`, `$2`, … in place of question marks, with the same number where a value occurs again with the same type. */
export function sharingValues({ text, bindings }: Fragment): {
  readonly text: string;
  readonly values: readonly Binding[];
} {
  const values: Binding[] = [];
  const places = new Map<string, Map<Binding, number>>();
  let count = 0;
  const shared = text.replaceAll(/\\?\?(::\w+(?:\[\])?)?/g, (mark, type: string | undefined) => {
    if (mark.startsWith('\\')) return mark.slice(1);
    const value = bindings[count] ?? null;
    count += 1;
    const known = places.get(type ?? '') ?? new Map<Binding, number>();
    places.set(type ?? '', known);
    const place = (type === undefined ? undefined : known.get(value)) ?? values.push(value);
    known.set(value, place);
    return `$${String(place)}${type ?? ''}`;
  });
  return { text: shared, values };
}

/** knex's types allow lists of strings; the driver also takes lists with NULLs. */
function toKnex(binding: Binding): Knex.RawBinding {
  return typeof binding === 'object' && binding !== null ? ([...binding] as string[]) : binding;
}

function make(text: string, bindings: readonly Binding[]): Fragment {
  const fragment: Fragment = { text, bindings: Object.freeze(bindings), [brand]: true };
  return Object.freeze(fragment);
}

function isFragment(part: Fragment | Binding): part is Fragment {
  return typeof part === 'object' && part !== null && brand in part;
}
