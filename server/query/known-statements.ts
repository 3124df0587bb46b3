// Statements of pages that were written before. To write one takes as long as everything else that a request does before the store
// is asked, and its text follows from the visible set and the query alone: only the place in a cursor is another each time,
// and that is bound, never written. A statement is found by the very predicate that it was made from.
import { rebound, type Binding, type Fragment } from '../db/sql.js';
import { makeRecent } from '../recent.js';
import type { Position } from './order.js';
import type { QueryPlan } from './plan.js';
import type { RowPredicate } from './row-predicate.js';

export interface Wanted {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
}

interface Known {
  readonly statement: Fragment;
  /** Which bindings are parts of the position: index of the binding, index of the part. */
  readonly slots: readonly (readonly [binding: number, part: number])[];
}

/** Characters of all statements that are kept, of which the longest unused go first. */
const KEPT = 8_000_000;
/** Characters of one that is kept: a larger one takes the store so long that writing it is nothing. */
const LONGEST = 16_000;

type Write = (wanted: Wanted) => Fragment;

/** As `write`, which must bind the parts of the position as they are. */
export function remembering(write: Write): Write {
  const known = makeRecent<Known>(KEPT);
  return (wanted) => {
    const name = nameOf(wanted);
    const found = known.get(name);
    if (found !== undefined) return filledIn(found, wanted.after);
    const made = writeOnce(wanted, write);
    const size = sizeOf(name, made);
    if (size <= LONGEST) known.put(name, made, size);
    return filledIn(made, wanted.after);
  };
}

/** Everything that a request says is in it: names of properties are bound, and may be as long as a body. */
function sizeOf(name: string, { statement: { text, bindings } }: Known): number {
  const bound = bindings.flat().reduce<number>((sum, value) => sum + String(value).length, 0);
  return name.length + text.length + bound;
}

function writeOnce(wanted: Wanted, write: Write): Known {
  const after = wanted.after?.map((part, index) => (part === null ? null : slot(index))) ?? null;
  const statement = write({ ...wanted, after });
  const slots = statement.bindings.flatMap((binding, index) => {
    const part = after?.indexOf(typeof binding === 'string' ? binding : null) ?? -1;
    return typeof binding === 'string' && part >= 0 ? [[index, part] as const] : [];
  });
  return { statement, slots };
}

/** A text that nothing else can be: no text of a request or of the store has this character. */
function slot(index: number): string {
  return `\u0000${String(index)}`;
}

function filledIn({ statement, slots }: Known, after: Position | null): Fragment {
  if (after === null || slots.length === 0) return statement;
  const bindings: Binding[] = [...statement.bindings];
  for (const [index, part] of slots) bindings[index] = after[part] ?? null;
  return rebound(statement, bindings);
}

/** Equal exactly where predicate, query, page size, selection and the absent parts of the position are. */
function nameOf({ predicate, plan, after }: Wanted): string {
  const { digest, page, select } = plan;
  const absent = after?.map((part) => (part === null ? '-' : '+')).join('') ?? '';
  // Maps as lists of their entries.
  const selected = select === null ? '' : JSON.stringify([...select.fields], (_, part: unknown) => listed(part));
  return `${numberOf(predicate)} ${digest} ${String(page.size)} ${absent} ${selected}`;
}

function listed(part: unknown): unknown {
  return part instanceof Map ? [...part.entries()] : part;
}

const numbers = new WeakMap<RowPredicate, string>();
let last = 0;

function numberOf(predicate: RowPredicate): string {
  const there = numbers.get(predicate);
  if (there !== undefined) return there;
  const given = String((last += 1));
  numbers.set(predicate, given);
  return given;
}
