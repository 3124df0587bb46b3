// The matrix: namespaces down, people across, both opened and closed. The browser scrolls it by itself; only what is in sight is asked for,
// drawn and kept.
import type { VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ScopeName } from '../../../engine/index.js';
import { toggled, type TreeLine } from '../map/axis.js';
import type { Frame, Size, View } from '../map/picture.js';
import type { CellDetail, Subject } from '../worker/protocol.js';
import { cellText } from './cell-text.js';
import type { Engine } from './engine.js';
import { html } from './html.js';
import {
  type ActiveCell,
  type Blocks,
  cellAt,
  cornerOf,
  covers,
  inSight,
  type MatrixPart,
  NO_BLOCKS,
  partOf,
  PARTS,
  partWith,
  pinsOf,
  revealing,
  type Sight,
  sightOf,
  withSpare,
} from './matrix-frames.js';
import { Heads } from './matrix-heads.js';
import { type Drawn, paletteOf } from './paint.js';
import { COLUMN, ROW, squaresOf } from './squares.js';
import { makeTiles, type Tiles } from './tiles.js';
import { useCurrent } from './use-current.js';
import { countText } from './words.js';

export interface MatrixProps {
  readonly engine: Engine;
  readonly subject: Subject;
  readonly view: View;
  /** Rises with the policy. */
  readonly version: number;
  readonly scopes: readonly ScopeName[];
  readonly drawn: Drawn;
  readonly onView: (view: View) => void;
  readonly onCell: (cell: CellDetail | null) => void;
  readonly label: string;
}

const NO_SIZE: Size = { lines: 0, columns: 0, pinnedLines: 0, pinnedColumns: 0 };
const NO_SIGHT: Sight = { names: 0, wide: 0, high: 0, left: 0, top: 0 };
const NO_FRAME: Frame = { row: 0, rows: 0, column: 0, columns: 0 };

/** What is being asked for. */
interface Asking {
  isBusy: boolean;
  isStale: boolean;
  last: Frame | null;
}

export function Matrix({ engine, subject, view, version, scopes, drawn, onView, onCell, label }: MatrixProps): VNode {
  const [size, setSize] = useState<Size>(NO_SIZE);
  const [blocks, setBlocks] = useState<Blocks>(NO_BLOCKS);
  const [seen, setSeen] = useState<Frame>(NO_FRAME);
  const [active, setActive] = useState<ActiveCell>({ line: 0, column: 0 });
  const [cell, setCell] = useState<CellDetail | null>(null);
  const [counted, setCounted] = useState(0);
  const [paper, setPaper] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const boxes = useRef<Partial<Record<MatrixPart, HTMLElement | null>>>({});
  const tiles = useRef<Partial<Record<MatrixPart, Tiles>>>({});
  const sight = useRef(NO_SIGHT);
  const asking = useRef<Asking>({ isBusy: false, isStale: false, last: null });
  const latest = useRef({ blocks, size });
  const pins = pinsOf(size, sight.current);
  const look = useMemo(() => {
    const squares = squaresOf(drawn.flatMap((i) => scopes[i] ?? []));
    const element = scroller.current ?? document.body;
    return { palette: paletteOf(element), scopes: drawn, squares, ratio: globalThis.devicePixelRatio };
  }, [scopes, drawn.join(), paper]);
  const lastLook = useRef(look);
  lastLook.current = look;

  const draw = useCallback((isAnew: boolean): void => {
    const now = latest.current;
    const at = pinsOf(now.size, sight.current);
    const area = inSight(sight.current, at, now.size);
    for (const part of PARTS) {
      const box = boxes.current[part];
      if (box === null || box === undefined) continue;
      const own = (tiles.current[part] ??= makeTiles(box));
      if (isAnew) own.clear();
      const [frame, shown] = [partOf(part, area, at), now.blocks[part]];
      if (frame === null || shown === null) own.clear();
      else own.show(frame, shown, { look: lastLook.current, first: cornerOf(part, at) });
    }
    setSeen((before) => (covers(before, area) && covers(area, before) ? before : area));
  }, []);

  /** Asks for what is in sight and some more around it, one question at a time. */
  const fetchBlocks = useCallback(
    async (isForced = false): Promise<void> => {
      const own = asking.current;
      own.isStale ||= isForced;
      if (own.isBusy) return;
      own.isBusy = true;
      for (;;) {
        const now = latest.current;
        const at = pinsOf(now.size, sight.current);
        const area = inSight(sight.current, at, now.size);
        const isAnew = own.isStale;
        own.isStale = false;
        if (!isAnew && now.blocks.scrolled !== null && covers(now.blocks.scrolled.frame, area)) break;
        const wanted = withSpare(area, own.last, { pins: at, size: now.size });
        own.last = area;
        const asked = await Promise.all(
          PARTS.map(async (part) => {
            const frame = partOf(part, wanted, at);
            const answer = frame === null ? null : await engine.ask({ kind: 'frame', subject, frame });
            return [part, answer?.kind === 'shown' ? answer.shown : null] as const;
          }),
        );
        // What was asked before the picture was another one is nothing to go by.
        if (asking.current.isStale && latest.current.size !== now.size) continue;
        latest.current = { ...latest.current, blocks: { ...NO_BLOCKS, ...Object.fromEntries(asked) } };
        setBlocks(latest.current.blocks);
        draw(isAnew);
        if (latest.current.blocks.scrolled === null) break;
      }
      own.isBusy = false;
    },
    [engine, subject, draw],
  );

  useCurrent([engine, subject, view, version, fetchBlocks], (isCurrent) => {
    void engine.ask({ kind: 'view', subject, view }).then(async (answer) => {
      if (!isCurrent() || answer.kind !== 'size') return;
      latest.current = { ...latest.current, size: answer.size };
      setSize(answer.size);
      setActive((at) => ({
        line: Math.min(at.line, Math.max(0, answer.size.lines - 1)),
        column: Math.min(at.column, Math.max(0, answer.size.columns - 1)),
      }));
      await fetchBlocks(true);
    });
  });

  useEffect(
    () =>
      engine.onCounted(subject, () => {
        setCounted((before) => before + 1);
        void fetchBlocks(true);
      }),
    [engine, subject, fetchBlocks],
  );

  useCurrent([engine, subject, active, size, counted, onCell], (isCurrent) => {
    if (size.lines === 0 || size.columns === 0) return undefined;
    const wait = setTimeout(() => {
      void engine.ask({ kind: 'cell', subject, line: active.line, column: active.column }).then((answer) => {
        if (!isCurrent()) return;
        const found = answer.kind === 'cell' ? answer.cell : null;
        setCell(found);
        onCell(found);
      });
    }, 60);
    return () => {
      clearTimeout(wait);
    };
  });

  useLayoutEffect(() => {
    draw(true);
  }, [draw, look]);
  useEffect(() => {
    const box = scroller.current;
    if (box === null) return undefined;
    const measure = (): void => {
      sight.current = sightOf(box);
      setPaper((before) => before + 1);
      void fetchBlocks();
    };
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', measure);
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    return () => {
      scheme.removeEventListener('change', measure);
      watch.disconnect();
    };
  }, [fetchBlocks]);

  const lineAt = (line: number): TreeLine | undefined => {
    const block = line < pins.row ? (blocks.over ?? blocks.both) : (blocks.scrolled ?? blocks.beside);
    return block?.lines[line - block.frame.row];
  };
  const columnAt = (column: number): TreeLine | undefined => {
    const block = column < pins.column ? (blocks.beside ?? blocks.both) : (blocks.scrolled ?? blocks.over);
    return block?.columns[column - block.frame.column];
  };
  const toggle = (axis: 'rows' | 'columns', at: number): void => {
    const line = axis === 'rows' ? lineAt(at) : columnAt(at);
    if (line === undefined || line.isOpen === null) return;
    onView({ ...view, [axis]: toggled(view[axis], line.key) });
  };
  const go = (to: ActiveCell): void => {
    const at = {
      line: Math.max(0, Math.min(size.lines - 1, to.line)),
      column: Math.max(0, Math.min(size.columns - 1, to.column)),
    };
    setActive(at);
    scroller.current?.scrollTo(revealing(at, sight.current, pins));
  };
  const onKey = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(sight.current.high / ROW) - 1 - pins.row);
    const { line, column } = active;
    const moves: Readonly<Record<string, ActiveCell>> = {
      ArrowDown: { line: line + 1, column },
      ArrowUp: { line: line - 1, column },
      ArrowRight: { line, column: column + 1 },
      ArrowLeft: { line, column: column - 1 },
      PageDown: { line: line + page, column },
      PageUp: { line: line - page, column },
      Home: event.ctrlKey ? { line: 0, column: 0 } : { line, column: 0 },
      End: event.ctrlKey ? { line: size.lines - 1, column: size.columns - 1 } : { line, column: size.columns - 1 },
    };
    const to = moves[event.key];
    if (to !== undefined) go(to);
    else if (event.key === 'Enter' && event.shiftKey) toggle('columns', column);
    else if (event.key === 'Enter') toggle('rows', line);
    else return;
    event.preventDefault();
  };
  const heads = (axis: 'rows' | 'columns', isPinned: boolean): VNode => {
    const isRow = axis === 'rows';
    const block = isPinned ? (isRow ? blocks.over : blocks.beside) : blocks.scrolled;
    const first = isPinned ? 0 : isRow ? pins.row : pins.column;
    const [from, count] = isRow ? [seen.row, seen.rows] : [seen.column, seen.columns];
    return html`<${Heads}
      axis=${axis}
      lines=${(isRow ? block?.lines : block?.columns) ?? []}
      from=${(isRow ? block?.frame.row : block?.frame.column) ?? 0}
      shown=${isPinned ? [0, isRow ? pins.row : pins.column] : [from, from + count]}
      first=${first}
      active=${isRow ? active.line : active.column}
      isPinned=${isPinned}
      onHead=${(at: number) => {
        toggle(axis, at);
        go({ line: isRow ? at : active.line, column: isRow ? active.column : at });
      }}
    />`;
  };
  const activePart = partWith(active, pins);
  const { names, wide, high } = sight.current;
  const sizes = {
    '--names': `${String(names)}px`,
    '--room-wide': `${String(wide)}px`,
    '--room-high': `${String(high)}px`,
    '--wide': `${String((size.columns - pins.column) * COLUMN)}px`,
    '--high': `${String((size.lines - pins.row) * ROW)}px`,
    '--kept-wide': `${String(pins.column * COLUMN)}px`,
    '--kept-high': `${String(pins.row * ROW)}px`,
  };
  return html`<div class=${`matrix${pins.isLoose ? ' loose' : ''}`}>
    <div
      class="cells"
      ref=${scroller}
      onScroll=${(event: Event) => {
        const { currentTarget: box } = event;
        if (!(box instanceof HTMLElement)) return;
        sight.current = { ...sight.current, left: box.scrollLeft, top: box.scrollTop };
        draw(false);
        void fetchBlocks();
      }}
    >
      <div class="sheet" style=${sizes}>
        <div class="corner">${countText(size.lines, 'line')}, ${countText(size.columns, 'column')}</div>
        ${heads('columns', true)} ${heads('columns', false)} ${heads('rows', true)} ${heads('rows', false)}
        ${PARTS.map((part) => {
          const at = cornerOf(part, pins);
          const place = `translate(${String((active.column - at.column) * COLUMN)}px, ${String((active.line - at.row) * ROW)}px)`;
          return html`<div class=${`zone ${part}`} key=${part} aria-hidden="true">
            <div
              class="apart"
              ref=${(box: HTMLElement | null) => {
                boxes.current[part] = box;
              }}
            ></div>
            ${part === activePart && html`<div class="chosen" style=${{ transform: place }}></div>`}
          </div>`;
        })}
        <div
          class="room"
          role="grid"
          tabindex="0"
          aria-label=${label}
          aria-rowcount=${size.lines}
          aria-colcount=${size.columns}
          aria-activedescendant=${`${subject}-cell`}
          ref=${room}
          onKeyDown=${onKey}
          onClick=${({ clientX, clientY }: MouseEvent) => {
            const edge = room.current?.getBoundingClientRect();
            if (edge !== undefined) go(cellAt({ x: clientX - edge.left, y: clientY - edge.top }, sight.current, pins));
          }}
        >
          <div role="row" aria-rowindex=${active.line + 1} class="unseen">
            <div role="gridcell" id=${`${subject}-cell`} aria-colindex=${active.column + 1} aria-selected="true">
              ${cell === null ? 'nothing' : cellText(cell)}
            </div>
          </div>
        </div>
      </div>
    </div>
  </div>`;
}
