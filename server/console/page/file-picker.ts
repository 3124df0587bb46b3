// A button that chooses a file.
import type { VNode } from 'preact';
import { fieldFiles, html } from './html.js';

export interface FilePickerProps {
  readonly text: string;
  readonly onFile: (file: File) => void;
}

export function FilePicker({ text, onFile }: FilePickerProps): VNode {
  return html`<label class="open"
    >${text}
    <input
      type="file"
      accept=".json"
      onChange=${(event: Event) => {
        const [file] = fieldFiles(event);
        if (file !== undefined) onFile(file);
        // The same file may be chosen again after it was corrected.
        if (event.target instanceof HTMLInputElement) event.target.value = '';
      }}
  /></label>`;
}
