// What the page and its editor know of each other. The editor is a script that the page has as text, and runs when it is needed.
import type { Diagnostic } from '../../../engine/compiler.js';
import type { SaidLine } from '../../authoring/about.js';
import type { Choice } from '../../authoring/complete.js';
import type { TextFile } from '../worker/protocol.js';

/** Both from 0. */
export interface EditorPosition {
  readonly line: number;
  readonly character: number;
}

export interface EditorHost {
  readonly onText: (file: TextFile) => void;
  /** Of the file that is shown, whose text may be newer than the page knows. */
  readonly complete: (text: string, place: EditorPosition) => Promise<readonly Choice[]>;
  readonly about: (place: EditorPosition) => Promise<readonly SaidLine[] | null>;
}

export interface FileEditor {
  readonly show: (file: TextFile) => void;
  /** Lines count from 1. */
  readonly goTo: (line: number) => void;
  readonly mark: (diagnostics: readonly Diagnostic[]) => void;
}

export type OpenEditor = (parent: HTMLElement, host: EditorHost) => FileEditor;

declare global {
  var openEditor: OpenEditor | undefined;
}

/** The page's content security policy allows this script by its hash. Null in a page without an editor. */
export function loadEditor(): OpenEditor | null {
  if (globalThis.openEditor === undefined) {
    const text = document.getElementById('editor')?.textContent;
    if (text === undefined) return null;
    const script = document.createElement('script');
    script.textContent = text;
    document.body.append(script);
  }
  return globalThis.openEditor ?? null;
}
