// Paints the cells of the picture, pixel by pixel: a path for thousands of squares costs more than a frame has. Each scope has its own
// square: full for all, smaller for some, empty for none. So nothing depends on colour alone.
import { ALL, type Frame, type Shown } from '../map/picture.js';
import { COLUMN, ROW, type Squares } from './squares.js';

const INKS = ['read', 'write', 'gained', 'lost', 'line', 'paper'] as const;

/** Colours as pixels of an image. */
export type Palette = Readonly<Record<(typeof INKS)[number], number>>;

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const inkOf = (name: string): number => {
    if (context === null) return 0;
    context.fillStyle = style.getPropertyValue(`--${name}`).trim();
    context.fillRect(0, 0, 1, 1);
    return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
  };
  const [read = 0, write = 0, gained = 0, lost = 0, line = 0, paper = 0] = INKS.map(inkOf);
  return { read, write, gained, lost, line, paper };
}

/** The scopes that are drawn, by number. */
export type Drawn = readonly number[];

export interface Look {
  readonly palette: Palette;
  readonly scopes: Drawn;
  readonly squares: Squares;
  /** Pixels of the screen for one of the page. */
  readonly ratio: number;
}

interface Sheet {
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly height: number;
}

export interface Painting {
  readonly area: Frame;
  /** Has all cells of the area. */
  readonly shown: Shown;
  readonly look: Look;
}

export function paint(sheet: Sheet, { area, shown, look }: Painting): void {
  const { frame, cells, pending, scopes: all } = shown;
  const { palette, scopes, squares, ratio } = look;
  const layers = cells.length / Math.max(1, frame.rows * frame.columns * all.length);
  const inks = layers === 2 ? [palette.gained, palette.lost] : [palette.read, palette.write];
  const px = (length: number): number => Math.round(length * ratio);
  const thin = Math.max(1, Math.floor(ratio));
  const { pixels, width } = sheet;
  const fill = (ink: number, [left, top, right, bottom]: Edges): void => {
    for (let y = top; y < bottom; y += 1)
      for (let at = y * width + left, end = y * width + right; at < end; at += 1) pixels[at] = ink;
  };
  pixels.fill(palette.paper);
  const [wide, high] = [px(area.columns * COLUMN), px(area.rows * ROW)];
  for (let row = 0; row < area.rows; row += 1)
    fill(palette.line, [0, px((row + 1) * ROW) - thin, wide, px((row + 1) * ROW)]);
  for (let column = 0; column < area.columns; column += 1)
    fill(palette.line, [px((column + 1) * COLUMN) - thin, 0, px((column + 1) * COLUMN), high]);
  const inkOf = scopes.map((scope) => Number(all[scope]?.endsWith(':read') === false));
  for (let row = 0; row < area.rows; row += 1) {
    for (let column = 0; column < area.columns; column += 1) {
      const [x, y] = [column * COLUMN, row * ROW];
      const across = area.column + column - frame.column;
      if (pending[across] === true) {
        fill(palette.line, [px(x + COLUMN / 2 - 8), px(y + ROW / 2), px(x + COLUMN / 2 + 8), px(y + ROW / 2) + thin]);
        continue;
      }
      const cell = ((area.row + row - frame.row) * frame.columns + across) * layers * all.length;
      for (let layer = 0; layer < layers; layer += 1) {
        for (let i = 0; i < scopes.length; i += 1) {
          const shade = cells[cell + layer * all.length + (scopes[i] ?? 0)] ?? 0;
          if (shade === 0) continue;
          const [dx, dy] = squares.at[i] ?? [0, 0];
          const size = sizeOf(shade, squares.side);
          const inset = (squares.side - size) / 2;
          const [left, top] = [px(x + dx + inset), px(y + dy + inset)];
          const edges: Edges = [left, top, left + Math.max(1, px(size)), top + Math.max(1, px(size))];
          const ink = inks[layers === 2 ? layer : (inkOf[i] ?? 0)] ?? palette.line;
          if (layer === 1) frameOnly(fill, ink, edges, Math.max(1, px(1.5)));
          else fill(ink, edges);
        }
      }
    }
  }
}

type Edges = readonly [left: number, top: number, right: number, bottom: number];

function sizeOf(shade: number, side: number): number {
  if (shade === ALL) return side;
  return Math.max(1, Math.min(side - 2, Math.round(side * (0.3 + 0.4 * (shade / ALL)))));
}

/** Of what is lost only the frame of a square: what is gained beside it stays visible. */
function frameOnly(fill: (ink: number, edges: Edges) => void, ink: number, edges: Edges, thick: number): void {
  const [left, top, right, bottom] = edges;
  if (right - left <= 2 * thick) {
    fill(ink, edges);
    return;
  }
  fill(ink, [left, top, right, top + thick]);
  fill(ink, [left, bottom - thick, right, bottom]);
  fill(ink, [left, top + thick, left + thick, bottom - thick]);
  fill(ink, [right - thick, top + thick, right, bottom - thick]);
}
