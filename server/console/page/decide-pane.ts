// Requests as `bailiwick decide` takes them, one a line, and what the policy in the page decides.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { LineAnswer } from '../../asking/decide-line.js';
import type { Facts } from '../worker/protocol.js';
import type { Engine } from './engine.js';
import { html, withText } from './html.js';
import { Table } from './table.js';
import { useCurrent } from './use-current.js';
import { instantText } from './words.js';

export interface DecidePaneProps {
  readonly engine: Engine;
  readonly facts: Facts;
  readonly version: number;
  readonly at: number;
  /** Null as long as nobody wrote any. */
  readonly requests: string | null;
  readonly onRequests: (text: string) => void;
}

const HEADS = ['Id', 'Decision', 'Because'];

export function DecidePane({ engine, facts, version, at, requests, onRequests }: DecidePaneProps): VNode {
  const [answers, setAnswers] = useState<readonly LineAnswer[]>([]);
  const text = requests ?? exampleOf(facts);
  useCurrent([engine, version, at, text], (isCurrent) => {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    void engine.ask({ kind: 'decide', lines, at }).then((answer) => {
      if (isCurrent() && answer.kind === 'decided') setAnswers(answer.answers);
    });
  });
  return html`<div class="panel">
    <label for="requests">Requests, one a line, as <code>bailiwick decide</code> takes them</label>
    <textarea
      id="requests"
      class="mono"
      rows="6"
      spellcheck="false"
      autocapitalize="off"
      value=${text}
      onInput=${withText(onRequests)}
    ></textarea>
    <p class="faint">A request without <code>at</code> is decided at ${instantText(at)}.</p>
    ${
      answers.length > 0 &&
      html`<${Table}
        name="decisions"
        heads=${HEADS}
        rows=${answers.map((answer) => [String(answer.id ?? ''), decisionOf(answer), reasonOf(answer)])}
        json=${answers}
        kindOf=${(row: number, column: number) => (column === 1 ? KINDS[decisionOf(answers[row])] : '')}
      />`
    }
  </div>`;
}

const KINDS = { allow: 'good', deny: 'bad', error: 'warning', '': '' } as const;

function decisionOf(answer: LineAnswer | undefined): keyof typeof KINDS {
  if (answer === undefined) return '';
  return 'error' in answer ? 'error' : answer.decision;
}

function reasonOf(answer: LineAnswer): string {
  if ('error' in answer) return `${answer.error.code}: ${answer.error.message}`;
  if (answer.decision === 'allow') return answer.grants.map((id) => `grant ${id}`).join(', ');
  return [answer.step, answer.cause, ...(answer.identities ?? [])].filter((part) => part !== undefined).join(', ');
}

function exampleOf({ identities, namespaces, scopes }: Facts): string {
  const [identity = 'orcid:0000-0002-1825-0097'] = identities;
  const [scope = 'resource:read'] = scopes;
  const target = namespaces.at(-1) ?? '/labs/optics';
  return JSON.stringify({ id: 'r1', actor: { identities: [identity] }, request: { kind: 'access', scope, target } });
}
