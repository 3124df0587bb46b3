// A table of what a picture shows, and its copies: as text for a spreadsheet, as CSV and as JSON.
import type { VNode } from 'preact';
import { csvText, pastedText } from '../../authoring/csv-text.js';
import { CopyButton, save } from './copies.js';
import { call, html } from './html.js';
import { countText, plain } from './words.js';

export interface TableProps {
  readonly name: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What the JSON copy has; the rows if there is nothing more exact. */
  readonly json?: unknown;
  /** A button in each row. */
  readonly act?: {
    readonly text: string;
    readonly onRow: (row: number) => void;
    /** The whole name of a row's button; without it, the text and the first column. */
    readonly nameOf?: (row: number) => string;
  };
  /** The row that its button has opened. */
  readonly chosen?: number | null;
  readonly isBad?: (row: number) => boolean;
  /** Buttons of a row, or null if it has none. */
  readonly tools?: (row: number) => VNode | null;
  /** How a cell is shown. */
  readonly kindOf?: (row: number, column: number) => string;
}

/** Rows that are drawn. Copies have all of them. */
const DRAWN = 500;

export function Table({ name, heads, rows, json, act, chosen, isBad, tools, kindOf }: TableProps): VNode {
  return html`<div>
    <div class="bar">
      <span class="faint"
        >${countText(rows.length, 'row')}${rows.length > DRAWN ? `, the first ${DRAWN} shown` : ''}</span
      >
      <${CopyButton} text=${() => pastedText([heads, ...rows])} />
      <button
        type="button"
        onClick=${() => {
          save(`${name}.csv`, csvText([heads, ...rows]), 'text/csv');
        }}
      >
        CSV
      </button>
      <button
        type="button"
        onClick=${() => {
          save(`${name}.json`, toJson(json ?? objectsOf(heads, rows)), 'application/json');
        }}
      >
        JSON
      </button>
    </div>
    <div class="scrolled-table" tabindex="0" role="region" aria-label=${`Table of ${name}`}>
      <table>
        <thead>
          <tr>
            ${heads.map((head) => html`<th scope="col" key=${head}>${head}</th>`)}${(act ?? tools) !== undefined && html`<td></td>`}
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, DRAWN).map(
            (row, i) =>
              html`<tr key=${i} class=${isBad?.(i) === true ? 'bad' : ''}>
                ${row.map((text, j) => html`<td key=${j} class=${kindOf?.(i, j) ?? ''} data-head=${heads[j]}>${plain(text)}</td>`)}${tools !== undefined && html`<td>${tools(i)}</td>`}${
                  act !== undefined &&
                  html`<td>
                    <button
                      type="button"
                      aria-label=${plain(act.nameOf?.(i) ?? `${act.text} ${row[0] ?? ''}`)}
                      aria-expanded=${chosen === undefined ? undefined : String(i === chosen)}
                      onClick=${call(act.onRow, i)}
                    >
                      ${act.text}
                    </button>
                  </td>`
                }
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

function objectsOf(heads: readonly string[], rows: readonly (readonly string[])[]): unknown {
  return rows.map((row) => Object.fromEntries(heads.map((head, i) => [head, row[i] ?? ''])));
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner), 2)}\n`;
}
