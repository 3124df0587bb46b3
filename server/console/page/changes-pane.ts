// What changed: checks that became weaker first, then the picture and the rows of the difference, each with its cause.
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DiffRow } from '../../../engine/compiler.js';
import type { ScopeName } from '../../../engine/index.js';
import type { View } from '../map/picture.js';
import type { PolicyDifference } from '../worker/protocol.js';
import { causeText } from '../../authoring/causes.js';
import type { Engine } from './engine.js';
import { ChangedCells } from './changed-cells.js';
import { call, html } from './html.js';
import { MapPane } from './map-pane.js';
import { Seal, type SealProps } from './seal.js';
import { Table } from './table.js';
import { countText, namesText, grouped, instantText, plain, whereText } from './words.js';

export interface ChangesPaneProps {
  readonly engine: Engine;
  readonly compared: PolicyDifference;
  /** What is compared. */
  readonly digests: SealProps['digests'];
  readonly version: number;
  readonly scopes: readonly ScopeName[];
  readonly instants: readonly number[];
  readonly view: View;
  readonly onView: (view: View) => void;
}

export function ChangesPane(props: ChangesPaneProps): VNode {
  const { compared, digests, ...map } = props;
  const [isTable, setTable] = useState(false);
  const { gained, lost, cells, weaker } = compared;
  // A large policy has many, and the console looks at the status every few seconds.
  const rows = useMemo(() => rowsOf(gained, lost), [gained, lost]);
  return html`<div class="right">
    <div class="bar summary">
      <strong>${compared.equal ? 'No access is gained or lost.' : html`<${ChangedCells} ...${cells} />`}</strong>
      <span class="faint">${grouped(cells.compared)} cells compared; every other cell is equal.</span>
      ${
        !compared.equal &&
        html`<button type="button" aria-pressed=${String(isTable)} onClick=${call(setTable, !isTable)}>
          ${isTable ? 'Show the picture' : 'Show the rows'}
        </button>`
      }
      <${Seal} digests=${digests} at=${map.view.at} />
    </div>
    ${
      weaker.length > 0 &&
      html`<section class="weaker">
        <h2 class="bad">Checks that changed or became weaker</h2>
        <ul>
          ${weaker.map((text) => html`<li key=${text}>${plain(text)}</li>`)}
        </ul>
      </section>`
    }
    ${!isTable && html`<${Gravest} gained=${gained} />`}
    ${!compared.equal && !isTable && html`<${MapPane} ...${map} subject="changes" now=${null} />`}
    ${!compared.equal && html`<div class=${isTable ? 'panel' : 'panel print'} hidden=${!isTable}><${Table} name="changes" heads=${HEADS} rows=${rows} json=${{ gained, lost }} /></div>`}
  </div>`;
}

/** What is gained beyond reading, first of all: it is what a reviewer must not miss. */
function Gravest({ gained }: { readonly gained: readonly DiffRow[] }): VNode | null {
  const rows = gained.filter((row) => !isReading(row));
  if (rows.length === 0) return null;
  return html`<section class="weaker">
    <h2 class="bad">Gained: more than reading</h2>
    <ul>
      ${rowsOf(rows.slice(0, FIRST), []).map(
        ([, who, scopes, where, when, because]) =>
          html`<li key=${`${who} ${scopes} ${where} ${when}`}>
            <strong>${who}</strong>: ${scopes} at ${where}, ${when}. ${because}
          </li>`,
      )}
      ${rows.length > FIRST && html`<li>and ${countText(rows.length - FIRST, 'more row')}: see the rows</li>`}
    </ul>
  </section>`;
}

const FIRST = 5;

function isReading({ scopes }: DiffRow): boolean {
  return scopes.every((scope) => scope.endsWith(':read'));
}

const HEADS = ['', 'Who', 'Scopes', 'Where', 'When', 'Because'];

function rowsOf(gained: readonly DiffRow[], lost: readonly DiffRow[]): readonly (readonly string[])[] {
  const of = (sign: string, rows: readonly DiffRow[]): readonly (readonly string[])[] =>
    rows.map((row) => [
      sign,
      namesText(row.identities),
      row.scopes.join(', '),
      whereText(row),
      row.from === null && row.until === null
        ? 'always'
        : `${row.from === null ? '' : `from ${instantText(row.from)}`} ${row.until === null ? '' : `until ${instantText(row.until)}`}`.trim(),
      row.causes.map((cause) => plain(causeText(cause))).join('; '),
    ]);
  const graver = gained.toSorted((a, b) => Number(isReading(a)) - Number(isReading(b)));
  return [...of('gained', graver), ...of('lost', lost)];
}
