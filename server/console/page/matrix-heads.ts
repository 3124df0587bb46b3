// The names of lines and columns. Only those in sight are made, and those that stay in sight are left as they are.
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { TreeLine } from '../map/axis.js';
import { html } from './html.js';
import { COLUMN, ROW } from './squares.js';
import { TILE } from './tiles.js';
import { plain } from './words.js';

export interface HeadsProps {
  readonly axis: 'rows' | 'columns';
  /** What is known of the lines from number `from` on. */
  readonly lines: readonly TreeLine[];
  readonly from: number;
  /** The numbers of those that are drawn. */
  readonly shown: readonly [from: number, until: number];
  /** The number of the one that stands first. */
  readonly first: number;
  readonly active: number;
  readonly isPinned: boolean;
  readonly onHead: (at: number) => void;
}

/** The names of a tile, which are laid out by themselves. */
interface Kept {
  readonly lines: readonly TreeLine[];
  readonly active: number;
  readonly drawn: VNode;
}

export function Heads({ axis, lines, from, shown, first, active, isPinned, onHead }: HeadsProps): VNode {
  // What is the same object as before is not compared again.
  const kept = useRef<ReadonlyMap<number, Kept>>(new Map());
  const next = new Map<number, Kept>();
  const unit = axis === 'rows' ? TILE.rows : TILE.columns;
  const until = Math.min(from + lines.length, shown[1]);
  for (let at = shown[0]; at < until; at += unit) {
    if (at < from) continue;
    const own = lines.slice(at - from, Math.min(until, at + unit) - from);
    const known = kept.current.get(at - first);
    const isIn = active >= at && active < at + unit ? active : -1;
    const isSame =
      known?.active === isIn &&
      known.lines.length === own.length &&
      own.every((line, i) => isEqual(line, known.lines[i]));
    next.set(
      at - first,
      isSame ? known : { lines: own, active: isIn, drawn: group({ axis, lines: own, at, first, active }) },
    );
  }
  kept.current = next;
  return html`<div
    class=${`heads ${axis === 'rows' ? 'down' : 'across'}${isPinned ? ' kept' : ''}`}
    onClick=${({ target }: Event) => {
      const at = target instanceof Element ? target.closest<HTMLElement>('.head')?.dataset['at'] : undefined;
      if (at !== undefined) onHead(first + Number(at));
    }}
  >
    <div class="apart">${Array.from(next.values(), ({ drawn }) => drawn)}</div>
  </div>`;
}

function isEqual(line: TreeLine, known: TreeLine | undefined): boolean {
  return line.key === known?.key && line.kind === known.kind && line.isOpen === known.isOpen;
}

interface GroupProps extends Pick<HeadsProps, 'axis' | 'lines' | 'first' | 'active'> {
  readonly at: number;
}

/** Numbers count from the first of the part, so that what is pinned moves nothing. */
function group({ axis, lines, at, first, active }: GroupProps): VNode {
  const from = at - first;
  const place = axis === 'rows' ? `translateY(${String(from * ROW)}px)` : `translateX(${String(from * COLUMN)}px)`;
  return html`<div class="tile" key=${from} style=${{ transform: place }}>
    ${lines.map(
      (line, i) =>
        html`<div
          role="button"
          tabindex="-1"
          data-at=${from + i}
          class=${`head ${line.kind}${at + i === active ? ' active' : ''}`}
          style=${`--depth:${String(line.depth)}`}
          title=${plain(line.key.split('\n').at(-1) ?? line.text)}
          aria-label=${plain(line.text)}
          aria-expanded=${line.isOpen === null ? undefined : String(line.isOpen)}
        >
          ${axis === 'columns' ? shortened(plain(line.text)) : plain(line.text)}
        </div>`,
    )}
  </div>`;
}

/** A column has room for few letters. Identities of a provider begin alike, so the end is what tells them apart. */
function shortened(text: string): string {
  const letters = Array.from(text);
  return letters.length <= ROOM || !text.includes(':')
    ? text
    : `${letters.slice(0, 3).join('')}…${letters.slice(4 - ROOM).join('')}`;
}

const ROOM = 13;
