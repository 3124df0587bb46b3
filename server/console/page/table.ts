// A table of what a picture shows, and its copies: as text for a spreadsheet, as CSV and as JSON.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { countText, plain } from './words.js';

export interface TableProps {
  readonly name: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What the JSON copy has; the rows if there is nothing more exact. */
  readonly json?: unknown;
}

/** Rows that are drawn. Copies have all of them. */
const DRAWN = 500;

export function Table({ name, heads, rows, json }: TableProps): VNode {
  const [note, setNote] = useState('');
  const copy = (text: string, as: string): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setNote(`Copied as ${as}.`);
      },
      () => {
        setNote('The browser refused to copy. Save the file instead.');
      },
    );
  };
  return html`<div>
    <div class="bar">
      <span class="faint"
        >${countText(rows.length, 'row')}${rows.length > DRAWN ? `, the first ${DRAWN} shown` : ''}</span
      >
      <button
        type="button"
        onClick=${() => {
          copy([heads, ...rows].map((row) => row.join('\t')).join('\n'), 'a table');
        }}
      >
        Copy
      </button>
      <button
        type="button"
        onClick=${() => {
          save(`${name}.csv`, toCsv([heads, ...rows]), 'text/csv');
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
      <span class="faint" role="status">${note}</span>
    </div>
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col" key=${head}>${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, DRAWN).map(
          (row, i) =>
            html`<tr key=${i}>
              ${row.map((text, j) => html`<td key=${j}>${plain(text)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function objectsOf(heads: readonly string[], rows: readonly (readonly string[])[]): unknown {
  return rows.map((row) => Object.fromEntries(heads.map((head, i) => [head, row[i] ?? ''])));
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner), 2)}\n`;
}

/** RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function toCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

export function save(name: string, text: string, type: string): void {
  const link = document.createElement('a');
  const url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
