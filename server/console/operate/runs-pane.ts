// What runs: the state of the gateway as it is now, its peers, and what was refused last.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { call, html } from '../page/html.js';
import { Table } from '../page/table.js';
import { useCurrent } from '../page/use-current.js';
import { countText, plain } from '../page/words.js';
import type { FoundEvents, LogEvent, Status } from './answers.js';
import { eventRow, EVENT_HEADS } from './event-text.js';
import type { GatewayClient } from './gateway.js';

export interface RunsPaneProps {
  readonly gateway: GatewayClient;
  readonly status: Status;
}

export function RunsPane({ gateway, status }: RunsPaneProps): VNode {
  const [refused, setRefused] = useState<readonly LogEvent[] | string>([]);
  const [asked, setAsked] = useState(0);
  useCurrent([gateway, asked], (isCurrent) => {
    void gateway.get<FoundEvents>('/admin/v1/audit/events?kind=refusal&limit=20').then((told) => {
      if (isCurrent()) setRefused(told.kind === 'told' ? told.value.events : told.text);
    });
  });
  const { lastError, peers } = status;
  return html`<div class="panel">
    <h2>What runs</h2>
    <dl class="facts">
      ${factsOf(status).map(
        ([name, text, kind]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd class=${kind}>${plain(text)}</dd>
          </div>`,
      )}
    </dl>
    ${
      lastError !== null &&
      html`<section>
        <h2 class="bad">Refused last</h2>
        <p>${plain(`${lastError.at} ${lastError.code}: ${lastError.message}`)}</p>
        <ul>
          ${lastError.problems.map((text) => html`<li key=${text}>${plain(text)}</li>`)}
        </ul>
        <p class="faint">The snapshot above stays in force. Correct what the source offers.</p>
      </section>`
    }
    <h2>Other gateways of the store</h2>
    ${
      peers.length === 0
        ? html`<p>None was seen in the last 15 seconds.</p>`
        : html`<${Table}
            name="peers"
            heads=${['Host', 'Snapshot', 'Activation', 'Version', 'Started', 'Seen']}
            rows=${peers.map((peer) => [peer.host, `${peer.snapshot}${peer.snapshot === status.snapshot ? '' : ' (another one)'}`, String(peer.generation), peer.version, peer.startedAt, peer.seenAt])}
            json=${peers}
          />`
    }
    <div class="bar">
      <h2>Last refused requests</h2>
      <button type="button" onClick=${call(setAsked, asked + 1)}>Ask again</button>
    </div>
    ${
      typeof refused === 'string'
        ? html`<p class="warning">${refused}</p>`
        : refused.length === 0
          ? html`<p>None is in the log.</p>`
          : html`<${Table} name="refusals" heads=${EVENT_HEADS} rows=${refused.map(eventRow)} json=${refused} />`
    }
  </div>`;
}

type Fact = readonly [name: string, text: string, kind?: 'good' | 'bad' | 'warning' | ''];

function factsOf(status: Status): readonly Fact[] {
  const { source, statement, audit, certificate, workers, shadow, stale } = status;
  const { kind, ...where } = source;
  return [
    ['Answers', status.ready ? 'yes' : 'not ready', status.ready ? 'good' : 'bad'],
    ...(status.undecided === null ? [] : [['Decides nothing', status.undecided, 'bad'] as const]),
    ['Policy', status.policy],
    ['Snapshot', status.snapshot],
    ['Decisions', `${status.decisions} (${status.labels})`],
    ['Activation', `number ${String(status.generation)}: ${status.reason}`],
    ['Source', [kind, ...Object.values(where)].join(' ')],
    ['Loaded', status.loadedAt],
    [
      'Confirmed',
      `${countText(status.ageSeconds, 'second')} ago${stale === 'no' ? '' : stale === 'soft' ? ', which is long ago' : ', which is too long ago'}`,
      stale === 'no' ? '' : stale === 'soft' ? 'warning' : 'bad',
    ],
    [
      'Statement',
      statement === null ? 'none' : `generation ${String(statement.generation)}, expires ${statement.expiresAt}`,
    ],
    ['Shadow', shadow === null ? 'none' : shadow.snapshot],
    ['Store', `${status.store.kind}, ${status.store.ok ? 'reachable' : 'not ready'}`, status.store.ok ? 'good' : 'bad'],
    audit === null
      ? ['Audit log', 'none']
      : audit.ok
        ? ['Audit log', 'written', 'good']
        : [
            'Audit log',
            `${audit.fileLagSeconds > 0 ? 'its files could not be written' : 'events in the store could not be fetched'} for ${String(Math.max(audit.fileLagSeconds, audit.storeLagSeconds))} seconds: requests are refused`,
            'bad',
          ],
    ['Certificate', certificate === null ? 'none' : `expires ${certificate.expiresAt}`],
    [
      'Workers',
      workers === null ? 'none: one process answers' : `${String(workers.serving)} of ${String(workers.size)} answer`,
      workers !== null && workers.serving < workers.size ? 'warning' : '',
    ],
    ['Version', status.version],
    ['Started', status.startedAt],
  ];
}
