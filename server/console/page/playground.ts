// The playground: files on the left, questions on the right. The policy never leaves the page.
import { render, type VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Diagnostic } from '../../../engine/compiler.js';
import type { View } from '../map/picture.js';
import type { Compared, Facts, TextFile } from '../worker/protocol.js';
import { ChangesPane } from './changes-pane.js';
import { ChecksPane } from './checks-pane.js';
import { startEngine, type Working } from './engine.js';
import { FilesPane, type Spot } from './files-pane.js';
import { fieldFiles, fieldValue, html } from './html.js';
import { MapPane } from './map-pane.js';
import { readDrop, readList } from './open-files.js';
import { PersonPane } from './person-pane.js';
import { CHANGES_VIEW, type Edits, redo, setFile, startEdits, startView, undo } from './state.js';
import { save } from './table.js';
import { countText, instantText, plain } from './words.js';
import { WhyPane, type WhyQuestion } from './why-pane.js';

interface Example {
  readonly name: string;
  readonly files: readonly TextFile[];
}

type Tab = 'map' | 'changes' | 'person' | 'why' | 'checks';

const TABS: readonly (readonly [tab: Tab, title: string])[] = [
  ['map', 'Who and where'],
  ['changes', 'What changed'],
  ['person', 'One person'],
  ['why', 'Why'],
  ['checks', 'Tests and guardrails'],
];

const TYPING = 250;

function Playground({ examples, script }: { readonly examples: readonly Example[]; readonly script: string }): VNode {
  const [working, setWorking] = useState<Working | null>(null);
  const engine = useMemo(() => startEngine(script, setWorking), [script]);
  // A page shows one instant: that at which it was opened, until the reader chooses another.
  const [now] = useState(() => Math.floor(Date.now() / 1000) * 1000);
  const [name, setName] = useState('');
  const [edits, setEdits] = useState<Edits>(startEdits([]));
  const [spot, setSpot] = useState<Spot>({ file: 'policy.yaml', line: 0 });
  const [diagnostics, setDiagnostics] = useState<readonly Diagnostic[]>([]);
  const [facts, setFacts] = useState<Facts | null>(null);
  const [compared, setCompared] = useState<Compared | null>(null);
  const [version, setVersion] = useState(0);
  const [tab, setTab] = useState<Tab>('map');
  const [view, setView] = useState<View>(startView(now));
  const [changes, setChanges] = useState<View>(CHANGES_VIEW);
  const [who, setWho] = useState('');
  const [question, setQuestion] = useState<WhyQuestion>({ who: '', scope: 'resource:write', namespace: '' });
  const [note, setNote] = useState<string | null>(null);
  const opened = useRef(0);

  const check = async (kind: 'open' | 'edit', files: readonly TextFile[]): Promise<void> => {
    opened.current += 1;
    const own = opened.current;
    const answer = await engine.ask({ kind, files, at: now });
    if (own !== opened.current || answer.kind !== 'checked') {
      if (answer.kind === 'refused') setNote(answer.message);
      return;
    }
    setDiagnostics(answer.checked.diagnostics);
    if (answer.checked.facts === null) return;
    setFacts(answer.checked.facts);
    setVersion((before) => before + 1);
    const difference = await engine.ask({ kind: 'diff' });
    if (own === opened.current && difference.kind === 'compared') setCompared(difference.compared);
  };
  const open = ({ name: called, files }: Example): void => {
    setName(called);
    setEdits(startEdits(files));
    setFacts(null);
    setCompared(null);
    setView(startView(now));
    setChanges(CHANGES_VIEW);
    setSpot({ file: 'policy.yaml', line: 0 });
    setNote(null);
    void check('open', files);
  };
  const take = (called: string, read: readonly TextFile[] | string): void => {
    if (typeof read === 'string') setNote(`Nothing was opened: ${read}.`);
    else open({ name: called, files: read });
  };
  const { files } = edits.draft;
  const isEdited = edits.done.length > 0 || edits.undone.length > 0;
  useEffect(() => {
    if (!isEdited) return undefined;
    const wait = setTimeout(() => void check('edit', files), TYPING);
    return () => {
      clearTimeout(wait);
    };
  }, [files]);
  useEffect(() => {
    const [first] = examples;
    if (first !== undefined) open(first);
  }, []);

  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return html`<div
    class="page"
    onDragOver=${(event: DragEvent) => {
      event.preventDefault();
    }}
    onDrop=${(event: DragEvent) => {
      event.preventDefault();
      if (event.dataTransfer !== null)
        void readDrop(event.dataTransfer).then((read) => {
          take('dropped folder', read);
        });
    }}
  >
    <a class="skip" href="#answers">Skip to the answers</a>
    <header>
      <h1>Bailiwick playground</h1>
      <label
        >Policy
        <select
          value=${name}
          onChange=${(event: Event) => {
            const chosen = examples.find((example) => example.name === fieldValue(event));
            if (chosen !== undefined) open(chosen);
          }}
        >
          ${examples.some((example) => example.name === name) ? null : html`<option>${name}</option>`}${examples.map((example) => html`<option key=${example.name}>${example.name}</option>`)}
        </select></label
      >
      <label class="open"
        >Open a folder
        <input
          type="file"
          webkitdirectory
          onChange=${(event: Event) => {
            const list = fieldFiles(event);
            if (list.length > 0)
              void readList(list).then((read) => {
                take('opened folder', read);
              });
          }}
      /></label>
      <button
        type="button"
        disabled=${edits.done.length === 0}
        onClick=${() => {
          setEdits(undo(edits));
        }}
      >
        Undo
      </button>
      <button
        type="button"
        disabled=${edits.undone.length === 0}
        onClick=${() => {
          setEdits(redo(edits));
        }}
      >
        Redo
      </button>
      <button
        type="button"
        onClick=${() => {
          save('policy.playground.json', `${JSON.stringify({ name, files }, null, 1)}\n`, 'application/json');
        }}
      >
        Share as a file
      </button>
      <label class="open"
        >Open a shared file
        <input
          type="file"
          accept=".json"
          onChange=${(event: Event) => {
            const [file] = fieldFiles(event);
            if (file !== undefined)
              void file.text().then((text) => {
                take(file.name, readShared(text));
              });
          }}
      /></label>
      <span class="working" role="status"
        >${working === null ? '' : html`${working.doing} <progress max="1" value=${working.done === 0 ? undefined : working.done}></progress>`}</span
      >
      <span class="seal"
        >${facts === null ? 'no policy yet' : `${facts.snapshot.slice(0, 23)}… at ${instantText(view.at)}`}</span
      >
    </header>
    ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
    <div class="split">
      <${FilesPane}
        files=${files}
        diagnostics=${diagnostics}
        spot=${spot}
        onSpot=${setSpot}
        onText=${(file: TextFile) => {
          setEdits(setFile(edits, file));
        }}
      />
      <main class="right" id="answers">
        <div class="tabs" role="tablist" aria-label="Questions">
          ${TABS.map(
            ([key, title]) =>
              html`<button
                type="button"
                role="tab"
                key=${key}
                id=${`tab-${key}`}
                aria-selected=${String(tab === key)}
                aria-controls="pane"
                onClick=${() => {
                  setTab(key);
                }}
              >
                ${title}
              </button>`,
          )}
        </div>
        ${errors > 0 && html`<p class="bad bar" role="status">The files have ${countText(errors, 'mistake')}. What is shown is the last policy without mistakes.</p>`}
        <div id="pane" class="right" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
          ${facts !== null && tab === 'map' && html`<${MapPane} engine=${engine} subject="rights" version=${version} scopes=${facts.scopes} instants=${facts.instants} now=${now} view=${view} onView=${setView} />`}
          ${facts !== null && compared !== null && tab === 'changes' && html`<${ChangesPane} engine=${engine} compared=${compared} version=${version} scopes=${facts.scopes} instants=${facts.instants} view=${changes} onView=${setChanges} />`}
          ${facts !== null && tab === 'person' && html`<${PersonPane} engine=${engine} facts=${facts} version=${version} at=${view.at ?? now} who=${who} onWho=${setWho} />`}
          ${facts !== null && tab === 'why' && html`<${WhyPane} engine=${engine} facts=${facts} version=${version} at=${view.at ?? now} question=${question} onQuestion=${setQuestion} />`}
          ${facts !== null && tab === 'checks' && html`<${ChecksPane} facts=${facts} onSpot=${setSpot} />`}
        </div>
      </main>
    </div>
  </div>`;
}

function readShared(text: string): readonly TextFile[] | string {
  const wrong = 'it is not a file that this page saved';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wrong;
  }
  const files = typeof value === 'object' && value !== null && 'files' in value ? value.files : null;
  if (!Array.isArray(files)) return wrong;
  const read = files.flatMap((file: unknown): readonly TextFile[] =>
    typeof file === 'object' &&
    file !== null &&
    'path' in file &&
    'text' in file &&
    typeof file.path === 'string' &&
    typeof file.text === 'string'
      ? [{ path: file.path, text: file.text }]
      : [],
  );
  return read.length === files.length && read.length > 0 ? read : wrong;
}

/** The policy that `bailiwick playground` put into the page comes first. */
function examplesIn(own: string, shipped: string): readonly Example[] {
  // The build and `bailiwick playground` wrote both, in the very form that this page reads.
  const [put, ...examples] = JSON.parse(`[${own.startsWith('<') ? 'null' : own},${shipped.slice(1)}`) as [
    Example | null,
    ...Example[],
  ];
  return put === null ? examples : [put, ...examples];
}

const [root, script, shipped, own] = ['page', 'engine', 'examples', 'own'].map((id) => document.getElementById(id));
if (root !== null && root !== undefined)
  render(
    html`<${Playground}
      script=${script?.textContent ?? ''}
      examples=${examplesIn(own?.textContent ?? '<', shipped?.textContent ?? '[]')}
    />`,
    root,
  );
