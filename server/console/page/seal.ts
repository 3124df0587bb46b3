// What is shown, and of when: it stands in a corner of each picture, so that a picture of the screen is evidence.
import type { VNode } from 'preact';
import { html } from './html.js';
import { instantText } from './words.js';

export interface SealProps {
  /** Digests, or what there is in place of one, each with its name; the only one has none. */
  readonly digests: readonly (readonly [name: string, digest: string])[];
  /** Null for any time. */
  readonly at: number | null;
}

export function Seal({ digests, at }: SealProps): VNode {
  return html`<span class="seal"
    >${digests.map(([name, digest]) => html`<span key=${name}>${name === '' ? '' : `${name} `}${digest}<br /></span>`)}${`at ${at === null ? 'any time' : instantText(at)}`}</span
  >`;
}
