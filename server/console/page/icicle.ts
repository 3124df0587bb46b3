// Namespaces as an icicle: a row for each level, and in each block a mark for each scope that is held there. A mark has a colour and a number
// of its own, since 64 colours cannot be told apart; the key says which scope it is.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RegionUntil } from '../../authoring/held-until.js';
import { html } from './html.js';
import { familiesOf, plain } from './words.js';

export interface IcicleProps {
  readonly regions: readonly RegionUntil[];
  /** In the order of the policy. */
  readonly scopes: readonly string[];
}

const LEVEL = 44;
/** Of a mark, and the least of a block. */
const [MARK, NARROW] = [22, 56];
const MOST_WIDE = 6000;

interface Block {
  readonly path: string;
  readonly depth: number;
  readonly from: number;
  readonly leaves: number;
  readonly held: readonly string[];
}

export function Icicle({ regions, scopes }: IcicleProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watch = new ResizeObserver(() => {
      setRoom(element.clientWidth);
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
    };
  }, []);
  const blocks = blocksOf(regions, scopes);
  const shown = scopes.filter((scope) => blocks.some(({ held }) => held.includes(scope)));
  const marks = new Map(shown.map((scope, i) => [scope, { number: i + 1, hue: hueOf(scope, scopes) }]));
  const mark = (scope: string): VNode =>
    html`<span class="mark" key=${scope} title=${scope} style=${`--hue:${String(marks.get(scope)?.hue ?? 0)}`}
      >${marks.get(scope)?.number}</span
    >`;
  const leaves = blocks[0]?.leaves ?? 1;
  const wide = Math.min(MOST_WIDE, Math.max(room, leaves * NARROW));
  return html`<div>
    <ul class="bar legend" aria-label="Scopes by number">
      ${shown.map((scope) => html`<li class="key" key=${scope}>${mark(scope)} ${scope}</li>`)}
    </ul>
    <div
      class="icicle"
      ref=${box}
      role="img"
      aria-label="Namespaces by what is held there; the table below says the same"
    >
      <div
        style=${`position:relative;width:${String(wide)}px;height:${String((1 + blocks.reduce((most, { depth }) => Math.max(most, depth), 0)) * LEVEL)}px`}
      >
        ${blocks.map(({ path, depth, from, leaves: own, held }) => {
          const [left, width] = [(from / leaves) * wide, (own / leaves) * wide];
          const fits = Math.max(0, Math.floor((width - 8) / MARK));
          const drawn = held.length <= fits ? held : held.slice(0, Math.max(0, fits - 1));
          return html`<div
            key=${path}
            class=${`block${held.length === 0 ? '' : ' held'}`}
            style=${`left:${String(left)}px;top:${String(depth * LEVEL)}px;width:${String(width)}px`}
            title=${plain(`${path}: ${held.length === 0 ? 'nothing' : held.join(', ')}`)}
          >
            <span class="name">${plain(path.slice(path.lastIndexOf('/')))}</span>
            <span class="marks"
              >${drawn.map(mark)}${held.length > drawn.length ? html`<span class="mark more">+${held.length - drawn.length}</span>` : ''}</span
            >
          </div>`;
        })}
      </div>
    </div>
  </div>`;
}

/** Families have hues as far apart as possible, and the scopes of one lie beside each other. */
function hueOf(scope: string, scopes: readonly string[]): number {
  const families = familiesOf(scopes);
  const [family = ''] = scope.split(':');
  const own = scopes.filter((one) => one.startsWith(`${family}:`));
  const step = 360 / families.length;
  return Math.round(step * (families.indexOf(family) + (0.6 * own.indexOf(scope)) / own.length));
}

/** A row for each level of namespaces. A block is as wide as the leaves below it. */
function blocksOf(regions: readonly RegionUntil[], scopes: readonly string[]): readonly Block[] {
  const paths = [
    ...new Set(regions.flatMap(({ namespace, except = [] }) => [namespace, ...except]).flatMap(ancestors)),
  ].sort();
  const children = new Map<string, string[]>();
  for (const path of paths) {
    if (path === '/') continue;
    const above = path.slice(0, path.lastIndexOf('/')) || '/';
    const known = children.get(above);
    if (known === undefined) children.set(above, [path]);
    else known.push(path);
  }
  const counts = new Map<string, number>();
  const leavesOf = (path: string): number => {
    const known = counts.get(path);
    if (known !== undefined) return known;
    const count = (children.get(path) ?? []).reduce((sum, child) => sum + leavesOf(child), 0) || 1;
    counts.set(path, count);
    return count;
  };
  const blocks: Block[] = [];
  const place = (path: string, depth: number, from: number): void => {
    const held = new Set(
      regions.filter((region) => covers(region, path)).flatMap((region): readonly string[] => region.scopes),
    );
    blocks.push({ path, depth, from, leaves: leavesOf(path), held: scopes.filter((scope) => held.has(scope)) });
    let next = from;
    for (const child of children.get(path) ?? []) {
      place(child, depth + 1, next);
      next += leavesOf(child);
    }
  };
  place('/', 0, 0);
  return blocks;
}

function ancestors(path: string): readonly string[] {
  const parts = path === '/' ? [] : path.slice(1).split('/');
  return ['/', ...parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`)];
}

/** What is held at the namespace itself. */
function covers({ namespace, extent, except = [] }: RegionUntil, path: string): boolean {
  const isIn = (above: string): boolean => above === '/' || path === above || path.startsWith(`${above}/`);
  if (path === namespace) return extent !== 'below';
  return extent !== 'exact' && isIn(namespace) && !except.some(isIn);
}
