// What was edited in the page since the policy was opened: what that changes, which checks it breaks, and the patch to commit.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EditedFile, PolicyDifference, Proofs } from '../worker/protocol.js';
import { CopyButton, save } from './copies.js';
import { ChangedCells } from './changed-cells.js';
import { call, html } from './html.js';
import type { Edits } from './state.js';
import { type FilePatch, unifiedPatch } from './unified-patch.js';
import { countText, plain } from './words.js';

export interface OwnEditsProps {
  readonly edits: Edits;
  readonly compared: PolicyDifference | null;
  readonly proofs: Proofs | null;
  readonly onUndo: () => void;
  /** Whether what changes is shown elsewhere. */
  readonly isFolded: boolean;
  /** Shows what changes; null where nothing does. */
  readonly onShow: (() => void) | null;
}

export function OwnEdits({
  edits: { opened, files, done },
  compared,
  proofs,
  onUndo,
  isFolded,
  onShow,
}: OwnEditsProps): VNode | null {
  const patches = useMemo(() => unifiedPatch(opened, files), [opened, files]);
  if (patches.length === 0) return null;
  const patch = patches.map((one) => one.patch).join('');
  const heading = `Your edits in ${countText(patches.length, 'file')}`;
  const inside = html`<div class="bar">
      ${!isFolded && compared !== null && html`<${ChangedCells} ...${compared.cells} />`}
      ${!isFolded && onShow !== null && html`<button type="button" onClick=${onShow}>Show who gains and loses</button>`}
      <button type="button" disabled=${done.length === 0} onClick=${onUndo}>Undo the last edit</button>
      <${CopyButton} text=${patch} what="Copy the patch" />
      <button type="button" onClick=${call(save, 'policy.patch', patch, 'text/x-diff')}>Save the patch</button>
    </div>
    ${proofs !== null && html`<p class=${isBroken(proofs) ? 'bad' : 'good'} role="status">${brokenText(proofs)}</p>`}
    <p class="faint">
      To commit it: save the patch, then <code>git apply policy.patch</code> in the folder of the policy.
    </p>
    ${patches.map((one) => html`<${Patch} key=${one.path} of=${one} />`)}`;
  return html`<section class="own" aria-label="Your edits">
    ${
      isFolded
        ? html`<details>
            <summary>${heading}: the patch to commit</summary>
            ${inside}
          </details>`
        : html`<h2>${heading}</h2>
            ${inside}`
    }
  </section>`;
}

function isBroken({ tests, guardrails }: Proofs): boolean {
  return tests.failures.length + guardrails.violations.length > 0;
}

function brokenText({ tests, guardrails }: Proofs): string {
  const broken = [
    ...guardrails.violations.map(({ guardrail }) => `guardrail ${guardrail} is broken`),
    ...new Set(tests.failures.map(({ test }) => `test "${test}" fails`)),
  ];
  return broken.length === 0 ? 'All tests pass and all guardrails hold.' : plain(`${broken.join('; ')}.`);
}

function Patch({ of: { path, patch } }: { readonly of: FilePatch }): VNode {
  const lines = patch.split('\n').slice(0, -1);
  return html`<pre class="patch" tabindex="0" aria-label=${`Patch of ${plain(path)}`}>
${lines.map((line, i) => html`<span key=${i} class=${classOf(line, i)}>${plain(line)}${'\n'}</span>`)}</pre>`;
}

function classOf(line: string, i: number): string {
  if (i < 2 || line.startsWith('@@')) return 'faint';
  return line.startsWith('+') ? 'gained' : line.startsWith('-') ? 'lost' : '';
}

/** The line at which a file begins to differ, from 1. */
export function firstChange({ before, text }: EditedFile): number {
  const [old, now] = [before.split('\n'), text.split('\n')];
  const at = now.findIndex((line, i) => line !== old[i]);
  return at < 0 ? now.length : at + 1;
}
