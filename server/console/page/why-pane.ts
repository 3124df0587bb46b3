// Why a request is allowed or denied, step by step, and which edits of the policy would change that.
import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { formatInstant, instantOf } from '../../../engine/index.js';
import type { AnyEdit, Explained, Facts, NamedHolder, Proposed, WhyQuestion } from '../worker/protocol.js';
import { grantText } from './grant-text.js';
import type { Engine } from './engine.js';
import { Choice, TextField } from './fields.js';
import { call, html } from './html.js';
import { WhoList } from './person-pane.js';
import { Table } from './table.js';
import { useCurrent } from './use-current.js';
import { countText, grouped, instantText, plain } from './words.js';

export interface WhyPaneProps {
  readonly engine: Engine;
  readonly facts: Facts;
  /** The digest of what is asked about; null while it is computed. */
  readonly snapshot: string | null;
  readonly version: number;
  readonly at: number;
  readonly question: WhyQuestion;
  readonly onQuestion: (question: WhyQuestion) => void;
  /** Makes an edit in the files of the page; says why it could not. A text says why none can be made here. */
  readonly onApply: ((edit: AnyEdit) => Promise<string | null>) | string;
  /** What follows the answer. */
  readonly children?: ComponentChildren;
}

/** Each with the question that it answers: while another one is asked, what was said before is not shown as its answer. */
interface Answered {
  readonly to: string;
  readonly holders: readonly NamedHolder[] | null;
  readonly explained: Explained | null;
  readonly proposed: Proposed | null;
  readonly note: string | null;
}

const UNANSWERED: Omit<Answered, 'to'> = { holders: null, explained: null, proposed: null, note: null };

export function WhyPane(props: WhyPaneProps): VNode {
  const { engine, facts, snapshot, version, at, question, onQuestion, onApply, children } = props;
  const { who, scope, namespace } = question;
  const asked = JSON.stringify([version, at, who, scope, namespace]);
  const [kept, setKept] = useState<Answered>({ to: '', ...UNANSWERED });
  const { holders, explained, proposed, note } = kept.to === asked ? kept : UNANSWERED;
  const say = (more: Partial<Answered>): void => {
    setKept((before) => ({ ...(before.to === asked ? before : UNANSWERED), ...more, to: asked }));
  };
  useCurrent([engine, version, at, who, scope, namespace], (isCurrent) => {
    if (namespace === '') return;
    // Between two of its steps the engine answers what else is asked, and a new question ends it.
    const propose = async (): Promise<void> => {
      let isDone = false;
      while (!isDone) {
        const answer = await engine.ask({ kind: 'edits', question: { who, scope, namespace, at } });
        if (!isCurrent() || answer.kind !== 'proposed') return;
        say({ proposed: answer.proposed });
        isDone = answer.proposed.edits.length === answer.proposed.of;
      }
    };
    const ask = async (): Promise<void> => {
      if (who !== '') {
        const answer = await engine.ask({ kind: 'explain', question: { who, scope, namespace, at } });
        if (!isCurrent()) return;
        if (answer.kind === 'explained') say({ explained: answer.explained, note: answer.note });
        else if (answer.kind === 'refused') say({ note: answer.message });
      }
      const held = await engine.ask({ kind: 'who-can', scope, namespace, at });
      if (!isCurrent()) return;
      if (held.kind === 'holders') say({ holders: held.holders, ...(who === '' ? { note: held.note } : {}) });
      else if (held.kind === 'refused') say({ note: held.message });
      // Last, since it takes longest.
      if (who !== '') await propose();
    };
    void ask();
  });
  const field =
    (name: keyof WhyQuestion) =>
    (value: string): void => {
      onQuestion({ ...question, [name]: value });
    };
  return html`<div class="panel">
    <div class="bar">
      <${TextField} title="May" list="who" value=${who} placeholder="anybody" onValue=${field('who')} /><${WhoList}
        facts=${facts}
      />
      <${Choice} title="do" value=${scope} of=${facts.scopes} onValue=${field('scope')} />
      <${TextField}
        title="at"
        list="where"
        value=${namespace}
        placeholder="/labs/optics"
        onValue=${field('namespace')}
      />
      <datalist id="where">
        ${facts.namespaces.slice(0, 2000).map((path) => html`<option key=${path} value=${path}></option>`)}
      </datalist>
      <span class="faint">at ${instantText(at)}</span>
    </div>
    ${note !== null && html`<p class="warning" role="status">${plain(note)}</p>`}
    ${
      explained !== null &&
      html`<${Answer}
        explained=${explained}
        proposed=${proposed}
        onApply=${onApply}
        onNote=${(text: string | null) => {
          say({ note: text });
        }}
      />`
    }
    ${children}
    ${
      holders !== null &&
      html`<section>
        <h2>Who can do it there</h2>
        ${
          holders.length === 0
            ? html`<p>Nobody.</p>`
            : html`<${Table}
                name="who-can"
                heads=${['Who', 'Person', 'By']}
                rows=${holders.map(({ identity, person = '', grants }) => [identity, person, grants.map(grantText).join('; ')])}
                json=${{ scope, namespace, at: formatInstant(instantOf(at)), snapshot, identities: holders }}
                act=${{
                  text: 'Why?',
                  onRow: (row: number) => {
                    onQuestion({ ...question, who: holders[row]?.identity ?? '' });
                  },
                }}
              />`
        }
      </section>`
    }
  </div>`;
}

interface AnswerProps extends Pick<WhyPaneProps, 'onApply'> {
  readonly explained: Explained;
  readonly proposed: Proposed | null;
  readonly onNote: (note: string | null) => void;
}

function Answer({ explained, proposed, onApply, onNote }: AnswerProps): VNode {
  const { decision, steps, grants, noEdit } = explained;
  const apply = async (edit: AnyEdit): Promise<void> => {
    if (typeof onApply === 'string') return;
    const fault = await onApply(edit);
    // What was applied makes a new question of this one.
    if (fault !== null) onNote(fault);
  };
  return html`<section>
    <div aria-live="polite">
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
    </div>
    <h3>${decision === 'allow' ? 'Edits that would take it away' : 'Edits that would allow it'}, the smallest first</h3>
    <ol class="edits">
      ${proposed?.edits.map(
        (edit, i) =>
          html`<li key=${i}>
            ${plain(edit.text)}${' '}${typeof onApply !== 'string' && isOfFiles(edit) && html`<button type="button" aria-label=${plain(`Apply: ${edit.text}`)} onClick=${call(apply, edit)}>Apply</button>`}
            <div class="faint">${effectText(edit)}</div>
          </li>`,
      )}
    </ol>
    <p class="faint" role="status">${progressText(proposed)}</p>
    ${typeof onApply === 'string' && proposed !== null && proposed.edits.length > 0 && html`<p class="faint">${onApply}</p>`}
    ${proposed?.edits.some(({ breaks }) => breaks === null) === true && html`<p class="faint">Guardrails were not proved: a snapshot does not have them, and a large policy takes too long.</p>`}
    ${noEdit !== undefined && html`<p class="faint">${plain(noEdit)}</p>`}
  </section>`;
}

function progressText(proposed: Proposed | null): string {
  if (proposed === null || proposed.of === null) return 'Looking for edits…';
  const { edits, of, isComplete } = proposed;
  if (edits.length < of) return `Proving what each would do: ${String(edits.length)} of ${String(of)} done…`;
  if (of === 0) return 'None.';
  return isComplete ? '' : 'There are more, which are larger.';
}

/** No file has a credential. */
function isOfFiles({ change: { kind } }: AnyEdit): boolean {
  return kind !== 'credential' && kind !== 'narrow-credential';
}

function effectText(edit: AnyEdit): string {
  const { breaks, repairs, breaksTests, repairsTests } = edit;
  const part = (verb: string, kind: string, names: readonly string[] | null): readonly string[] =>
    names === null || names.length === 0 ? [] : [`${verb} ${countText(names.length, kind)}: ${firstOf(names)}`];
  const effects = [
    reachText(edit),
    ...(breaks?.length === 0 ? ['breaks no guardrail'] : []),
    ...part('breaks', 'guardrail', breaks),
    ...part('repairs', 'guardrail', repairs),
    ...part('fails', 'test', breaksTests),
    ...part('repairs', 'test', repairsTests),
  ];
  return plain(effects.join('; '));
}

/** Names of tests are sentences. */
function firstOf(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names
    .slice(0, SHOWN)
    .map((name) => `"${name}"`)
    .join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

const SHOWN = 4;

function reachText(edit: AnyEdit): string {
  if (!('closes' in edit)) return `opens ${cellsText(edit.opens.cells)}`;
  const { others, identities } = edit.closes;
  return `takes away ${cellsText(others)}${others === 0n ? '' : ` of ${countText(identities, 'identity', 'identities')}`}`;
}

function cellsText(cells: bigint): string {
  return cells === 0n ? 'nothing else' : `${grouped(cells)} other ${cells === 1n ? 'cell' : 'cells'}`;
}
