// How many cells differ, in words.
import type { VNode } from 'preact';
import { html } from './html.js';
import { grouped } from './words.js';

export interface ChangedCellsProps {
  readonly gained: bigint;
  readonly lost: bigint;
}

export function ChangedCells({ gained, lost }: ChangedCellsProps): VNode {
  return html`<span
    ><span class="gained">${grouped(gained)} cells gained</span>${', '}<span class="lost"
      >${grouped(lost)} cells lost</span
    ></span
  >`;
}
