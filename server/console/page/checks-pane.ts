// The policy's own tests and guardrails, and what does not hold.
import type { VNode } from 'preact';
import type { Proofs } from '../worker/protocol.js';
import type { Spot } from './files-pane.js';
import { call, html } from './html.js';
import { countText, plain } from './words.js';

export interface ChecksPaneProps {
  readonly proofs: Proofs;
  readonly onSpot: (spot: Spot) => void;
}

export function ChecksPane({ proofs, onSpot }: ChecksPaneProps): VNode {
  const { tests, guardrails } = proofs;
  const link = (file: string | null, line: number | null): VNode | null =>
    file === null
      ? null
      : html`<button type="button" onClick=${call(onSpot, { file, line: line ?? 0 })}>
          ${plain(file)}${line === null ? '' : `:${String(line)}`}
        </button>`;
  const shown = (answer: unknown): string =>
    Array.isArray(answer) ? (answer.length === 0 ? 'nothing' : answer.join(', ')) : String(answer);
  return html`<div class="panel">
    <h2>
      Tests:${' '}<span class="good">${countText(tests.passed, 'test passes', 'tests pass')}</span
      >${tests.failures.length > 0 && html`, <span class="bad">${tests.failures.length} fail</span>`}
    </h2>
    <ul>
      ${tests.failures.map(
        ({ test, file, line, request, expected, actual }, i) =>
          html`<li key=${i}>
            ${plain(test)} ${link(file, line)}
            <div>
              ${plain(request)}: expected ${plain(shown(expected))}, but the policy says ${plain(shown(actual))}
            </div>
          </li>`,
      )}
    </ul>
    <h2>
      Guardrails:${' '}<span class="good">${guardrails.held} hold${guardrails.held === 1 ? 's' : ''}</span
      >${guardrails.violations.length > 0 && html`, <span class="bad">${guardrails.violations.length} broken</span>`}
    </h2>
    <ul>
      ${guardrails.violations.map(
        ({ guardrail, requires, file, line, witnesses, repair }) =>
          html`<li key=${guardrail}>
            ${plain(guardrail)} ${link(file, line)}: ${plain(requires)}
            <ul>
              ${witnesses.map((text, i) => html`<li key=${i}>${plain(text)}</li>`)}
            </ul>
            ${repair.length > 0 && html`<div class="faint">It would hold without ${repair.map(plain).join(', ')}.</div>`}
          </li>`,
      )}
    </ul>
  </div>`;
}
