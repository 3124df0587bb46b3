// Copies of what is shown: to the clipboard, and as files.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from './html.js';

/** `text` may be made when it is asked for. */
export function CopyButton({
  text,
  what = 'Copy',
}: {
  readonly text: string | (() => string);
  readonly what?: string;
}): VNode {
  const [note, setNote] = useState('');
  const copy = (): void => {
    navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(
      () => {
        setNote('Copied.');
      },
      () => {
        setNote('The browser refused to copy. Save the file instead.');
      },
    );
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
