// A picture with what steers it: time, grouping, search, scopes, and what stands behind the chosen cell.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ScopeName } from '../../../engine/index.js';
import { type Grouping, GROUPINGS, isGrouping } from '../map/columns.js';
import type { View } from '../map/picture.js';
import type { CellDetail, Subject, WhyQuestion } from '../worker/protocol.js';
import { grantText } from './grant-text.js';
import { cellText } from './cell-text.js';
import type { Engine } from './engine.js';
import { fieldValue, html } from './html.js';
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

const OPEN_ALL = { all: true, but: [] };
const SHUT_ALL = { all: false, but: [] };
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
        html`<label
          >Columns
          <select
            value=${view.grouping}
            onChange=${(event: Event) => {
              const grouping = fieldValue(event);
              if (isGrouping(grouping)) onView({ ...view, grouping, columns: EVERYBODY, pinned: [] });
            }}
          >
            ${groupings.map((grouping) => html`<option key=${grouping}>${grouping}</option>`)}
          </select>
        </label>`
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
      <label
        >Find namespace
        <input
          type="search"
          value=${view.searchRows}
          onInput=${(event: Event) => {
            onView({ ...view, searchRows: fieldValue(event).trim() });
          }}
      /></label>
      <label
        >Find who
        <input
          type="search"
          value=${view.searchColumns}
          onInput=${(event: Event) => {
            onView({ ...view, searchColumns: fieldValue(event).trim() });
          }}
      /></label>
      <button
        type="button"
        onClick=${() => {
          onView({ ...view, rows: OPEN_ALL });
        }}
      >
        Open rows
      </button>
      <button
        type="button"
        onClick=${() => {
          onView({ ...view, rows: SHUT_ALL, columns: SHUT_ALL });
        }}
      >
        Close all
      </button>
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
        onInput=${(event: Event) => {
          onAt(stops[Number(fieldValue(event))] ?? null);
        }}
      />
    </label>
    <code>${at === null ? 'at any time' : instantText(at)}</code>
    <label
      ><input
        type="checkbox"
        checked=${at === null}
        disabled=${stops.length === 0}
        onChange=${() => {
          onAt(at === null ? (now ?? stops[0] ?? null) : null);
        }}
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
  const { pinned = [], pinnedRows = [] } = view;
  const button = (text: string, { list, key, onList }: Pinning): VNode =>
    html`<button
      type="button"
      aria-pressed=${String(list.includes(key))}
      onClick=${() => {
        onList(list.includes(key) ? list.filter((one) => one !== key) : [...list, key]);
      }}
    >
      ${plain(`Pin ${text}`)}
    </button>`;
  return html`<span class="bar pin">
    ${button(column, {
      ...{ list: pinned, key: columnKey },
      onList: (list) => {
        onView({ ...view, pinned: list });
      },
    })}
    ${button(path, {
      ...{ list: pinnedRows, key: path },
      onList: (list) => {
        onView({ ...view, pinnedRows: list });
      },
    })}
  </span>`;
}

interface Pinning {
  readonly list: readonly string[];
  readonly key: string;
  readonly onList: (list: readonly string[]) => void;
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
