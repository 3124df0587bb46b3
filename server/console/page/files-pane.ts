// The files of the policy: a text to edit, and every mistake as it is typed.
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Diagnostic } from '../../../engine/compiler.js';
import type { SaidLine } from '../../authoring/about.js';
import type { Choice } from '../../authoring/complete.js';
import type { TextFile } from '../worker/protocol.js';
import { type EditorHost, type EditorPosition, type FileEditor, loadEditor } from './editor-host.js';
import { call, html, withText } from './html.js';
import { countText, plain } from './words.js';

export interface Spot {
  readonly file: string;
  readonly line: number;
}

export interface FilesPaneProps {
  readonly files: readonly TextFile[];
  readonly diagnostics: readonly Diagnostic[];
  readonly spot: Spot;
  readonly onSpot: (spot: Spot) => void;
  readonly onText: (file: TextFile) => void;
  /** Whether the page has time for the editor by now. */
  readonly isReady: boolean;
  readonly onComplete: (file: string, text: string, place: EditorPosition) => Promise<readonly Choice[]>;
  readonly onAbout: (file: string, place: EditorPosition) => Promise<readonly SaidLine[] | null>;
}

const LISTED = 50;

export function FilesPane(props: FilesPaneProps): VNode {
  const { files, diagnostics, spot, onSpot, onText, isReady } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const parent = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<FileEditor | null>(null);
  const file = files.find(({ path }) => path === spot.file) ?? files[0];
  const text = file?.text ?? '';
  const lines = text.split('\n').length;
  const bad = new Set(diagnostics.filter(({ severity }) => severity === 'error').map((found) => found.file));
  const latest = useRef({ props, path: '' });
  latest.current = { props, path: file?.path ?? '' };
  useEffect(() => {
    if (!isReady || editor !== null || parent.current === null) return;
    const host: EditorHost = {
      onText: (typed) => {
        latest.current.props.onText(typed);
      },
      complete: (typed, place) => latest.current.props.onComplete(latest.current.path, typed, place),
      about: (place) => latest.current.props.onAbout(latest.current.path, place),
    };
    setEditor(loadEditor()?.(parent.current, host) ?? null);
  }, [isReady]);
  useLayoutEffect(() => {
    if (editor === null || file === undefined) return;
    editor.show(file);
    editor.mark(diagnostics);
  }, [editor, file, diagnostics]);
  useEffect(() => {
    list.current?.querySelector('[aria-pressed=true]')?.scrollIntoView({ block: 'nearest' });
    if (editor !== null && spot.line > 0) editor.goTo(spot.line);
    const area = field.current;
    if (area === null || spot.line < 1) return;
    const before = text
      .split('\n')
      .slice(0, spot.line - 1)
      .join('\n').length;
    area.setSelectionRange(before, before);
    if (box.current !== null) box.current.scrollTop = Math.max(0, (spot.line - 4) * 19.5);
    // Only when a place was chosen, not while its text is edited.
  }, [spot, editor]);
  return html`<section class="left" aria-label="Files of the policy">
    <div class="files" role="group" ref=${list} aria-label="Files">
      ${files.map(
        ({ path }) =>
          html`<button
            type="button"
            key=${path}
            class=${bad.has(path) ? 'bad' : ''}
            aria-pressed=${String(path === file?.path)}
            onClick=${call(onSpot, { file: path, line: 0 })}
          >
            ${plain(path)}${bad.has(path) ? ' (has mistakes)' : ''}
          </button>`,
      )}
    </div>
    <div class="editor" ref=${parent} hidden=${editor === null}></div>
    <p class="hint faint" hidden=${editor === null}>
      Ctrl+Space completes, Ctrl+I says what a name is, Tab leaves the editor.
    </p>
    ${
      editor === null &&
      html`<div class="editor" ref=${box}>
        <pre aria-hidden="true">${Array.from({ length: lines }, (_, i) => i + 1).join('\n')}</pre>
        <textarea
          ref=${field}
          spellcheck="false"
          autocapitalize="off"
          rows=${lines + 1}
          aria-label=${`Text of ${file?.path ?? ''}`}
          value=${text}
          onInput=${withText((typed) => {
            if (file !== undefined) onText({ path: file.path, text: typed });
          })}
        ></textarea>
      </div>`
    }
    <ul class="found" aria-label="Findings" aria-live="polite">
      ${diagnostics.length === 0 && html`<li class="good">No mistakes.</li>`}
      ${diagnostics.slice(0, LISTED).map(
        ({ code, severity, file: where, range, message, help }, i) =>
          html`<li key=${i}>
            <span class=${severity === 'error' ? 'error' : 'warning'}>${severity}</span>${' '}
            <code>${code}</code> ${' '}<button
              type="button"
              onClick=${call(onSpot, { file: where, line: range.start.line })}
            >
              ${plain(where)}:${range.start.line}
            </button>
            <div>${plain(message)}</div>
            ${help !== undefined && html`<div class="faint">${plain(help)}</div>`}
          </li>`,
      )}
      ${diagnostics.length > LISTED && html`<li class="faint">and ${countText(diagnostics.length - LISTED, 'more finding')}</li>`}
    </ul>
  </section>`;
}
