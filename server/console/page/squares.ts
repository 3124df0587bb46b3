// Where the squares of a cell are: a column of squares for each family and a row for each action, as long as that fits.
import type { ScopeName } from '../../../engine/index.js';

export const ROW = 26;
export const COLUMN = 50;
/** Around the squares of a cell, and between two squares. */
const MARGIN = 2;
const GAP = 1;
/** Smaller squares cannot be told apart. */
const LEAST = 2;

export interface Squares {
  readonly side: number;
  /** For each scope, its left upper corner in the cell. */
  readonly at: readonly (readonly [left: number, top: number])[];
  /** From left to right, and from top to bottom; null if the squares stand in the order of the scopes because a family needs more room. */
  readonly heads: { readonly families: readonly string[]; readonly actions: readonly string[] } | null;
}

export function squaresOf(scopes: readonly ScopeName[]): Squares {
  const parts = scopes.map((scope) => scope.split(':'));
  const families = [...new Set(parts.map(([family = '']) => family))];
  const actions = [...new Set(['read', 'write', ...parts.map(([, action = '']) => action)])].filter((action) =>
    parts.some(([, one]) => one === action),
  );
  const tidy = placed(families.length, actions.length);
  if (tidy.side >= LEAST) {
    const at = parts.map(([family = '', action = '']) => tidy.at(families.indexOf(family), actions.indexOf(action)));
    return { side: tidy.side, at, heads: { families, actions } };
  }
  const dense = Array.from({ length: scopes.length }, (_, i) =>
    placed(Math.ceil(scopes.length / (i + 1)), i + 1),
  ).reduce((best, one) => (one.side > best.side ? one : best));
  return {
    side: Math.max(1, dense.side),
    at: scopes.map((_, i) => dense.at(i % dense.across, Math.floor(i / dense.across))),
    heads: null,
  };
}

interface Placed {
  readonly side: number;
  readonly across: number;
  readonly at: (across: number, down: number) => readonly [number, number];
}

function placed(across: number, down: number): Placed {
  const step = Math.floor(Math.min((COLUMN - 2 * MARGIN) / across, (ROW - 2 * MARGIN) / down, 10));
  const [left, top] = [Math.round((COLUMN - across * step) / 2), Math.round((ROW - down * step) / 2)];
  return { side: step - GAP, across, at: (x, y) => [left + x * step, top + y * step] };
}
