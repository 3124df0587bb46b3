// The cells of a part of the matrix, as pictures that lie still in what is scrolled: the browser moves them by itself, and only what comes
// into sight is drawn.
import type { Frame, Shown } from '../map/picture.js';
import { type Look, paint } from './paint.js';
import { COLUMN, ROW } from './squares.js';

/** Lines and columns of a tile. */
export const TILE = { rows: 8, columns: 12 };

export interface Tiles {
  /** Draws the tiles in `area` that are not drawn yet, as far as `shown` has them. `first` stands at the left upper corner of the box. */
  readonly show: (area: Frame, shown: Shown, at: { readonly look: Look; readonly first: Corner }) => void;
  /** What was drawn is no longer true. */
  readonly clear: () => void;
}

/** A line and a column. */
export interface Corner {
  readonly row: number;
  readonly column: number;
}

export function makeTiles(box: HTMLElement): Tiles {
  /** Most tiles have one size, so one image serves them all. */
  let image: ImageData | null = null;
  const drawn = new Map<string, { readonly canvas: HTMLCanvasElement; readonly frame: Frame }>();
  const spare: HTMLCanvasElement[] = [];
  return {
    clear: () => {
      for (const { canvas } of drawn.values()) {
        canvas.remove();
        spare.push(canvas);
      }
      drawn.clear();
    },
    show: (area, shown, { look, first }) => {
      for (const [key, { canvas, frame }] of drawn) {
        if (meets(frame, area)) continue;
        drawn.delete(key);
        spare.push(canvas);
      }
      for (let row = area.row; row < area.row + area.rows; row += TILE.rows) {
        for (let column = area.column; column < area.column + area.columns; column += TILE.columns) {
          const key = `${String(row)} ${String(column)}`;
          const tile = cut({ ...TILE, row, column }, shown.frame);
          if (drawn.has(key) || tile === null) continue;
          const canvas = spare.pop() ?? document.createElement('canvas');
          image = draw(canvas, tile, { shown, look, image });
          canvas.style.transform = `translate(${String((column - first.column) * COLUMN)}px, ${String((row - first.row) * ROW)}px)`;
          if (canvas.parentNode !== box) box.append(canvas);
          drawn.set(key, { canvas, frame: tile });
        }
      }
      for (const canvas of spare) canvas.remove();
    },
  };
}

interface Drawing {
  readonly shown: Shown;
  readonly look: Look;
  readonly image: ImageData | null;
}

/** Returns the image that it used. */
function draw(canvas: HTMLCanvasElement, tile: Frame, { shown, look, image: known }: Drawing): ImageData | null {
  const [width, height] = [Math.round(tile.columns * COLUMN * look.ratio), Math.round(tile.rows * ROW * look.ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${String(tile.columns * COLUMN)}px`;
    canvas.style.height = `${String(tile.rows * ROW)}px`;
  }
  // What is only ever written as pixels is kept as pixels.
  const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  if (context === null) return known;
  const image = known?.width === width && known.height === height ? known : context.createImageData(width, height);
  paint({ pixels: new Uint32Array(image.data.buffer), width, height }, { area: tile, shown, look });
  context.putImageData(image, 0, 0);
  return image;
}

/** The part of a tile that there is; null if some of it is not known. */
function cut(tile: Frame, { row, rows, column, columns }: Frame): Frame | null {
  const isIn = tile.row >= row && tile.row < row + rows && tile.column >= column && tile.column < column + columns;
  if (!isIn) return null;
  return {
    ...tile,
    rows: Math.min(TILE.rows, row + rows - tile.row),
    columns: Math.min(TILE.columns, column + columns - tile.column),
  };
}

function meets(a: Frame, b: Frame): boolean {
  return (
    a.row < b.row + b.rows &&
    b.row < a.row + a.rows &&
    a.column < b.column + b.columns &&
    b.column < a.column + a.columns
  );
}
