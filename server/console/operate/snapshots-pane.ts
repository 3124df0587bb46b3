// The snapshots of the store, a file to upload, and the candidate in shadow.
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { FilePicker } from '../page/file-picker.js';
import { ChangedCells } from '../page/changed-cells.js';
import { call, html } from '../page/html.js';
import { Table } from '../page/table.js';
import { grouped, plain, whereText } from '../page/words.js';
import type { Candidate, ShadowAnswer, StoredSnapshot } from './answers.js';
import type { CandidateSnapshot } from './candidate.js';
import type { GatewayClient } from './gateway.js';
import { useParts } from './use-parts.js';

export interface SnapshotsPaneProps {
  readonly gateway: GatewayClient;
  /** What runs, and what was done last: when they change, the list is asked for again. */
  readonly running: string;
  readonly done: string | null;
  readonly onCandidate: (candidate: CandidateSnapshot) => void;
}

interface SnapshotsState {
  readonly snapshots: readonly StoredSnapshot[] | null;
  readonly shadow: ShadowAnswer | null;
  readonly note: string | null;
}

export function SnapshotsPane({ gateway, running, done, onCandidate }: SnapshotsPaneProps): VNode {
  const [state, change] = useParts<SnapshotsState>({ snapshots: null, shadow: null, note: null });
  const ask = async (): Promise<void> => {
    const [listed, shadow] = await Promise.all([
      gateway.get<{ readonly snapshots: readonly StoredSnapshot[] }>('/admin/v1/snapshots'),
      gateway.get<ShadowAnswer>('/admin/v1/shadow'),
    ]);
    change(listed.kind === 'told' ? { snapshots: listed.value.snapshots } : { note: listed.text });
    if (shadow.kind === 'told') change({ shadow: shadow.value });
  };
  useEffect(() => {
    void ask();
  }, [gateway, running, done]);
  const endShadow = async (): Promise<void> => {
    const told = await gateway.post('/admin/v1/shadow', { snapshot: null });
    change({ note: told.kind === 'refused' ? told.text : null });
    await ask();
  };
  const { snapshots, shadow, note } = state;
  const compareButton = (one: StoredSnapshot | undefined): VNode | null =>
    one === undefined || one.state === 'active'
      ? null
      : html`<button
          type="button"
          aria-label=${`Compare ${one.snapshot}`}
          onClick=${call(onCandidate, { name: one.snapshot, digest: one.snapshot, file: null, wasActive: one.generation !== null })}
        >
          Compare
        </button>`;
  return html`<div class="panel">
    ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
    <div class="bar">
      <h2>Snapshots of the store</h2>
      <${FilePicker}
        text="Compare a file, then upload it"
        onFile=${(file: File) => {
          void file.arrayBuffer().then((bytes) => {
            onCandidate({ name: file.name, digest: null, file: new Uint8Array(bytes), wasActive: false });
          });
        }}
      />
      <button type="button" onClick=${call(ask)}>Ask again</button>
    </div>
    ${snapshots === null && note === null && html`<p>Asking the gateway…</p>`}
    ${snapshots?.length === 0 && html`<p>The store has none: what runs came from a folder or a file.</p>`}
    ${
      snapshots !== null &&
      snapshots.length > 0 &&
      html`<${Table}
        name="snapshots"
        heads=${['Snapshot', 'State', 'Policy', 'Activation', 'Because', 'By', 'Stored']}
        rows=${snapshots.map((one) => [one.snapshot, `${one.state}${one.isSigned ? ', signed' : ''}`, one.policy, one.generation === null ? 'never' : String(one.generation), one.reason ?? '', one.askedBy ?? '', one.loadedAt])}
        json=${snapshots}
        kindOf=${(row: number, column: number) => (column === 0 ? 'mono' : column === 1 ? STATES[snapshots[row]?.state ?? 'stored'] : '')}
        tools=${(row: number) => compareButton(snapshots[row])}
      />`
    }
    <div class="bar">
      <h2>In shadow</h2>
      ${shadow !== null && shadow.snapshot !== null && html`<button type="button" onClick=${call(endShadow)}>End it</button>`}
    </div>
    ${shadow === null ? html`<p>Asking the gateway…</p>` : !('live' in shadow) ? html`<p>No candidate is judged beside what runs.</p>` : html`<${InShadow} shadow=${shadow} />`}
  </div>`;
}

const STATES: Readonly<Record<StoredSnapshot['state'], string>> = {
  ...{ active: 'good', shadow: 'warning', stored: '', refused: 'bad' },
};

function InShadow({ shadow: { snapshot, since, differs, fault, live } }: { readonly shadow: Candidate }): VNode {
  const rows =
    differs === null
      ? []
      : (['gained', 'lost'] as const).flatMap((sign) =>
          differs.rows[sign].map((row) => [
            sign,
            row.identities.join(', '),
            row.scopes.join(', '),
            whereText(row),
            row.from === null && row.until === null ? 'always' : `${row.from ?? ''} to ${row.until ?? ''}`,
          ]),
        );
  const examples = live.examples.map(({ actor, operation, access, at, times, change }) => [
    change,
    actor.id,
    operation,
    access.creates ?? access.target ?? `${access.source ?? ''} to ${access.destination ?? ''}`,
    String(times),
    at,
  ]);
  return html`<section>
    <p><code>${snapshot}</code> since ${since}, judged on every request, decides nothing.</p>
    ${fault !== null && html`<p class="bad">${plain(`${fault.code}: ${fault.message}`)}</p>`}
    <p>
      ${
        differs === null
          ? 'The cells that differ are being worked out.'
          : html`<${ChangedCells}
                gained=${BigInt(differs.gained)}
                lost=${BigInt(differs.lost)}
              />${` of ${grouped(BigInt(differs.compared))}.`}`
      }
      ${` Live: ${grouped(live.compared)} decisions compared, ${grouped(live.gained)} would be gained, ${grouped(live.lost)} lost.`}
    </p>
    ${rows.length > 0 && html`<${Table} name="shadow-cells" heads=${['', 'Who', 'Scopes', 'Where', 'When']} rows=${rows} json=${differs?.rows} />`}
    ${
      examples.length > 0 &&
      html`<h3>Requests that would be decided otherwise</h3>
        <${Table}
          name="shadow-requests"
          heads=${['', 'Who', 'What', 'Where', 'Times', 'Last']}
          rows=${examples}
          json=${live.examples}
        />`
    }
  </section>`;
}
