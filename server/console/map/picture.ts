// The picture of the map: for any window of lines and columns, how much of each cell is held. What is shown of a cell is worked out from
// the counts of the engine and never from the policy's text.
import { countIn, type Nodes, type Tally } from '../../../engine/compiler.js';
import type { Instant, ScopeName } from '../../../engine/index.js';
import { type Line, makePlaces, type Opened, type Place, type Places } from './axis.js';
import { type Cast, type Column, type Grouping, makeColumns, visibleColumns } from './columns.js';

/** What a picture is of. Null for the instant means at any time. */
export interface View {
  readonly grouping: Grouping;
  readonly at: number | null;
  readonly rows: Opened;
  readonly columns: Opened;
  readonly searchRows: string;
  readonly searchColumns: string;
}

/** Layers are `held`, or what is gained and what is lost. */
export interface Ground {
  readonly nodes: Nodes;
  readonly cast: Cast;
  readonly layers: number;
  readonly scopes: readonly ScopeName[];
  readonly tallies: (identities: readonly number[], at: Instant | null) => readonly Tally[];
}

/** Lines `row` up to `row + rows`, and so the columns. */
export interface Frame {
  readonly row: number;
  readonly rows: number;
  readonly column: number;
  readonly columns: number;
}

export interface Shown {
  readonly frame: Frame;
  readonly lines: readonly Line[];
  readonly columns: readonly Line[];
  readonly scopes: readonly ScopeName[];
  /** By line, column, layer and scope: 0 for none, 255 for all, between them for some. */
  readonly cells: Uint8Array;
}

export interface CellCount {
  readonly path: string;
  readonly place: string;
  readonly column: string;
  readonly columnKind: string;
  /** How many pairs of an identity and a place a scope could be held in. */
  readonly of: number;
  readonly identities: number;
  readonly places: number;
  readonly scopes: readonly ScopeName[];
  /** By layer, then scope. */
  readonly counts: readonly (readonly number[])[];
}

export interface Picture {
  readonly lines: number;
  readonly columns: number;
  readonly show: (frame: Frame) => Shown;
  readonly cell: (line: number, column: number) => CellCount;
  readonly lineOf: (path: string) => number;
  readonly columnAt: (column: number) => Column | undefined;
  readonly lineAt: (line: number) => Place;
  readonly nameOf: (identity: number) => string;
}

export const ALL = 255;
/** Tallies that are kept: a few screens of columns. */
const KEPT = 512;

export function makePicture(ground: Ground, view: View, at: Instant | null): Picture {
  const places: Places = makePlaces(ground.nodes, view.rows, view.searchRows);
  const columns = visibleColumns(makeColumns(ground.cast, view.grouping), view.columns, view.searchColumns);
  const kept = new Map<number, readonly Tally[]>();
  const talliesOf = (column: number): readonly Tally[] => {
    const known = kept.get(column);
    if (known !== undefined) return known;
    if (kept.size >= KEPT) kept.clear();
    const made = ground.tallies(columns[column]?.identities ?? [], at);
    kept.set(column, made);
    return made;
  };
  return {
    lines: places.count,
    columns: columns.length,
    lineOf: places.lineOf,
    columnAt: (column) => columns[column],
    lineAt: places.at,
    nameOf: (identity) => ground.cast.identities[identity] ?? '',
    show: (asked) => {
      const frame = within(asked, { lines: places.count, columns: columns.length });
      const shownColumns = columns.slice(frame.column, frame.column + frame.columns);
      const lines = Array.from({ length: frame.rows }, (_, i) => places.at(frame.row + i));
      const size = ground.layers * ground.scopes.length;
      const cells = new Uint8Array(frame.rows * frame.columns * size);
      shownColumns.forEach(({ identities }, across) => {
        talliesOf(frame.column + across).forEach((tally, layer) => {
          lines.forEach(({ from, until }, down) => {
            const of = identities.length * (until - from);
            const start = (down * frame.columns + across) * size + layer * ground.scopes.length;
            countIn(tally, from, until).forEach((count, scope) => {
              cells[start + scope] = shadeOf(count, of);
            });
          });
        });
      });
      return { frame, lines: lines.map(lineOnly), columns: shownColumns.map(lineOnly), scopes: ground.scopes, cells };
    },
    cell: (line, column) => {
      const { path, kind, from, until } = places.at(line);
      const { identities = [], text = '', kind: columnKind = '' } = columns[column] ?? {};
      return {
        ...{ path, place: kind, column: text, columnKind, identities: identities.length, places: until - from },
        of: identities.length * (until - from),
        scopes: ground.scopes,
        counts: talliesOf(column).map((tally) => countIn(tally, from, until)),
      };
    },
  };
}

function lineOnly({ key, text, depth, isOpen, kind }: Line): Line {
  return { key, text, depth, isOpen, kind };
}

function within(asked: Frame, { lines, columns }: { readonly lines: number; readonly columns: number }): Frame {
  const row = Math.max(0, Math.min(asked.row, lines));
  const column = Math.max(0, Math.min(asked.column, columns));
  return { row, rows: Math.min(asked.rows, lines - row), column, columns: Math.min(asked.columns, columns - column) };
}

/** Some is never drawn as none or as all. */
export function shadeOf(count: number, of: number): number {
  if (count === 0 || of === 0) return 0;
  return count === of ? ALL : Math.min(ALL - 1, 1 + Math.floor((count / of) * (ALL - 2)));
}
