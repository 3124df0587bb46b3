// Remembers what was recently made from rows, because answers tend to repeat it. A text or an object is made once and
// kept until another row takes its slot, which is given by the row's low bits. So the memory is bounded however large
// the policy is.

export interface KeptRows<Value> {
  readonly values: (Value | undefined)[];
  readonly rows: Int32Array;
}

/** A power of two. */
const MOST = 1 << 16;

export function makeKept<Value>(rows: number): KeptRows<Value> {
  let slots = 1;
  while (slots < Math.min(rows, MOST)) slots *= 2;
  return { values: new Array<Value | undefined>(slots).fill(undefined), rows: new Int32Array(slots) };
}

export function keptOf<Value>({ values, rows }: KeptRows<Value>, row: number): Value | undefined {
  const slot = row & (rows.length - 1);
  return rows[slot] === row ? values[slot] : undefined;
}

export function keep<Value>({ values, rows }: KeptRows<Value>, row: number, value: Value): Value {
  const slot = row & (rows.length - 1);
  rows[slot] = row;
  values[slot] = value;
  return value;
}
