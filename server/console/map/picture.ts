// The picture of the map: for any window of lines and columns, how much of each cell is held. What is shown of a cell is worked out from
// the counts of the engine and never from the policy's text.
import { type Counting, countIn, type Nodes, type Tally } from '../../../engine/compiler.js';
import type { Instant, ScopeName } from '../../../engine/index.js';
import { type TreeLine, makePlaces, OPENED, PINNED, type Opened, type PlaceLine, type PlaceLines } from './axis.js';
import { type Cast, type Column, type Grouping, makeColumns, visibleColumns } from './columns.js';

/** What a picture is of. Null for the instant means at any time. */
export interface View {
  readonly grouping: Grouping;
  readonly at: number | null;
  readonly rows: Opened;
  readonly columns: Opened;
  readonly searchRows: string;
  readonly searchColumns: string;
  /** Keys of columns that stand first, and paths of lines. */
  readonly pinned?: readonly string[];
  readonly pinnedRows?: readonly string[];
}

export function startView(at: number | null): View {
  const closed = { rows: { all: false, but: ['/'] }, columns: { all: false, but: [''] } };
  return { grouping: 'people', at, ...closed, searchRows: '', searchColumns: '' };
}

/** Of changes, all of them at any time. */
export const CHANGES_VIEW: View = { ...startView(null), grouping: 'identities', rows: OPENED, columns: OPENED };

/** Layers are `held`, or what is gained and what is lost. */
export interface PictureGround {
  readonly nodes: Nodes;
  readonly cast: Cast;
  readonly layers: number;
  readonly scopes: readonly ScopeName[];
  readonly tallies: (identities: readonly number[], at: Instant | null) => readonly Tally[];
  /** For many identities, if that takes long. */
  readonly count?: (identities: readonly number[], at: Instant | null) => Counting;
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
  readonly lines: readonly TreeLine[];
  readonly columns: readonly TreeLine[];
  readonly scopes: readonly ScopeName[];
  /** By column: whether it is still being counted. */
  readonly pending: readonly boolean[];
  /** By line, column, layer and scope: 0 for none, 255 for all, between them for some. */
  readonly cells: Uint8Array;
}

export interface Size {
  readonly lines: number;
  readonly columns: number;
  /** How many of them are pinned: these come first. */
  readonly pinnedLines: number;
  readonly pinnedColumns: number;
}

export interface CellCount {
  readonly path: string;
  readonly place: string;
  readonly column: string;
  readonly columnKind: string;
  readonly columnKey: string;
  /** How many pairs of an identity and a place a scope could be held in. */
  readonly of: number;
  readonly identities: number;
  readonly places: number;
  readonly scopes: readonly ScopeName[];
  /** By layer, then scope. */
  readonly counts: readonly (readonly number[])[];
}

export interface Picture {
  readonly size: Size;
  readonly show: (frame: Frame) => Shown;
  /** Null while its column is being counted. */
  readonly cell: (line: number, column: number) => CellCount | null;
  /** The cells in which something is held: all of them, or those of the first lines. */
  readonly held: (most: number) => { readonly cells: readonly CellCount[]; readonly isWhole: boolean };
  /** Counts on until the time is up. True if a column was finished. */
  readonly work: (isTimeUp: () => boolean) => boolean;
  /** The part that is done of the column that is being counted; null if there is none. */
  readonly working: () => number | null;
  readonly columnAt: (column: number) => Column | undefined;
  readonly lineAt: (line: number) => PlaceLine;
  readonly nameOf: (identity: number) => string;
}

export const ALL = 255;
/** Tallies that are kept: a few screens of columns. */
const KEPT = 512;
/** Identities of a column that is counted before anything else is answered. */
const AT_ONCE = 64;

export function makePicture(ground: PictureGround, view: View, at: Instant | null): Picture {
  const places: PlaceLines = makePlaces(ground.nodes, view.rows, {
    search: view.searchRows,
    isShown: shownPlaces(ground, at),
    pinned: view.pinnedRows ?? [],
  });
  const columns = visibleColumns(makeColumns(ground.cast, view.grouping), {
    ...{ opened: view.columns, search: view.searchColumns, pinned: view.pinned ?? [] },
  });
  const pinnedColumns = columns.filter(({ kind }) => kind === PINNED).length;
  const kept = new Map<number, readonly Tally[]>();
  const started = new Map<number, Counting>();
  const keep = (column: number, made: readonly Tally[]): readonly Tally[] => {
    if (kept.size >= KEPT) kept.clear();
    kept.set(column, made);
    return made;
  };
  /** Null if it is yet to be counted: then it is, a part at a time. */
  const talliesOf = (column: number): readonly Tally[] | null => {
    const known = kept.get(column);
    if (known !== undefined) return known;
    const identities = columns[column]?.identities ?? [];
    if (ground.count === undefined || identities.length <= AT_ONCE) return keep(column, ground.tallies(identities, at));
    if (!started.has(column)) started.set(column, ground.count(identities, at));
    return null;
  };
  const cellAt = (line: number, column: number): CellCount | null => {
    const tallies = talliesOf(column);
    if (tallies === null) return null;
    const { path, kind, from, until } = places.at(line);
    const { identities = [], text = '', kind: columnKind = '', key: columnKey = '' } = columns[column] ?? {};
    return {
      ...{ path, place: kind, column: text, columnKind, columnKey },
      ...{ identities: identities.length, places: until - from, of: identities.length * (until - from) },
      scopes: ground.scopes,
      counts: tallies.map((tally) => countIn(tally, from, until)),
    };
  };
  return {
    size: { lines: places.count, columns: columns.length, pinnedLines: places.pinned, pinnedColumns },
    columnAt: (column) => columns[column],
    work: (isTimeUp) => {
      for (const [column, counting] of started) {
        const tally = counting.advance(isTimeUp);
        if (tally === null) return false;
        started.delete(column);
        keep(column, [tally]);
        return true;
      }
      return false;
    },
    working: () => {
      for (const counting of started.values()) return counting.part();
      return null;
    },
    lineAt: places.at,
    nameOf: (identity) => ground.cast.identities[identity] ?? '',
    show: (asked) => {
      const frame = within(asked, { lines: places.count, columns: columns.length });
      const shownColumns = columns.slice(frame.column, frame.column + frame.columns);
      const lines = Array.from({ length: frame.rows }, (_, i) => places.at(frame.row + i));
      const size = ground.layers * ground.scopes.length;
      const cells = new Uint8Array(frame.rows * frame.columns * size);
      // What is no longer looked at is no longer counted. Pinned columns always are, and are asked for by themselves.
      const isOfPinned = frame.column + frame.columns <= pinnedColumns;
      for (const column of started.keys())
        if (!isOfPinned && column >= pinnedColumns && (column < frame.column || column >= frame.column + frame.columns))
          started.delete(column);
      const tallies = shownColumns.map((_, across) => talliesOf(frame.column + across));
      shownColumns.forEach(({ identities }, across) => {
        tallies[across]?.forEach((tally, layer) => {
          lines.forEach(({ from, until }, down) => {
            const of = identities.length * (until - from);
            const start = (down * frame.columns + across) * size + layer * ground.scopes.length;
            countIn(tally, from, until).forEach((count, scope) => {
              cells[start + scope] = shadeOf(count, of);
            });
          });
        });
      });
      return {
        frame,
        lines: lines.map(lineOnly),
        columns: shownColumns.map(lineOnly),
        scopes: ground.scopes,
        pending: tallies.map((one) => one === null),
        cells,
      };
    },
    cell: cellAt,
    held: (most) => {
      const cells: CellCount[] = [];
      let looked = 0;
      let isWhole = true;
      for (let line = 0; line < places.count && isWhole; line += 1) {
        for (let column = 0; column < columns.length && isWhole; column += 1) {
          looked += 1;
          const cell = looked > most ? null : cellAt(line, column);
          if (cell === null) isWhole = false;
          else if (cell.counts.some((counts) => counts.some((count) => count > 0))) cells.push(cell);
        }
      }
      return { cells, isWhole };
    },
  };
}

/** Of changes, what did not change is left out. */
function shownPlaces(
  { layers, cast, tallies }: PictureGround,
  at: Instant | null,
): (from: number, until: number) => boolean {
  if (layers === 1) return () => true;
  const all = tallies(
    cast.identities.map((_, row) => row),
    at,
  );
  return (from, until) => all.some((tally) => countIn(tally, from, until).some((count) => count > 0));
}

function lineOnly({ key, text, depth, isOpen, kind }: TreeLine): TreeLine {
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
