// The files of the policy: a text to edit, and every mistake as it is typed.
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Diagnostic } from '../../../engine/compiler.js';
import type { TextFile } from '../worker/protocol.js';
import { fieldValue, html } from './html.js';
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
}

const LISTED = 50;

export function FilesPane({ files, diagnostics, spot, onSpot, onText }: FilesPaneProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const file = files.find(({ path }) => path === spot.file) ?? files[0];
  const text = file?.text ?? '';
  const lines = text.split('\n').length;
  const bad = new Set(diagnostics.filter(({ severity }) => severity === 'error').map((found) => found.file));
  useEffect(() => {
    const area = field.current;
    if (area === null || spot.line < 1) return;
    const before = text
      .split('\n')
      .slice(0, spot.line - 1)
      .join('\n').length;
    area.setSelectionRange(before, before);
    if (box.current !== null) box.current.scrollTop = Math.max(0, (spot.line - 4) * 19.5);
    // Only when a place was chosen, not while its text is edited.
  }, [spot]);
  return html`<section class="left" aria-label="Files of the policy">
    <div class="files" role="group" aria-label="Files">
      ${files.map(
        ({ path }) =>
          html`<button
            type="button"
            key=${path}
            class=${bad.has(path) ? 'bad' : ''}
            aria-pressed=${String(path === file?.path)}
            onClick=${() => {
              onSpot({ file: path, line: 0 });
            }}
          >
            ${plain(path)}${bad.has(path) ? ' (has mistakes)' : ''}
          </button>`,
      )}
    </div>
    <div class="editor" ref=${box}>
      <pre aria-hidden="true">${Array.from({ length: lines }, (_, i) => i + 1).join('\n')}</pre>
      <textarea
        ref=${field}
        spellcheck="false"
        autocapitalize="off"
        rows=${lines + 1}
        aria-label=${`Text of ${file?.path ?? ''}`}
        value=${text}
        onInput=${(event: Event) => {
          if (file !== undefined) onText({ path: file.path, text: fieldValue(event) });
        }}
      ></textarea>
    </div>
    <ul class="found" aria-label="Findings" aria-live="polite">
      ${diagnostics.length === 0 && html`<li class="good">No mistakes.</li>`}
      ${diagnostics.slice(0, LISTED).map(
        ({ code, severity, file: where, range, message, help }, i) =>
          html`<li key=${i}>
            <span class=${severity === 'error' ? 'error' : 'warning'}>${severity}</span>
            <code>${code}</code> ${' '}<button
              type="button"
              onClick=${() => {
                onSpot({ file: where, line: range.start.line });
              }}
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
