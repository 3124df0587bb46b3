// One person: an icicle of namespaces with what is held there, and where each right comes from.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { RegionUntil } from '../../authoring/held-until.js';
import type { Facts } from '../worker/protocol.js';
import { grantText } from './grant-text.js';
import type { Engine } from './engine.js';
import { TextField } from './fields.js';
import { html } from './html.js';
import { Icicle } from './icicle.js';
import { drawnOf, ScopePicker } from './scope-picker.js';
import { Table } from './table.js';
import { useCurrent } from './use-current.js';
import { instantText, plain, whereText } from './words.js';

export interface PersonPaneProps {
  readonly engine: Engine;
  readonly facts: Facts;
  readonly version: number;
  readonly at: number;
  readonly who: string;
  readonly onWho: (who: string) => void;
}

interface Found {
  /** The question that this answers: what was said of somebody else is not shown meanwhile. */
  readonly to: string;
  readonly regions: readonly RegionUntil[];
  readonly note: string | null;
}

const NOBODY: Found = { to: '', regions: [], note: null };
const SOON = 30 * 24 * 60 * 60 * 1000;
const HEADS = ['Where', 'Scopes', 'Until', 'By'];

export function PersonPane({ engine, facts, version, at, who, onWho }: PersonPaneProps): VNode {
  const [kept, setFound] = useState<Found>(NOBODY);
  const [choice, setChoice] = useState('');
  const asked = JSON.stringify([version, at, who]);
  const found = kept.to === asked ? kept : NOBODY;
  useCurrent([engine, version, at, who], (isCurrent) => {
    if (who === '') return;
    void engine.ask({ kind: 'what-can', who, at }).then((answer) => {
      if (!isCurrent()) return;
      if (answer.kind === 'regions') setFound({ ...answer, to: asked });
      else if (answer.kind === 'refused') setFound({ regions: [], note: answer.message, to: asked });
    });
  });
  const drawn = new Set(drawnOf(facts.scopes, choice).map((i) => facts.scopes[i]));
  const soon = found.regions.filter(({ until }) => until !== null && until - at <= SOON);
  return html`<div class="panel">
    <div class="bar">
      <${TextField}
        title="Person or identity"
        list="who"
        value=${who}
        placeholder="orcid:0000-0002-1825-0097"
        onValue=${onWho}
      />
      <${WhoList} facts=${facts} />
      <span class="faint">at ${instantText(at)}</span>
    </div>
    ${who === '' && html`<p class="faint">Enter a person or an identity to see what they hold, where, and by which grants.</p>`}
    ${found.note !== null && html`<p class="warning" role="status">${plain(found.note)}</p>`}
    ${who !== '' && found.to === asked && found.regions.length === 0 && found.note === null && html`<p>${plain(who)} holds nothing then.</p>`}
    ${
      found.regions.length > 0 &&
      html`<div>
        <h2>Where</h2>
        <div class="bar">
          <${ScopePicker} scopes=${facts.scopes} value=${choice} onChange=${setChoice} />
        </div>
        <${Icicle} regions=${found.regions} scopes=${facts.scopes.filter((scope) => drawn.has(scope))} />
        ${
          soon.length > 0 &&
          html`<h2>Ends within 30 days</h2>
            <ul>
              ${soon.map((region, i) => html`<li key=${i}>${region.scopes.join(', ')} at ${plain(whereText(region))} until ${instantText(region.until)}</li>`)}
            </ul>`
        }
        <h2>From where each right comes</h2>
        <${Table}
          name="rights"
          heads=${HEADS}
          rows=${found.regions.map((region) => [whereText(region), region.scopes.join(', '), instantText(region.until), region.grants.map(grantText).join('; ')])}
          json=${found.regions}
        />
      </div>`
    }
  </div>`;
}

export function WhoList({ facts }: { readonly facts: Facts }): VNode {
  return html`<datalist id="who">
    ${[...facts.people, ...facts.identities].slice(0, 2000).map((text) => html`<option key=${text} value=${text}></option>`)}
  </datalist>`;
}
