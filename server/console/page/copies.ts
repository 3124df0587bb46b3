// Copies of what is shown: to the clipboard, and as files.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { call, html } from './html.js';

/** `text` may be made when it is asked for. */
export interface CopyButtonProps {
  readonly text: string | (() => string);
  readonly what?: string;
}

export function CopyButton({ text, what = 'Copy' }: CopyButtonProps): VNode {
  const [note, setNote] = useState('');
  const copy = (): void => {
    const copied = navigator.clipboard.writeText(typeof text === 'string' ? text : text());
    copied.then(call(setNote, 'Copied.'), call(setNote, 'The browser refused to copy. Save the file instead.'));
  };
  return html`<span
    ><button type="button" onClick=${copy}>${what}</button> <span class="faint" role="status">${note}</span></span
  >`;
}

export function save(name: string, text: string, type: string): void {
  const link = document.createElement('a');
  const url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
