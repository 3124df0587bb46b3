// The matrix: namespaces down, people across, both opened and closed; only what is on the screen is asked for, drawn and kept.
import type { VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Line, toggled } from '../map/axis.js';
import type { Frame, Shown, View } from '../map/picture.js';
import type { CellDetail, Size, Subject } from '../worker/protocol.js';
import type { Engine } from './engine.js';
import { html } from './html.js';
import { COLUMN, type Drawn, paint, paletteOf, ROW } from './paint.js';
import { countText, partText, plain } from './words.js';

export interface MatrixProps {
  readonly engine: Engine;
  readonly subject: Subject;
  readonly view: View;
  /** Rises with the policy. */
  readonly version: number;
  readonly scopes: Drawn;
  readonly onView: (view: View) => void;
  readonly onCell: (cell: CellDetail | null) => void;
  readonly label: string;
}

const SPARE = { rows: 24, columns: 12 };
const NO_SIZE: Size = { lines: 0, columns: 0 };

interface Active {
  readonly line: number;
  readonly column: number;
}

export function Matrix(props: MatrixProps): VNode {
  const { engine, subject, view, version, scopes, onView, onCell, label } = props;
  const [size, setSize] = useState<Size>(NO_SIZE);
  const [block, setBlock] = useState<Shown | null>(null);
  const [active, setActive] = useState<Active>({ line: 0, column: 0 });
  const [cell, setCell] = useState<CellDetail | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const columns = useRef<HTMLDivElement>(null);
  const isAsking = useRef(false);
  const isStale = useRef(false);
  const latest = useRef({ block, active, scopes, size });
  latest.current = { block, active, scopes, size };

  const draw = useCallback(() => {
    const [box, sheet] = [scroller.current, canvas.current];
    const { block: shown, active: at, scopes: drawn } = latest.current;
    const context = sheet?.getContext('2d');
    if (box === null || sheet === null || context === null || context === undefined || shown === null) return;
    const [width, height] = [box.clientWidth, box.clientHeight];
    const ratio = globalThis.devicePixelRatio;
    if (sheet.width !== Math.round(width * ratio) || sheet.height !== Math.round(height * ratio)) {
      sheet.width = Math.round(width * ratio);
      sheet.height = Math.round(height * ratio);
      sheet.style.width = `${width}px`;
      sheet.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [left, top] = [box.scrollLeft, box.scrollTop];
    paint({ context, width, height, left, top, palette: paletteOf(box), scopes: drawn, active: at }, shown);
    if (rows.current !== null) rows.current.style.transform = `translateY(${-top}px)`;
    if (columns.current !== null) columns.current.style.transform = `translateX(${-left}px)`;
  }, []);

  /** Asks for what the screen shows and some more around it, one question at a time. */
  const fetchBlock = useCallback(
    async (isForced = false): Promise<void> => {
      const box = scroller.current;
      if (box === null) return;
      if (isAsking.current) {
        isStale.current ||= isForced;
        return;
      }
      const seen = frameOf(box);
      const { block: known } = latest.current;
      if (!isForced && known !== null && covers(known.frame, seen, latest.current.size)) return;
      isAsking.current = true;
      isStale.current = false;
      const answer = await engine.ask({ kind: 'frame', subject, frame: withSpare(seen) });
      isAsking.current = false;
      if (answer.kind !== 'shown') return;
      latest.current = { ...latest.current, block: answer.shown };
      setBlock(answer.shown);
      draw();
      await fetchBlock(isStale.current);
    },
    [engine, subject, draw],
  );

  useEffect(() => {
    let isCurrent = true;
    void engine.ask({ kind: 'view', subject, view }).then(async (answer) => {
      if (!isCurrent || answer.kind !== 'size') return;
      latest.current = { ...latest.current, size: answer.size };
      setSize(answer.size);
      setActive((at) => ({
        line: Math.min(at.line, Math.max(0, answer.size.lines - 1)),
        column: Math.min(at.column, Math.max(0, answer.size.columns - 1)),
      }));
      await fetchBlock(true);
    });
    return () => {
      isCurrent = false;
    };
  }, [engine, subject, view, version, fetchBlock]);

  useEffect(() => engine.onCounted(subject, () => void fetchBlock(true)), [engine, subject, fetchBlock]);

  useEffect(() => {
    if (size.lines === 0 || size.columns === 0) return undefined;
    let isCurrent = true;
    const wait = setTimeout(() => {
      void engine.ask({ kind: 'cell', subject, line: active.line, column: active.column }).then((answer) => {
        if (!isCurrent) return;
        const found = answer.kind === 'cell' ? answer.cell : null;
        setCell(found);
        onCell(found);
      });
    }, 60);
    return () => {
      isCurrent = false;
      clearTimeout(wait);
    };
  }, [engine, subject, active, size, block, onCell]);

  useLayoutEffect(draw, [draw, block, active, scopes, size]);
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const again = (): void => {
      draw();
      void fetchBlock();
    };
    scheme.addEventListener('change', again);
    const watch = new ResizeObserver(again);
    if (scroller.current !== null) watch.observe(scroller.current);
    return () => {
      scheme.removeEventListener('change', again);
      watch.disconnect();
    };
  }, [draw, fetchBlock]);

  const toggle = (axis: 'rows' | 'columns', line: Line | undefined): void => {
    if (line === undefined || line.isOpen === null) return;
    onView({ ...view, [axis]: toggled(view[axis], line.key) });
  };
  const go = (to: Active): void => {
    const at = {
      line: Math.max(0, Math.min(size.lines - 1, to.line)),
      column: Math.max(0, Math.min(size.columns - 1, to.column)),
    };
    setActive(at);
    if (scroller.current !== null) reveal(scroller.current, at);
  };
  const lineAt = (line: number): Line | undefined => block?.lines[line - block.frame.row];
  const columnAt = (column: number): Line | undefined => block?.columns[column - block.frame.column];
  const onKey = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW) - 1);
    const { line, column } = active;
    const moves: Readonly<Record<string, Active>> = {
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
    else if (event.key === 'Enter' && event.shiftKey) toggle('columns', columnAt(column));
    else if (event.key === 'Enter') toggle('rows', lineAt(line));
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent): void => {
    const box = scroller.current;
    if (box === null) return;
    const edge = box.getBoundingClientRect();
    go({
      line: Math.floor((event.clientY - edge.top + box.scrollTop) / ROW),
      column: Math.floor((event.clientX - edge.left + box.scrollLeft) / COLUMN),
    });
  };

  /** Placed from the first line of all, so that lines that stay on the screen stay as they are. */
  const header = (axis: 'rows' | 'columns', line: Line, i: number): VNode => {
    const isRow = axis === 'rows';
    const at = i + ((isRow ? block?.frame.row : block?.frame.column) ?? 0);
    const place = isRow ? { top: `${at * ROW}px` } : { left: `${at * COLUMN}px` };
    const isActive = at === (isRow ? active.line : active.column);
    return html`<button
      type="button"
      tabindex="-1"
      key=${at}
      class=${`head ${line.kind}${isActive ? ' active' : ''}`}
      style=${{ ...place, '--depth': String(line.depth) }}
      title=${plain(line.key.split('\n').at(-1) ?? line.text)}
      aria-expanded=${line.isOpen === null ? undefined : String(line.isOpen)}
      onClick=${() => {
        toggle(axis, line);
        go({ line: isRow ? at : active.line, column: isRow ? active.column : at });
      }}
    >
      <span class="twist" aria-hidden="true">${line.isOpen === null ? '' : line.isOpen ? '▾' : '▸'}</span
      ><span class="name">${plain(line.text)}</span>
    </button>`;
  };

  // The page is drawn again for each word about progress; these are not.
  const [acrossHeads, downHeads] = useMemo(
    () => [
      block?.columns.map((line, i) => header('columns', line, i)),
      block?.lines.map((line, i) => header('rows', line, i)),
    ],
    [block, active, size, view, onView],
  );

  return html`<div class="matrix">
    <div class="corner">${countText(size.lines, 'line')}, ${countText(size.columns, 'column')}</div>
    <div class="heads across">
      <div ref=${columns}>${acrossHeads}</div>
    </div>
    <div class="heads down"><div ref=${rows}>${downHeads}</div></div>
    <div
      class="cells"
      role="grid"
      tabindex="0"
      aria-label=${label}
      aria-rowcount=${size.lines}
      aria-colcount=${size.columns}
      aria-activedescendant=${`${subject}-cell`}
      ref=${scroller}
      onScroll=${() => {
        draw();
        void fetchBlock();
      }}
      onKeyDown=${onKey}
      onClick=${onClick}
    >
      <div role="row" aria-rowindex=${active.line + 1} class="unseen">
        <div role="gridcell" id=${`${subject}-cell`} aria-colindex=${active.column + 1} aria-selected="true">
          ${cell === null ? 'nothing' : cellText(cell)}
        </div>
      </div>
      <canvas ref=${canvas} aria-hidden="true"></canvas>
      <div
        class="extent"
        aria-hidden="true"
        style=${{ width: `${size.columns * COLUMN}px`, height: `${size.lines * ROW}px` }}
      ></div>
    </div>
  </div>`;
}

export function placeText({ path, place }: Pick<CellDetail, 'path' | 'place'>): string {
  return `${path}${place === 'itself' ? ' itself' : place === 'below' ? ', everywhere else below' : ' and below'}`;
}

/** A cell in words, for whoever hears the page. */
export function cellText(cell: CellDetail): string {
  const place = placeText(cell);
  const words = cell.counts.map((counts, layer) => {
    const held = cell.scopes.flatMap((scope, i) =>
      (counts[i] ?? 0) > 0 ? [`${scope} ${partText(counts[i] ?? 0, cell.of)}`] : [],
    );
    const what = cell.counts.length === 1 ? 'holds' : layer === 0 ? 'gains' : 'loses';
    return `${what} ${held.length === 0 ? 'nothing' : held.join(', ')}`;
  });
  return plain(`${cell.column} at ${place} ${words.join('; ')}`);
}

function frameOf(box: HTMLElement): Frame {
  return {
    row: Math.floor(box.scrollTop / ROW),
    rows: Math.ceil(box.clientHeight / ROW) + 1,
    column: Math.floor(box.scrollLeft / COLUMN),
    columns: Math.ceil(box.clientWidth / COLUMN) + 1,
  };
}

function withSpare({ row, rows, column, columns }: Frame): Frame {
  const [above, before] = [Math.min(row, SPARE.rows), Math.min(column, SPARE.columns)];
  return {
    ...{ row: row - above, rows: rows + above + SPARE.rows },
    ...{ column: column - before, columns: columns + before + SPARE.columns },
  };
}

function covers(known: Frame, seen: Frame, { lines, columns }: Size): boolean {
  return (
    known.row <= seen.row &&
    known.column <= seen.column &&
    known.row + known.rows >= Math.min(lines, seen.row + seen.rows) &&
    known.column + known.columns >= Math.min(columns, seen.column + seen.columns)
  );
}

function reveal(box: HTMLElement, { line, column }: Active): void {
  const [x, y] = [column * COLUMN, line * ROW];
  if (y < box.scrollTop) box.scrollTop = y;
  if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
  if (x < box.scrollLeft) box.scrollLeft = x;
  if (x + COLUMN > box.scrollLeft + box.clientWidth) box.scrollLeft = x + COLUMN - box.clientWidth;
}
