// Paints the cells of the picture. Each scope has its own square: full for all, smaller for some, empty for none. So nothing depends on
// colour alone.
import { ALL, type Shown } from '../map/picture.js';

export const ROW = 26;
export const COLUMN = 50;
const GAP = 1;

export interface Palette {
  readonly read: string;
  readonly write: string;
  readonly gained: string;
  readonly lost: string;
  readonly line: string;
  readonly paper: string;
  readonly active: string;
}

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ...{ read: colour('read'), write: colour('write'), gained: colour('gained'), lost: colour('lost') },
    ...{ line: colour('line'), paper: colour('paper'), active: colour('accent') },
  };
}

/** The scopes that are drawn, by number. */
export type Drawn = readonly number[];

export interface Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
  readonly palette: Palette;
  readonly scopes: Drawn;
  readonly active: { readonly line: number; readonly column: number } | null;
}

/** Where the squares of a cell are. Read stands over write, families from left to right. */
function squaresOf(scopes: Drawn): { readonly side: number; readonly at: readonly (readonly [number, number])[] } {
  const down = scopes.length > 1 ? 2 : 1;
  const across = Math.max(1, Math.ceil(scopes.length / down));
  const side = Math.max(2, Math.min(Math.floor((COLUMN - 6) / across), Math.floor((ROW - 6) / down)) - GAP);
  const [left, top] = [(COLUMN - across * (side + GAP)) / 2, (ROW - down * (side + GAP)) / 2];
  return {
    side,
    at: scopes.map((_, i) => [
      Math.round(left) + Math.floor(i / down) * (side + GAP),
      Math.round(top) + (i % down) * (side + GAP),
    ]),
  };
}

export function paint(sheet: Sheet, { frame, cells, pending, scopes: all }: Shown): void {
  const perCell = all.length;
  const { context, width, height, left, top, palette, scopes, active } = sheet;
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, width, height);
  const squares = squaresOf(scopes);
  const firstLine = Math.max(frame.row, Math.floor(top / ROW));
  const lastLine = Math.min(frame.row + frame.rows, Math.ceil((top + height) / ROW));
  const firstColumn = Math.max(frame.column, Math.floor(left / COLUMN));
  const lastColumn = Math.min(frame.column + frame.columns, Math.ceil((left + width) / COLUMN));
  const layers = cells.length / Math.max(1, frame.rows * frame.columns * perCell);
  // One path for each colour: a fill for each square would take most of the frame.
  const inks = layers === 2 ? [palette.gained, palette.lost] : [palette.read, palette.write];
  const paths = inks.map(() => new Path2D());
  const lines = new Path2D();
  for (let line = firstLine; line < lastLine; line += 1) {
    const y = line * ROW - top;
    lines.rect(0, y + ROW - 1, Math.min(width, lastColumn * COLUMN - left), 1);
    for (let column = firstColumn; column < lastColumn; column += 1) {
      const x = column * COLUMN - left;
      if (pending[column - frame.column] === true) {
        lines.rect(x + COLUMN / 2 - 8, y + ROW / 2, 16, 1);
        continue;
      }
      const cell = ((line - frame.row) * frame.columns + column - frame.column) * layers * perCell;
      for (let layer = 0; layer < layers; layer += 1) {
        for (const [i, scope] of scopes.entries()) {
          const shade = cells[cell + layer * perCell + scope] ?? 0;
          if (shade === 0) continue;
          const [dx, dy] = squares.at[i] ?? [0, 0];
          const ink = paths[layers === 2 ? layer : Number(all[scope]?.endsWith(':read') === false)];
          if (ink !== undefined) addSquare(ink, { x: x + dx, y: y + dy, side: squares.side }, shade, layer);
        }
      }
    }
  }
  for (let column = firstColumn; column < lastColumn; column += 1)
    lines.rect((column + 1) * COLUMN - left - 1, 0, 1, Math.min(height, lastLine * ROW - top));
  context.fillStyle = palette.line;
  context.fill(lines);
  paths.forEach((path, i) => {
    context.fillStyle = inks[i] ?? palette.line;
    context.fill(path, 'evenodd');
  });
  if (active === null) return;
  context.strokeStyle = palette.active;
  context.lineWidth = 2;
  context.strokeRect(active.column * COLUMN - left + 1, active.line * ROW - top + 1, COLUMN - 3, ROW - 3);
}

interface Square {
  readonly x: number;
  readonly y: number;
  readonly side: number;
}

/** Of the second layer, what is lost, only the frame of a square. */
function addSquare(path: Path2D, { x, y, side }: Square, shade: number, layer: number): void {
  const size = shade === ALL ? side : Math.max(2, Math.min(side - 2, Math.round(side * (0.3 + 0.4 * (shade / ALL)))));
  const inset = (side - size) / 2;
  path.rect(x + inset, y + inset, size, size);
  if (layer === 1 && size > 3) path.rect(x + inset + 1.5, y + inset + 1.5, size - 3, size - 3);
}
