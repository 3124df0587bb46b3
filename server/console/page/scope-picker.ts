// Which scopes the squares of a cell stand for, and the key to them.
import type { VNode } from 'preact';
import type { ScopeName } from '../../../engine/index.js';
import { Choice } from './fields.js';
import { html } from './html.js';
import type { Drawn } from './paint.js';
import { squaresOf } from './squares.js';
import { familiesOf } from './words.js';

export interface ScopePickerProps {
  readonly scopes: readonly ScopeName[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** `value` is empty for every scope, a family, or one scope. */
export function drawnOf(scopes: readonly ScopeName[], value: string): Drawn {
  return scopes.flatMap((scope, i) => (value === '' || scope === value || scope.startsWith(`${value}:`) ? [i] : []));
}

export function ScopePicker({ scopes, value, onChange }: ScopePickerProps): VNode {
  return html`<${Choice} title="Scopes" value=${value} onValue=${onChange}>
    <option value="">every scope</option>
    ${familiesOf(scopes).map(
      (family) =>
        html`<optgroup key=${family} label=${family}>
          <option value=${family}>${family}: every action</option>
          ${scopes.filter((scope) => scope.startsWith(`${family}:`)).map((scope) => html`<option key=${scope} value=${scope}>${scope}</option>`)}
        </optgroup>`,
    )}
  <//>`;
}

export interface KeyProps {
  readonly scopes: readonly ScopeName[];
  readonly drawn: Drawn;
  readonly changes: boolean;
}

/** What the squares of a cell mean, from left to right. */
export function Key({ scopes, drawn, changes }: KeyProps): VNode {
  const shown = drawn.flatMap((i) => scopes[i] ?? []);
  const { heads } = squaresOf(shown);
  const inks = changes
    ? [
        ['gained', '--gained', ''],
        ['lost', '--lost', ' hollow'],
      ]
    : [
        ['read', '--read', ''],
        ['write and other actions', '--write', ''],
      ];
  return html`<div class="bar">
    ${inks.map(([name, ink, kind]) => html`<span class="key" key=${name}><span class=${`swatch${kind}`} style=${{ '--swatch': `var(${ink})` }}></span>${name}</span>`)}
    <span class="key"><span class="swatch" style=${{ '--swatch': 'var(--faint)' }}></span>all</span>
    <span class="key"><span class="swatch some" style=${{ '--swatch': 'var(--faint)' }}></span>some</span>
    <span class="key"><span class="swatch none"></span>none</span>
    <span class="faint"
      >${
        shown.length === 1
          ? shown[0]
          : heads === null
            ? 'Squares stand in the order of the list. Choose a family to tell them apart.'
            : `Squares from left to right: ${heads.families.join(', ')}; from top to bottom: ${heads.actions.join(', ')}.`
      }</span
    >
  </div>`;
}
