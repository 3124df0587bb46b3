// What changed: a candidate against what runs, and then what is to be done with it.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CHANGES_VIEW, type View } from '../map/picture.js';
import { ChangesPane } from '../page/changes-pane.js';
import type { Engine } from '../page/engine.js';
import { Field } from '../page/fields.js';
import { call, html } from '../page/html.js';
import { useCurrent } from '../page/use-current.js';
import { grouped, plain } from '../page/words.js';
import { type CandidateSnapshot, compare, type Comparison } from './candidate.js';
import type { GatewayClient } from './gateway.js';
import { useParts } from './use-parts.js';

export interface CandidatePaneProps {
  readonly gateway: GatewayClient;
  readonly engine: () => Engine;
  readonly running: string;
  readonly candidate: CandidateSnapshot | null;
  /** Called when something was done with it. */
  readonly onDone: (said: string, next: CandidateSnapshot | null) => void;
}

interface CandidateState {
  readonly comparison: Comparison | null;
  readonly version: number;
  readonly reason: string;
  readonly isBusy: boolean;
  readonly note: string | null;
}

type Act = 'activate' | 'rollback' | 'shadow' | 'upload';

export function CandidatePane({ gateway, engine, running, candidate, onDone }: CandidatePaneProps): VNode {
  const [state, change] = useParts<CandidateState>({
    ...{ comparison: null, version: 0, reason: '', isBusy: false, note: null },
  });
  const [view, setView] = useState<View>(CHANGES_VIEW);
  useCurrent([gateway, running, candidate], (isCurrent) => {
    change({ comparison: null, note: null, isBusy: false });
    if (candidate === null) return;
    void compare(gateway, engine(), { running, candidate }).then((result) => {
      if (!isCurrent()) return;
      if (typeof result === 'string') change({ note: result });
      else change((before) => ({ comparison: result, version: before.version + 1 }));
    });
  });
  const { comparison, version, reason, isBusy, note } = state;
  const act = async (kind: Act): Promise<void> => {
    if (candidate === null || comparison === null) return;
    change({ isBusy: true, note: null });
    const told = await send(gateway, kind, { candidate, digest: comparison.digest, reason });
    if (told.kind === 'told') {
      const stored = { name: comparison.digest, digest: comparison.digest, file: null, wasActive: false };
      onDone(SAID[kind](comparison.digest), kind === 'upload' ? stored : null);
    } else change({ isBusy: false, note: told.text });
  };
  if (candidate === null)
    return html`<div class="panel">
      <p>
        Choose a snapshot or a file under <em>Snapshots</em>: it is compared here with what runs, and decided about.
      </p>
    </div>`;
  const isSame = comparison?.digest === running;
  const isReady = comparison !== null && !isBusy && !isSame;
  return html`<div class="right">
    <section class="panel decision" aria-label="The candidate">
      <p>
        ${'Candidate '}<code>${plain(candidate.name)}</code>
        ${comparison !== null && comparison.digest !== candidate.name && html`<span>${', '}<code>${comparison.digest}</code></span>`}
        ${candidate.file === null ? ' is in the store.' : ' is a file, which the gateway does not have yet.'}
      </p>
      ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
      ${comparison === null && note === null && html`<p role="status">Comparing it with what runs…</p>`}
      ${isSame && html`<p class="good">This is what runs.</p>`}
      ${isBusy && html`<p role="status">Waiting for the gateway…</p>`}
      ${
        comparison !== null &&
        !isSame &&
        html`<div class="bar">
          <${Field}
            title="Reason"
            value=${reason}
            placeholder="kept with the activation"
            size="40"
            onValue=${(text: string) => {
              change({ reason: text });
            }}
          />
          ${candidate.file !== null && html`<button type="button" class="main" disabled=${!isReady} onClick=${call(act, 'upload')}>Upload it</button>`}
          ${candidate.file === null && html`<button type="button" class="main" disabled=${!isReady} onClick=${call(act, 'activate')}>${activateText(comparison)}</button>`}
          ${candidate.file === null && candidate.wasActive && html`<button type="button" disabled=${!isReady || reason.trim() === ''} onClick=${call(act, 'rollback')}>Roll back to it</button>`}
          ${candidate.file === null && html`<button type="button" disabled=${!isReady} onClick=${call(act, 'shadow')}>Judge it in shadow</button>`}
          <span class="faint"
            >${candidate.file === null ? `It is put in force on every gateway of the store.${candidate.wasActive ? ' Rolling back needs a reason.' : ''}` : 'It decides nothing before it is activated.'}</span
          >
        </div>`
      }
    </section>
    ${
      comparison !== null &&
      html`<${ChangesPane}
        engine=${engine()}
        compared=${comparison.compared}
        digests=${[
          ['runs', comparison.against],
          ['candidate', comparison.digest],
        ]}
        version=${version}
        scopes=${comparison.facts.scopes}
        instants=${comparison.facts.instants}
        view=${view}
        onView=${setView}
      />`
    }
  </div>`;
}

function activateText({ compared: { cells } }: Comparison): string {
  return `Activate: ${grouped(cells.gained)} cells gained, ${grouped(cells.lost)} lost`;
}

interface Sending {
  readonly candidate: CandidateSnapshot;
  readonly digest: string;
  readonly reason: string;
}

function send(
  gateway: GatewayClient,
  kind: Act,
  { candidate, digest, reason }: Sending,
): ReturnType<GatewayClient['post']> {
  const why = reason.trim();
  switch (kind) {
    case 'upload':
      return gateway.post('/admin/v1/snapshots', candidate.file ?? undefined);
    case 'activate':
      return gateway.post(`/admin/v1/snapshots/${digest}/activate`, why === '' ? {} : { reason: why });
    case 'rollback':
      return gateway.post('/admin/v1/rollback', { to: digest, reason: why });
    case 'shadow':
      return gateway.post('/admin/v1/shadow', { snapshot: digest });
  }
}

const SAID: Readonly<Record<Act, (digest: string) => string>> = {
  upload: (digest) => `${digest} is stored. It decides nothing before it is activated.`,
  activate: (digest) => `${digest} is in force here; the other gateways of the store follow within a second.`,
  rollback: (digest) => `${digest} is in force again here; the other gateways of the store follow within a second.`,
  shadow: (digest) => `${digest} is judged beside what runs.`,
};
