// Two trees that can be opened and closed: namespaces down, people across. What is open is kept by name, so it stays as it is while the
// policy changes.
import type { Nodes } from '../../../engine/compiler.js';

/** What is open: all of it or nothing, but for the names that are listed. */
export interface Opened {
  readonly all: boolean;
  readonly but: readonly string[];
}

export const CLOSED: Opened = { all: false, but: [] };
export const OPENED: Opened = { all: true, but: [] };

/** One line of a tree, as it is shown. */
export interface TreeLine {
  /** By this name it is opened and closed. */
  readonly key: string;
  readonly text: string;
  readonly depth: number;
  /** Null for what has nothing inside. */
  readonly isOpen: boolean | null;
  readonly kind: string;
}

export function toggled(opened: Opened, key: string): Opened {
  const { all, but } = opened;
  return { all, but: but.includes(key) ? but.filter((one) => one !== key) : [...but, key] };
}

/** A line of namespaces, and the classes that it stands for: `from` up to `until`. */
export interface PlaceLine extends TreeLine {
  readonly path: string;
  readonly from: number;
  readonly until: number;
}

/** The visible lines as numbers; each line's text is only made when it is looked at. */
export interface PlaceLines {
  readonly count: number;
  readonly at: (line: number) => PlaceLine;
  /** How many lines are pinned. They come first. */
  readonly pinned: number;
}

/** The kind of a line that stands first whatever is shown. */
export const PINNED = 'pinned';

const [WHOLE, ITSELF, BELOW] = [0, 1, 2];
const PARTS = 3;

export interface PlacesAsked {
  readonly search: string;
  readonly isShown: (from: number, until: number) => boolean;
  /** Paths of lines that stand first, whatever else is shown. */
  readonly pinned?: readonly string[];
}

/** A namespace that is open shows itself, each namespace inside, and what is below it beside them. */
export function makePlaces(
  nodes: Nodes,
  opened: Opened,
  { search, isShown, pinned: asked = [] }: PlacesAsked,
): PlaceLines {
  const { paths, end, hasBelow, classesBefore, parent } = nodes;
  const but = new Set(opened.but);
  const found = search === '' ? null : marksOf(nodes, search);
  const depths = new Int32Array(paths.length);
  parent.forEach((above, row) => {
    depths[row] = above < 0 ? 0 : (depths[above] ?? 0) + 1;
  });
  const isOpen = (row: number): boolean => opened.all !== but.has(paths[row] ?? '') || found?.[row] === INSIDE;
  const rowOf = asked.length === 0 ? null : new Map<string, number>(paths.map((path, row) => [path, row]));
  const pinned = asked.flatMap((path) => rowOf?.get(path) ?? []);
  const lines: number[] = pinned.map((row) => PARTS * row + WHOLE);
  const walk = (row: number, isWanted: boolean): void => {
    const wanted = isWanted || found?.[row] === FOUND;
    if (!wanted && found?.[row] === 0) return;
    const first = classesBefore[row] ?? 0;
    if (row > 0 && !isShown(first, classesBefore[end[row] ?? 0] ?? 0)) return;
    lines.push(PARTS * row + WHOLE);
    if (!isOpen(row)) return;
    if (wanted && isShown(first, first + 1)) lines.push(PARTS * row + ITSELF);
    for (let child = row + 1; child < (end[row] ?? 0); child = end[child] ?? paths.length) walk(child, wanted);
    if (wanted && hasBelow[row] === 1 && isShown(first + 1, first + 2)) lines.push(PARTS * row + BELOW);
  };
  walk(0, found === null);
  return {
    count: lines.length,
    pinned: pinned.length,
    at: (line) => {
      const place = lines[line] ?? 0;
      const [row, part] = [Math.floor(place / PARTS), place % PARTS];
      const path: string = paths[row] ?? '/';
      const [first, last] = [classesBefore[row] ?? 0, classesBefore[end[row] ?? 0] ?? 0];
      const whole = { key: path, path, from: first, until: last };
      if (line < pinned.length) return { ...whole, text: path, kind: PINNED, depth: 0, isOpen: null };
      const depth = depths[row] ?? 0;
      const inside = { path, depth: depth + 1, isOpen: null };
      if (part === ITSELF)
        return { ...inside, key: `${path} itself`, text: 'itself', kind: 'itself', from: first, until: first + 1 };
      if (part === BELOW) {
        const words = { key: `${path} below`, text: 'everywhere else below', kind: 'below' };
        return { ...inside, ...words, from: first + 1, until: first + 2 };
      }
      const above = parent[row] ?? -1;
      const around: string = above <= 0 ? '' : (paths[above] ?? '');
      return { ...whole, text: path.slice(around.length), kind: 'namespace', depth, isOpen: isOpen(row) };
    },
  };
}

const [INSIDE, FOUND] = [1, 2];

/** For each node: 2 if its path has the text, 1 if only some path below it has, else 0. */
function marksOf({ paths, parent }: Nodes, search: string): Uint8Array {
  const marks = new Uint8Array(paths.length);
  for (let row = paths.length - 1; row >= 0; row -= 1) {
    if (paths[row]?.includes(search) === true) marks[row] = FOUND;
    const above = parent[row] ?? -1;
    if (above >= 0 && marks[row] !== 0 && marks[above] === 0) marks[above] = INSIDE;
  }
  return marks;
}
