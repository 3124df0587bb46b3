// The audit log: searched, verified, and one event explained on the snapshot that decided it.
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { closeOpened } from '../page/close-opened.js';
import type { Engine } from '../page/engine.js';
import { Choice, Field, type FieldProps } from '../page/fields.js';
import { call, html } from '../page/html.js';
import { Table } from '../page/table.js';
import { countText, plain } from '../page/words.js';
import type { Explained } from '../worker/protocol.js';
import type { ChainState, FoundEvents, LogEvent } from './answers.js';
import { EVENT_HEADS, accessesOf, eventRow } from './event-text.js';
import type { GatewayClient } from './gateway.js';
import { grantText } from '../page/grant-text.js';
import { useParts } from './use-parts.js';

export interface LogPaneProps {
  readonly gateway: GatewayClient;
  /** An engine for past snapshots. */
  readonly engine: () => Engine;
}

const FIELDS = [
  { name: 'actor', title: 'Who', placeholder: 'actor, identity or fingerprint' },
  { name: 'record', title: 'Record', placeholder: 'its id' },
  { name: 'namespace', title: 'Namespace', placeholder: '/labs/optics' },
  { name: 'request', title: 'Request', placeholder: 'its id' },
  { name: 'since', title: 'Since', placeholder: '2026-11-01T00:00:00Z' },
  { name: 'until', title: 'Until', placeholder: '2026-12-01T00:00:00Z' },
] as const;
const KINDS = ['command', 'query', 'refusal', 'authentication', 'admin'];
const OUTCOMES = ['allowed', 'denied', 'failed'];

type FieldName = (typeof FIELDS)[number]['name'] | 'kind' | 'outcome';

interface LogState {
  readonly fields: Readonly<Record<FieldName, string>>;
  readonly found: FoundEvents | null;
  readonly chosen: number | null;
  readonly why: readonly Explained[] | null;
  readonly chain: ChainState | null;
  readonly doing: string | null;
  readonly note: string | null;
}

const NO_FIELDS: LogState['fields'] = {
  ...{ actor: '', record: '', namespace: '', request: '', since: '', until: '', kind: '', outcome: '' },
};

export function LogPane({ gateway, engine }: LogPaneProps): VNode {
  const [state, change] = useParts<LogState>({
    ...{ fields: NO_FIELDS, found: null, chosen: null, why: null, chain: null, doing: null, note: null },
  });
  const { fields, found, chosen, why, chain, doing, note } = state;
  const search = async (event?: Event): Promise<void> => {
    event?.preventDefault();
    change({ doing: 'Searching the log…', note: null });
    const given = Object.entries(fields).filter(([, text]) => text.trim() !== '');
    const query = new URLSearchParams(given.map(([name, text]) => [name, text.trim()]));
    query.set('limit', '200');
    const told = await gateway.get<FoundEvents>(`/admin/v1/audit/events?${query.toString()}`);
    const searched = told.kind === 'told' ? { found: told.value } : { note: told.text };
    change({ ...searched, doing: null, chosen: null, why: null });
  };
  const verify = async (): Promise<void> => {
    change({ doing: 'Verifying the log…', note: null });
    const told = await gateway.get<ChainState>('/admin/v1/audit/verify');
    change({ doing: null, ...(told.kind === 'told' ? { chain: told.value } : { note: told.text }) });
  };
  const explain = async (event: LogEvent): Promise<void> => {
    if (event.snapshot === null) return;
    change({ doing: 'Fetching the snapshot…', note: null });
    const told = await gateway.bytes(`/admin/v1/snapshots/${event.snapshot}`);
    const result = told.kind === 'told' ? await explainOn(engine(), told.value, event) : told.text;
    change({ doing: null, ...(typeof result === 'string' ? { note: result } : { why: result }) });
  };
  useEffect(() => {
    void search();
  }, [gateway]);
  const field = (name: FieldName): Pick<FieldProps, 'value' | 'onValue'> => ({
    value: fields[name],
    onValue: (text) => {
      change((before) => ({ fields: { ...before.fields, [name]: text } }));
    },
  });
  const event = chosen === null ? undefined : found?.events[chosen];
  return html`<div class=${event === undefined ? 'panel' : 'panel opened'}>
    <form class="bar" role="search" onSubmit=${search}>
      ${FIELDS.map((one) => html`<${Field} key=${one.name} title=${one.title} placeholder=${one.placeholder} ...${field(one.name)} />`)}
      <${Choice} title="Kind" of=${KINDS} ...${field('kind')}><option value="">any</option><//>
      <${Choice} title="Outcome" of=${OUTCOMES} ...${field('outcome')}><option value="">any</option><//>
      <button type="submit" class="main">Search</button>
      <button type="button" onClick=${call(verify)}>Verify the log</button>
      <span class="faint" role="status">${doing ?? ''}</span>
    </form>
    ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
    ${chain !== null && html`<${Chain} chain=${chain} />`}
    ${found !== null && html`<p>${plain(foundText(found, fields.record !== ''))}</p>`}
    ${event !== undefined && html`<${Detail} event=${event} why=${why} onExplain=${call(explain, event)} />`}
    ${
      found !== null &&
      found.events.length > 0 &&
      html`<${Table}
        name="events"
        heads=${EVENT_HEADS}
        rows=${found.events.map(eventRow)}
        json=${found.events}
        act=${{
          text: 'Show',
          nameOf: (i: number) => `Show event ${String(found.events[i]?.seq)}`,
          onRow: (i: number) => {
            change((before) => ({ chosen: before.chosen === i ? null : i, why: null }));
          },
        }}
        chosen=${chosen}
        isBad=${(i: number) => found.events[i]?.fault !== undefined || found.events[i]?.outcome !== 'allowed'}
      />`
    }
  </div>`;
}

function foundText(
  { events, found, searched, malformed, unverified, unrecorded }: FoundEvents,
  isRecord: boolean,
): string {
  const more = events.length < found ? `; the newest ${String(events.length)} are shown` : '';
  const faults = [
    ...(malformed === 0 ? [] : [`${countText(malformed, 'line')} cannot be read`]),
    ...(unverified === 0
      ? []
      : [`${countText(unverified, 'event')} of them ${unverified === 1 ? 'does' : 'do'} not verify`]),
    ...(isRecord && unrecorded.lists > 0
      ? [`${countText(unrecorded.lists, 'answer')} may have shown the record, which nobody recorded`]
      : []),
  ];
  return `${[`${countText(found, 'event')} of ${countText(searched, 'event')} found${more}`, ...faults].join('. ')}.`;
}

function Chain({ chain: { ok, events, logs, faults, count } }: { readonly chain: ChainState }): VNode {
  return html`<section aria-live="polite">
    <h2 class=${ok ? 'good' : 'bad'}>
      ${ok ? `The log is intact: ${countText(events, 'event')}` : `The log is not intact: ${countText(count, 'fault')} in ${countText(events, 'event')}`}
    </h2>
    <ul>
      ${logs.map(({ log, head }) => html`<li key=${log}>${log}: ${head === null ? 'no event' : html`head <code>${String(head.seq)}:${head.hash}</code>`}</li>`)}
      ${faults.slice(0, 50).map(({ log, kind, text }, i) => html`<li class="bad" key=${i}>${plain(`${log ?? ''} ${kind}: ${text}`)}</li>`)}
    </ul>
    <p class="faint">
      ${ok ? 'Note a head elsewhere: `bailiwick audit verify --head` finds whether anything was cut off after it.' : 'Keep the files as they are and compare them with a copy: `bailiwick audit verify` says the same.'}
    </p>
  </section>`;
}

interface DetailProps {
  readonly event: LogEvent;
  readonly why: readonly Explained[] | null;
  readonly onExplain: () => void;
}

function Detail({ event, why, onExplain }: DetailProps): VNode {
  const canExplain = event.snapshot !== null && accessesOf(event).length > 0;
  const box = useRef<HTMLElement>(null);
  // It opens above the table, which may be scrolled far down.
  useEffect(() => {
    box.current?.focus();
  }, [event]);
  return html`<section class="detail" tabindex="-1" ref=${box} aria-label="The chosen event">
    <div class="bar">
      <h2>Event ${String(event.seq)} of log ${event.log}</h2>
      ${
        canExplain
          ? html`<button type="button" class="main" onClick=${onExplain}>Explain it on its own snapshot</button>`
          : html`<span class="faint">No policy was needed for it.</span>`
      }
      <button
        type="button"
        onClick=${() => {
          if (box.current !== null) closeOpened(box.current);
        }}
      >
        Close
      </button>
    </div>
    ${why?.map(
      ({ decision, steps, grants }, i) =>
        html`<div key=${i}>
          <h3 class=${decision === 'allow' ? 'good' : 'bad'}>${decision === 'allow' ? 'Allowed' : 'Denied'}</h3>
          <ol>
            ${steps.map(({ step, passed, text }) => html`<li key=${step}><span class=${passed ? 'good' : 'bad'}>${passed ? 'passes' : 'fails'}</span> <code>${step}</code>: ${plain(text)}</li>`)}
          </ol>
          <ul>
            ${grants.map((grant) => html`<li key=${grant.id}>${grantText(grant)}</li>`)}
          </ul>
        </div>`,
    )}
    <details>
      <summary>All of it</summary>
      <pre>${plain(JSON.stringify(event, null, 2)).replaceAll('\\u{a}', '\n')}</pre>
    </details>
  </section>`;
}

async function explainOn(engine: Engine, bytes: Uint8Array, event: LogEvent): Promise<readonly Explained[] | string> {
  const opened = await engine.ask({ kind: 'open-snapshot', bytes, as: 'opened' });
  if (opened.kind !== 'opened')
    return opened.kind === 'refused' ? `The snapshot cannot be opened: ${opened.message}.` : '';
  if (opened.snapshot !== event.snapshot)
    return 'The gateway sent another snapshot than the event names. Nothing is explained on it.';
  const why: Explained[] = [];
  for (const access of accessesOf(event)) {
    const answer = await engine.ask({ kind: 'explain-access', access });
    if (answer.kind !== 'explained')
      return answer.kind === 'refused' ? `It cannot be explained: ${answer.message}.` : '';
    why.push(answer.explained);
  }
  return why;
}
