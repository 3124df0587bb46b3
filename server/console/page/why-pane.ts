// Why a request is allowed or denied, step by step, and which edits of the policy would change that.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Explained, Facts } from '../worker/protocol.js';
import { grantText } from './causes.js';
import type { Engine } from './engine.js';
import { fieldValue, html } from './html.js';
import { WhoList } from './person-pane.js';
import { grouped, instantText, plain } from './words.js';

export interface WhyQuestion {
  readonly who: string;
  readonly scope: string;
  readonly namespace: string;
}

export interface WhyPaneProps {
  readonly engine: Engine;
  readonly facts: Facts;
  readonly version: number;
  readonly at: number;
  readonly question: WhyQuestion;
  readonly onQuestion: (question: WhyQuestion) => void;
}

export function WhyPane({ engine, facts, version, at, question, onQuestion }: WhyPaneProps): VNode {
  const [explained, setExplained] = useState<Explained | null>(null);
  const [holders, setHolders] = useState<readonly string[] | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const { who, scope, namespace } = question;
  useEffect(() => {
    let isCurrent = true;
    setNote(null);
    setExplained(null);
    setHolders(null);
    if (namespace === '') return undefined;
    void engine.ask({ kind: 'who-can', scope, namespace, at }).then((answer) => {
      if (!isCurrent) return;
      if (answer.kind === 'holders')
        setHolders(answer.holders.map(({ identity, grants }) => `${identity}: ${grants.map(grantText).join('; ')}`));
      else if (answer.kind === 'refused') setNote(answer.message);
    });
    if (who !== '')
      void engine.ask({ kind: 'explain', question: { who, scope, namespace, at } }).then((answer) => {
        if (!isCurrent) return;
        if (answer.kind === 'explained') {
          setExplained(answer.explained);
          setNote(answer.note);
        } else if (answer.kind === 'refused') setNote(answer.message);
      });
    return () => {
      isCurrent = false;
    };
  }, [engine, version, at, who, scope, namespace]);
  const field =
    (name: keyof WhyQuestion) =>
    (event: Event): void => {
      onQuestion({ ...question, [name]: fieldValue(event).trim() });
    };
  return html`<div class="panel">
    <div class="bar">
      <label>May <input list="who" value=${who} placeholder="a person or an identity" onChange=${field('who')} /></label
      ><${WhoList} facts=${facts} />
      <label
        >do
        <select value=${scope} onChange=${field('scope')}>
          ${facts.scopes.map((one) => html`<option key=${one}>${one}</option>`)}
        </select></label
      >
      <label
        >at <input list="where" value=${namespace} placeholder="/labs/optics" onChange=${field('namespace')}
      /></label>
      <datalist id="where">
        ${facts.namespaces.slice(0, 2000).map((path) => html`<option key=${path} value=${path}></option>`)}
      </datalist>
      <span class="faint">at ${instantText(at)}</span>
    </div>
    ${note !== null && html`<p class="warning" role="status">${plain(note)}</p>`}
    ${explained !== null && html`<${Answer} explained=${explained} />`}
    ${
      holders !== null &&
      html`<section>
        <h2>Who can do it there</h2>
        ${
          holders.length === 0
            ? html`<p>Nobody.</p>`
            : html`<ul>
                ${holders.slice(0, 200).map((text) => html`<li key=${text}>${plain(text)}</li>`)}
              </ul>`
        }
        ${holders.length > 200 && html`<p class="faint">and ${grouped(holders.length - 200)} more</p>`}
      </section>`
    }
  </div>`;
}

function Answer({ explained }: { readonly explained: Explained }): VNode {
  const { decision, steps, grants, edits, noEdit } = explained;
  return html`<section aria-live="polite">
    <h2 class=${decision === 'allow' ? 'good' : 'bad'}>${decision === 'allow' ? 'Allowed' : 'Denied'}</h2>
    <ol>
      ${steps.map(({ step, passed, text }) => html`<li key=${step}><span class=${passed ? 'good' : 'bad'}>${passed ? 'passes' : 'fails'}</span> <code>${step}</code>: ${plain(text)}</li>`)}
    </ol>
    ${
      grants.length > 0 &&
      html`<h3>By</h3>
        <ul>
          ${grants.map((grant) => html`<li key=${grant.id}>${grantText(grant)}</li>`)}
        </ul>`
    }
    ${
      edits.length > 0 &&
      html`<h3>Edits that would allow it, the smallest first</h3>
        <ol>
          ${edits.map(
            ({ text, opens, breaks }, i) =>
              html`<li key=${i}>
                ${plain(text)}
                <div class="faint">${effectText(opens.cells, breaks)}</div>
              </li>`,
          )}
        </ol>`
    }
    ${noEdit !== undefined && html`<p class="faint">${plain(noEdit)}</p>`}
  </section>`;
}

function effectText(cells: bigint, breaks: readonly string[] | null): string {
  const opens = `opens ${cells === 0n ? 'nothing else' : `${grouped(cells)} other cells`}`;
  if (breaks === null) return opens;
  return plain(`${opens}; breaks ${breaks.length === 0 ? 'no guardrail' : breaks.join(', ')}`);
}
