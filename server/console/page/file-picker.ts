// Buttons that choose a file, and the folder of a policy.
import type { VNode } from 'preact';
import type { TextFile } from '../worker/protocol.js';
import { fieldFiles, html } from './html.js';
import { readList } from './open-files.js';

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

export interface FolderPickerProps {
  readonly text: string;
  /** Its files, or why it is none. */
  readonly onFolder: (read: readonly TextFile[] | string) => void;
}

export function FolderPicker({ text, onFolder }: FolderPickerProps): VNode {
  return html`<label class="open"
    >${text}
    <input
      type="file"
      webkitdirectory
      onChange=${(event: Event) => {
        const list = fieldFiles(event);
        if (list.length > 0) void readList(list).then(onFolder);
      }}
  /></label>`;
}
