// The editor of policy files: a script of its own, which the page keeps as text until the picture is there. It lives in a shadow root,
// because its styles would otherwise need a hole in the page's content security policy.
import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension, Text, Transaction } from '@codemirror/state';
import {
  activateHover,
  closeHoverTooltips,
  EditorView,
  hasHoverTooltips,
  hoverTooltip,
  type KeyBinding,
  keymap,
  lineNumbers,
  type Tooltip,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Diagnostic, Position } from '../../../engine/compiler.js';
import type { EditorHost, EditorPosition, FileEditor, OpenEditor } from './editor-host.js';
import { plain } from './words.js';

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--read)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: tags.string, color: 'var(--gained)' },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.squareBracket, tags.brace], color: 'var(--faint)' },
]);

const LOOK = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--paper)', fontSize: '13px' },
  '.cm-scroller': { fontFamily: "ui-monospace, 'Liberation Mono', monospace", lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '&.cm-focused .cm-cursor, .cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--faint)', border: '0' },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    maxWidth: '60ch',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--paper)',
  },
  '.cm-completionDetail': { color: 'var(--faint)' },
  '.about': { padding: '4px 8px' },
});

const SEVERITIES = { error: 'error', warning: 'warning', info: 'info' } as const;

function placeOf({ doc }: EditorState, offset: number): EditorPosition {
  const line = doc.lineAt(offset);
  return { line: line.number - 1, character: offset - line.from };
}

/** Of a finding, whose text may be older than the one that is edited. */
function offsetOf({ doc }: EditorState, { line, column }: Position): number {
  const found = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(found.to, found.from + column - 1);
}

function completing({ complete }: EditorHost): (context: CompletionContext) => Promise<CompletionResult | null> {
  return async (context) => {
    const typed = context.matchBefore(/[^\s,[\]{}"']*/);
    if (!context.explicit && (typed === null || typed.text === '')) return null;
    const choices = await complete(context.state.sliceDoc(), placeOf(context.state, context.pos));
    return {
      from: typed?.from ?? context.pos,
      options: choices.map(({ text, about, kind }) => ({
        ...{ label: text, detail: about, apply: kind === 'key' ? `${text}: ` : text },
        type: kind === 'key' ? 'property' : kind === 'namespace' ? 'namespace' : 'constant',
      })),
    };
  };
}

function hovering({ about }: EditorHost): Extension {
  return hoverTooltip(async (view, pos): Promise<Tooltip | null> => {
    const said = await about(placeOf(view.state, pos));
    if (said === null) return null;
    return {
      pos,
      create: () => {
        const dom = document.createElement('div');
        dom.className = 'about';
        for (const parts of said) {
          const line = dom.appendChild(document.createElement('div'));
          for (const { kind, text } of parts)
            line.appendChild(document.createElement(kind === 'text' ? 'span' : kind)).textContent = plain(text);
        }
        return { dom };
      },
    };
  });
}

/** What a pointer shows by resting on a place, a key shows where the caret is. */
const ABOUT: readonly KeyBinding[] = [
  {
    key: 'Mod-i',
    run: (view) => {
      const { head } = view.state.selection.main;
      activateHover(view, head, 1, { until: ({ docChanged, selection }) => docChanged || selection !== undefined });
      return true;
    },
  },
  {
    key: 'Escape',
    run: (view) => {
      if (!hasHoverTooltips(view.state)) return false;
      view.dispatch({ effects: closeHoverTooltips });
      return true;
    },
  },
];

const open: OpenEditor = (parent, host) => {
  const root = parent.attachShadow({ mode: 'open' });
  const box = root.appendChild(document.createElement('div'));
  box.style.height = '100%';
  let file = '';
  let isOwn = false;
  const stateOf = (path: string, text: string): EditorState =>
    EditorState.create({
      doc: text,
      extensions: [
        ...(text.includes('\r\n') ? [EditorState.lineSeparator.of('\r\n')] : []),
        ...[lineNumbers(), history(), yaml(), syntaxHighlighting(COLOURS), lintGutter(), LOOK],
        autocompletion({ override: [completing(host)] }),
        hovering(host),
        // Tab is not among the keys: it leaves the editor, as it leaves every field.
        keymap.of([...ABOUT, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': `Text of ${path}` }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged && !isOwn) host.onText({ path: file, text: state.sliceDoc() });
        }),
      ],
    });
  const view = new EditorView({ parent: box, root });
  const replace = (text: string): void => {
    const before = view.state.sliceDoc();
    if (before === text) return;
    isOwn = true;
    view.dispatch({
      changes: changeOf(before.replaceAll('\r\n', '\n'), text.replaceAll('\r\n', '\n')),
      annotations: Transaction.addToHistory.of(false),
    });
    isOwn = false;
  };
  const editor: FileEditor = {
    show: ({ path, text }) => {
      if (path === file) replace(text);
      else view.setState(stateOf(path, text));
      file = path;
    },
    goTo: (line) => {
      const at = offsetOf(view.state, { line, column: 1 });
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
    },
    mark: (diagnostics: readonly Diagnostic[]) => {
      const own = diagnostics.filter((one) => one.file === file);
      view.dispatch(
        setDiagnostics(
          view.state,
          own.map(({ severity, range, message, help, code }) => ({
            from: offsetOf(view.state, range.start),
            to: Math.max(offsetOf(view.state, range.start), offsetOf(view.state, range.end)),
            ...{ severity: SEVERITIES[severity], source: code },
            message: plain(help === undefined ? message : `${message}; ${help}`),
          })),
        ),
      );
    },
  };
  return editor;
};

/** The part in which two texts differ. */
function changeOf(before: string, text: string): { readonly from: number; readonly to: number; readonly insert: Text } {
  let from = 0;
  while (from < before.length && from < text.length && before[from] === text[from]) from += 1;
  let end = 0;
  while (end < Math.min(before.length, text.length) - from && before.at(-1 - end) === text.at(-1 - end)) end += 1;
  return { from, to: before.length - end, insert: Text.of(text.slice(from, text.length - end).split('\n')) };
}

Object.assign(globalThis, { openEditor: open });
