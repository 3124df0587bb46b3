// Which lines and columns of the matrix are in sight, and which are asked for. Pinned ones come first and stay in sight.
import type { Frame, Shown, Size } from '../map/picture.js';
import { COLUMN, ROW } from './squares.js';
import { type Corner, TILE } from './tiles.js';

/** Lines and columns that are drawn around what is in sight. */
const AROUND = { rows: 8, columns: 3 };
/** Lines and columns that are asked for behind what is drawn, and ahead of it. */
const BEHIND = { rows: 16, columns: 0 };
const AHEAD = { rows: 64, columns: 12 };

/** The height of the names of columns, as in the style sheet. */
const HEADS_HIGH = 128;
/** The names of lines take a part of the width, within these bounds. */
const NAMES = { least: 130, part: 0.26, most: 340 };

/** What is scrolled, as it was measured last. */
export interface Sight {
  /** The width of the names of lines. */
  readonly names: number;
  /** Of the room for cells, pinned ones too. */
  readonly wide: number;
  readonly high: number;
  readonly left: number;
  readonly top: number;
}

export function sightOf(box: HTMLElement): Sight {
  const { clientWidth, clientHeight, scrollLeft: left, scrollTop: top } = box;
  const names = Math.max(NAMES.least, Math.min(NAMES.most, Math.round(clientWidth * NAMES.part)));
  return { names, wide: Math.max(0, clientWidth - names), high: Math.max(0, clientHeight - HEADS_HIGH), left, top };
}

/** Pinned lines and columns, and which of them would leave too little room for others, so that they are scrolled with them. */
export interface Pins extends Corner {
  readonly isLoose: boolean;
}

export interface ActiveCell {
  readonly line: number;
  readonly column: number;
}

export function pinsOf({ pinnedLines: row, pinnedColumns: column }: Size, { wide, high }: Sight): Pins {
  return { row, column, isLoose: row * ROW > high / 2 || column * COLUMN > wide / 2 };
}

/** The lines and columns in sight that are not pinned, and some around them, from one edge of a tile to another. */
export function inSight({ wide, high, left, top }: Sight, pins: Pins, size: Size): Frame {
  const [over, before] = pins.isLoose ? [pins.row * ROW, pins.column * COLUMN] : [0, 0];
  const row = Math.max(0, top - over) / ROW;
  const column = Math.max(0, left - before) / COLUMN;
  return framed(
    [row - AROUND.rows, row + high / ROW + AROUND.rows],
    [column - AROUND.columns, column + wide / COLUMN + AROUND.columns],
    { pins, size },
  );
}

/** What is asked for: more in the direction of the movement, so that an answer is there before it is needed. */
export function withSpare(
  seen: Frame,
  last: Frame | null,
  { pins, size }: { readonly pins: Pins; readonly size: Size },
): Frame {
  const [row, column] = [seen.row - pins.row, seen.column - pins.column];
  const [isUp, isLeft] = [last !== null && seen.row < last.row, last !== null && seen.column < last.column];
  const along = (at: number, count: number, isBack: boolean, unit: 'rows' | 'columns'): readonly [number, number] => [
    at - (isBack ? AHEAD : BEHIND)[unit],
    at + count + (isBack ? BEHIND : AHEAD)[unit],
  ];
  return framed(along(row, seen.rows, isUp, 'rows'), along(column, seen.columns, isLeft, 'columns'), { pins, size });
}

type Stretch = readonly [from: number, until: number];

function framed(rows: Stretch, columns: Stretch, { pins, size }: { readonly pins: Pins; readonly size: Size }): Frame {
  const snap = ([from, until]: Stretch, unit: number, first: number, all: number): Stretch => {
    const start = Math.min(all, first + Math.floor(Math.max(0, from) / unit) * unit);
    return [start, Math.max(start, Math.min(all, first + Math.ceil(until / unit) * unit)) - start];
  };
  const [row, high] = snap(rows, TILE.rows, pins.row, size.lines);
  const [column, wide] = snap(columns, TILE.columns, pins.column, size.columns);
  return { row, rows: high, column, columns: wide };
}

export function covers(known: Frame, seen: Frame): boolean {
  return (
    known.row <= seen.row &&
    known.column <= seen.column &&
    known.row + known.rows >= seen.row + seen.rows &&
    known.column + known.columns >= seen.column + seen.columns
  );
}

/** The four parts of the matrix: what is scrolled, pinned lines over it, pinned columns beside it, and what is both. */
export const PARTS = ['scrolled', 'over', 'beside', 'both'] as const;
export type MatrixPart = (typeof PARTS)[number];

const isOver = (part: MatrixPart): boolean => part === 'over' || part === 'both';
const isBeside = (part: MatrixPart): boolean => part === 'beside' || part === 'both';

export function partWith({ line, column }: ActiveCell, pins: Pins): MatrixPart | undefined {
  return PARTS.find((part) => isOver(part) === line < pins.row && isBeside(part) === column < pins.column);
}

export type Blocks = Readonly<Record<MatrixPart, Shown | null>>;

export const NO_BLOCKS: Blocks = { scrolled: null, over: null, beside: null, both: null };

/** The frame of a part; null if nothing of it is pinned. */
export function partOf(part: MatrixPart, { row, rows, column, columns }: Frame, pins: Pins): Frame | null {
  const lines = isOver(part) ? { row: 0, rows: pins.row } : { row, rows };
  const across = isBeside(part) ? { column: 0, columns: pins.column } : { column, columns };
  return lines.rows === 0 || across.columns === 0 ? null : { ...lines, ...across };
}

/** The line and the column at its left upper corner. */
export function cornerOf(part: MatrixPart, pins: Pins): Corner {
  return { row: isOver(part) ? 0 : pins.row, column: isBeside(part) ? 0 : pins.column };
}

/** The cell at a point of the room for cells. */
export function cellAt(
  point: { readonly x: number; readonly y: number },
  { left, top }: Sight,
  pins: Pins,
): ActiveCell {
  const along = (at: number, scrolled: number, pinned: number, unit: number): number =>
    !pins.isLoose && at < pinned * unit ? Math.floor(at / unit) : Math.floor((at + scrolled) / unit);
  return { line: along(point.y, top, pins.row, ROW), column: along(point.x, left, pins.column, COLUMN) };
}

/** How far to scroll so that a cell is in sight. */
export function revealing(
  { line, column }: ActiveCell,
  sight: Sight,
  pins: Pins,
): { readonly left: number; readonly top: number } {
  const along = (at: number, pinned: number, unit: number, [from, room]: readonly [number, number]): number => {
    if (at < pinned) return pins.isLoose ? 0 : from;
    const [start, free] = pins.isLoose ? [at * unit, room] : [(at - pinned) * unit, room - pinned * unit];
    return start < from ? start : Math.max(from, start + unit - free);
  };
  return {
    left: along(column, pins.column, COLUMN, [sight.left, sight.wide]),
    top: along(line, pins.row, ROW, [sight.top, sight.high]),
  };
}
