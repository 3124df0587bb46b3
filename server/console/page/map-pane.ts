// A picture with what steers it: time, grouping, search, scopes, and what stands behind the chosen cell.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ScopeName } from '../../../engine/index.js';
import { type Grouping, GROUPINGS, isGrouping } from '../map/columns.js';
import { CLOSED, OPENED } from '../map/axis.js';
import type { View } from '../map/picture.js';
import type { CellDetail, Subject, WhyQuestion } from '../worker/protocol.js';
import { grantText } from './grant-text.js';
import { cellText } from './cell-text.js';
import type { Engine } from './engine.js';
import { Choice, Field } from './fields.js';
import { call, html, withText } from './html.js';
import { MapTable } from './map-table.js';
import { Matrix } from './matrix.js';
import { drawnOf, Key, ScopePicker } from './scope-picker.js';
import { Table } from './table.js';
import { namesText, instantText, plain } from './words.js';

export interface MapPaneProps {
  readonly engine: Engine;
  readonly subject: Subject;
  readonly version: number;
  readonly scopes: readonly ScopeName[];
  /** The instants at which something changes, sorted. */
  readonly instants: readonly number[];
  /** The instant that is looked at first; null for any time. */
  readonly now: number | null;
  readonly view: View;
  readonly onView: (view: View) => void;
  /** Without people and roles there is nothing to group by. */
  readonly groupings?: readonly Grouping[];
  /** Asks why somebody holds something. */
  readonly onWhy?: (question: WhyQuestion) => void;
}

/** What is in everybody is in sight, and itself closed. */
const EVERYBODY = { all: false, but: [''] };

export function MapPane(props: MapPaneProps): VNode {
  const { engine, subject, version, scopes, instants, now, view, onView, groupings = GROUPINGS, onWhy } = props;
  const [choice, setChoice] = useState('');
  const [cell, setCell] = useState<CellDetail | null>(null);
  const drawn = drawnOf(scopes, choice);
  return html`<div class="panel fixed">
    <div class="bar">
      ${
        groupings.length > 1 &&
        html`<${Choice}
          title="Columns"
          value=${view.grouping}
          of=${groupings}
          onValue=${(grouping: string) => {
            if (isGrouping(grouping)) onView({ ...view, grouping, columns: EVERYBODY, pinned: [] });
          }}
        />`
      }
      <${ScopePicker} scopes=${scopes} value=${choice} onChange=${setChoice} />
      <${Clock}
        instants=${instants}
        now=${now}
        at=${view.at}
        onAt=${(at: number | null) => {
          onView({ ...view, at });
        }}
      />
      <${Field}
        title="Find namespace"
        type="search"
        value=${view.searchRows}
        onValue=${(text: string) => {
          onView({ ...view, searchRows: text.trim() });
        }}
      />
      <${Field}
        title="Find who"
        type="search"
        value=${view.searchColumns}
        onValue=${(text: string) => {
          onView({ ...view, searchColumns: text.trim() });
        }}
      />
      <button type="button" onClick=${call(onView, { ...view, rows: OPENED })}>Open rows</button>
      <button type="button" onClick=${call(onView, { ...view, rows: CLOSED, columns: CLOSED })}>Close all</button>
    </div>
    <${Key} scopes=${scopes} drawn=${drawn} changes=${subject === 'changes'} />
    <${Matrix}
      engine=${engine}
      subject=${subject}
      view=${view}
      version=${version}
      scopes=${scopes}
      drawn=${drawn}
      onView=${onView}
      onCell=${setCell}
      label=${subject === 'rights' ? 'Who holds what where' : 'Who gains and loses what where'}
    />
    <${MapTable} engine=${engine} subject=${subject} version=${version} view=${view} />
    <section class="detail" aria-label="The chosen cell">
      ${cell === null ? html`<span class="faint">Choose a cell.</span>` : html`<${Pin} cell=${cell} view=${view} onView=${onView} /><${Detail} cell=${cell} at=${view.at} onWhy=${onWhy} />`}
    </section>
  </div>`;
}

interface ClockProps {
  readonly instants: readonly number[];
  readonly now: number | null;
  readonly at: number | null;
  readonly onAt: (at: number | null) => void;
}

/** Stops at now and at each instant at which something changes. */
function Clock({ instants, now, at, onAt }: ClockProps): VNode {
  const stops = [...new Set([...(now === null ? [] : [now]), ...instants])].sort((a, b) => a - b);
  const index = at === null ? -1 : stops.indexOf(at);
  return html`<span class="bar">
    <label
      >Time
      <input
        type="range"
        min="0"
        max=${Math.max(0, stops.length - 1)}
        value=${Math.max(0, index)}
        disabled=${at === null || stops.length < 2}
        aria-valuetext=${instantText(at)}
        onInput=${withText((stop) => {
          onAt(stops[Number(stop)] ?? null);
        })}
      />
    </label>
    <code>${at === null ? 'at any time' : instantText(at)}</code>
    <label
      ><input
        type="checkbox"
        checked=${at === null}
        disabled=${stops.length === 0}
        onChange=${call(onAt, at === null ? (now ?? stops[0] ?? null) : null)}
      />
      any time</label
    >
  </span>`;
}

interface PinProps extends Pick<MapPaneProps, 'view' | 'onView'> {
  readonly cell: CellDetail;
}

/** Keeps a column or a row in sight, to compare others with it. */
function Pin({ cell: { column, columnKey, path }, view, onView }: PinProps): VNode {
  const button = (text: string, key: string, list: 'pinned' | 'pinnedRows'): VNode => {
    const { [list]: pinned = [] } = view;
    const isPinned = pinned.includes(key);
    const next = isPinned ? pinned.filter((one) => one !== key) : [...pinned, key];
    return html`<button
      type="button"
      aria-pressed=${String(isPinned)}
      onClick=${call(onView, { ...view, [list]: next })}
    >
      ${plain(`Pin ${text}`)}
    </button>`;
  };
  return html`<span class="bar pin">${button(column, columnKey, 'pinned')} ${button(path, path, 'pinnedRows')}</span>`;
}

interface DetailProps extends Pick<MapPaneProps, 'onWhy'> {
  readonly cell: CellDetail;
  readonly at: number | null;
}

function Detail({ cell, at, onWhy }: DetailProps): VNode {
  const heads = ['Who', 'Scopes', 'By'];
  const rows = cell.holders.map(({ identity, scopes, grants }) => [
    identity,
    scopes.join(', '),
    grants.map(grantText).join('; '),
  ]);
  const ask = (row: number): void => {
    const { identity: who = '', scopes = [] } = cell.holders[row] ?? {};
    const scope = scopes.find((one) => one.endsWith(':write')) ?? scopes[0] ?? '';
    onWhy?.({ who, scope, namespace: cell.path });
  };
  const act = onWhy === undefined || cell.place === 'below' ? undefined : { text: 'Why?', onRow: ask };
  return html`<div>
    <p>${cellText(cell)}.</p>
    ${rows.length > 0 && html`<${Table} name="holders" heads=${heads} rows=${rows} json=${cell.holders} act=${act} />`}
    ${cell.more > 0 && html`<p class="faint">And ${cell.more} more. Open the column to see each.</p>`}
    ${
      cell.causes.length > 0 &&
      html`<h3>Because</h3>
        <ul>
          ${cell.causes.map(
            ({ text, others }) =>
              html`<li key=${text}>
                ${plain(text)}
                ${others.length > 0 && html`<div class="faint">${plain(`For others, too: ${namesText(others)}`)}</div>`}
              </li>`,
          )}
        </ul>`
    }
    ${cell.causes.length === 0 && rows.length === 0 && cell.places !== 1 && html`<p class="faint">Open the row to a single place to see the grants.</p>`}
    ${cell.places === 1 && at === null && cell.causes.length === 0 && html`<p class="faint">Choose a time to see the grants.</p>`}
  </div>`;
}
