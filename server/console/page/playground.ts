// The playground: files on the left, questions on the right. The policy never leaves the page.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CHANGES_VIEW, startView, type View } from '../map/picture.js';
import type { AnyEdit, Facts, Proofs, TextFile, WhyQuestion } from '../worker/protocol.js';
import { ChangesPane } from './changes-pane.js';
import { ChecksPane } from './checks-pane.js';
import { DecidePane } from './decide-pane.js';
import type { EditorPosition } from './editor-host.js';
import { FilePicker, FolderPicker } from './file-picker.js';
import { FilesPane, type Spot } from './files-pane.js';
import { save } from './copies.js';
import { Choice } from './fields.js';
import { call, html } from './html.js';
import { MapPane } from './map-pane.js';
import { mount, textIn } from './mount.js';
import { readDrop } from './open-files.js';
import { firstChange, OwnEdits } from './own-edits.js';
import { PersonPane } from './person-pane.js';
import { type Edits, redo, setFile, setFiles, startEdits, undo } from './state.js';
import { Seal } from './seal.js';
import { TabList } from './tab-list.js';
import { usePolicy } from './use-policy.js';
import { countText, plain } from './words.js';
import { WhyPane } from './why-pane.js';

interface Example {
  readonly name: string;
  readonly files: readonly TextFile[];
}

type Tab = 'map' | 'changes' | 'person' | 'why' | 'decide' | 'checks';

const TABS: readonly (readonly [tab: Tab, title: string])[] = [
  ['map', 'Who and where'],
  ['changes', 'What changed'],
  ['person', 'One person'],
  ['why', 'Why'],
  ['decide', 'Requests'],
  ['checks', 'Tests and guardrails'],
];

const TYPING = 250;
const NO_FILES =
  'A snapshot has no files to edit. Open the folder of the policy to apply one of these and to get its patch.';
const MISTAKES = 'The files have mistakes. Correct them to apply one of these.';

function Playground({ examples, script }: { readonly examples: readonly Example[]; readonly script: string }): VNode {
  // A page shows one instant: that at which it was opened, until the reader chooses another.
  const [now] = useState(() => Math.floor(Date.now() / 1000) * 1000);
  const [name, setName] = useState('');
  const [edits, setEdits] = useState<Edits>(startEdits([]));
  const [spot, setSpot] = useState<Spot>({ file: 'policy.yaml', line: 0 });
  const [tab, setTab] = useState<Tab>('map');
  const [view, setView] = useState<View>(startView(now));
  const [changes, setChanges] = useState<View>(CHANGES_VIEW);
  const [who, setWho] = useState('');
  const [question, setQuestion] = useState<WhyQuestion>({ who: '', scope: 'resource:write', namespace: '' });
  const [requests, setRequests] = useState<string | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const policy = usePolicy(script, now);
  const { engine, working, diagnostics, facts, proofs, compiled, compared, version } = policy;
  // Whoever waits for an answer goes on with what was typed meanwhile: nothing of it may be lost.
  const latest = useRef(edits);
  latest.current = edits;
  /** The files that the engine has. */
  const sent = useRef<readonly TextFile[]>([]);

  const open = ({ name: called, files }: Example): void => {
    setName(called);
    setEdits(startEdits(files));
    setView(startView(now));
    setChanges(CHANGES_VIEW);
    setSpot({ file: 'policy.yaml', line: 0 });
    setNote(null);
    sent.current = files;
    policy.read('open', files);
  };
  const openSnapshot = async (file: File): Promise<void> => {
    const fault = await policy.openSnapshot(new Uint8Array(await file.arrayBuffer()));
    if (fault !== null) {
      setNote(`Nothing was opened: ${fault}.`);
      return;
    }
    setName(file.name);
    setEdits(startEdits([]));
    setView(startView(now));
    setNote(null);
  };
  const take = (called: string, read: readonly TextFile[] | string): void => {
    if (typeof read === 'string') setNote(`Nothing was opened: ${read}.`);
    else open({ name: called, files: read });
  };
  /** A folder, or one file that this page or `compile` saved. */
  const drop = async (data: DataTransfer): Promise<void> => {
    const [file, ...others] = data.files;
    if (file === undefined || others.length > 0 || !file.name.endsWith('.json')) {
      take('dropped folder', await readDrop(data));
      return;
    }
    const shared = readShared(await file.text());
    if (typeof shared === 'string') await openSnapshot(file);
    else take(file.name, shared);
  };
  const { files } = edits;
  const isEdited = edits.done.length > 0 || edits.undone.length > 0;
  const send = (): void => {
    sent.current = files;
    policy.read('edit', files);
  };
  useEffect(() => {
    if (!isEdited || sent.current === files) return undefined;
    const wait = setTimeout(send, TYPING);
    return () => {
      clearTimeout(wait);
    };
  }, [files]);
  useEffect(() => {
    const [first] = examples;
    if (first !== undefined) open(first);
  }, []);

  const apply = async ({ change }: AnyEdit): Promise<string | null> => {
    if (sent.current !== files) send();
    const answer = await engine.ask({ kind: 'apply', change });
    if (answer.kind !== 'applied') return answer.kind === 'refused' ? answer.message : null;
    const next = setFiles(latest.current, answer.files);
    if (next === null) return 'the files were edited meanwhile: look again';
    setEdits(next);
    const [file] = answer.files;
    if (file !== undefined) setSpot({ file: file.path, line: firstChange(file) });
    return null;
  };
  const ask = (asked: WhyQuestion): void => {
    setQuestion(asked);
    setTab('why');
  };
  const ownEdits = html`<${OwnEdits}
    edits=${edits}
    compared=${compared}
    proofs=${proofs}
    onUndo=${call(setEdits, undo(edits))}
    isFolded=${tab === 'changes'}
    onShow=${call(setTab, 'changes')}
  />`;
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return html`<div
    class="page"
    onDragOver=${(event: DragEvent) => {
      event.preventDefault();
    }}
    onDrop=${(event: DragEvent) => {
      event.preventDefault();
      if (event.dataTransfer === null) return;
      drop(event.dataTransfer).catch((error: unknown) => {
        setNote(`Nothing was opened: ${String(error)}.`);
      });
    }}
  >
    <a class="skip" href="#answers">Skip to the answers</a>
    <header>
      <h1>Bailiwick playground</h1>
      <${Choice}
        title="Policy"
        value=${name}
        of=${examples.map((example) => example.name)}
        onValue=${(wanted: string) => {
          const chosen = examples.find((example) => example.name === wanted);
          if (chosen !== undefined) open(chosen);
        }}
      >
        ${examples.some((example) => example.name === name) ? null : html`<option value=${name}>${name}</option>`}
      <//>
      <${FolderPicker}
        text="Open a folder"
        onFolder=${(read: readonly TextFile[] | string) => {
          take('opened folder', read);
        }}
      />
      <button type="button" disabled=${edits.done.length === 0} onClick=${call(setEdits, undo(edits))}>Undo</button>
      <button type="button" disabled=${edits.undone.length === 0} onClick=${call(setEdits, redo(edits))}>Redo</button>
      <button
        type="button"
        onClick=${() => {
          save('policy.playground.json', `${JSON.stringify({ name, files }, null, 1)}\n`, 'application/json');
        }}
      >
        Share as a file
      </button>
      <${FilePicker}
        text="Open a shared file"
        onFile=${(file: File) => {
          void file.text().then((text) => {
            take(file.name, readShared(text));
          });
        }}
      />
      <${FilePicker} text="Open a snapshot" onFile=${(file: File) => void openSnapshot(file)} />
      <span class="working" role="status"
        >${working === null ? '' : html`${working.doing} <progress max="1" value=${working.done === 0 ? undefined : working.done}></progress>`}</span
      >
      ${(tab !== 'changes' || compared === null) && html`<${Seal} digests=${[['', compiled ?? sealText(facts, proofs)]]} at=${view.at} />`}
    </header>
    ${[note, policy.fault].map((text) => text !== null && html`<p class="bad" role="alert">${plain(text)}</p>`)}
    <div class="split">
      ${
        compiled !== null
          ? html`<section class="left panel" aria-label="Files of the policy">
              <p>
                A snapshot is what a gateway decides by. It has the grants and roles, and neither the files that they
                come from nor people, tests and guardrails.
              </p>
              <p>Open the folder of the policy to change it.</p>
            </section>`
          : html`<${FilesPane}
              files=${files}
              diagnostics=${diagnostics}
              spot=${spot}
              onSpot=${setSpot}
              onText=${(file: TextFile) => {
                setEdits((before) => setFile(before, file));
              }}
              isReady=${version > 0 || errors > 0}
              onComplete=${async (file: string, text: string, place: EditorPosition) => {
                const answer = await engine.ask({ kind: 'complete', file, text, place });
                return answer.kind === 'choices' ? answer.choices : [];
              }}
              onAbout=${async (file: string, place: EditorPosition) => {
                const answer = await engine.ask({ kind: 'about', file, place, at: view.at ?? now });
                return answer.kind === 'said' ? answer.said : null;
              }}
            />`
      }
      <main class="right" id="answers" tabindex="-1">
        <${TabList} tabs=${TABS} tab=${tab} label="Questions" onTab=${setTab} />
        ${errors > 0 && html`<p class="bad bar" role="status">The files have ${countText(errors, 'mistake')}. What is shown is the last policy without mistakes.</p>`}
        <div id="pane" class="right" role="tabpanel" tabindex="0" aria-labelledby=${`tab-${tab}`}>
          ${facts !== null && tab === 'map' && html`<${MapPane} engine=${engine} subject="rights" version=${version} scopes=${facts.scopes} instants=${facts.instants} now=${now} view=${view} onView=${setView} onWhy=${ask} />`}
          ${
            compiled !== null &&
            tab === 'changes' &&
            html`<div class="panel">
              <p>
                Nothing can be changed in a snapshot. Open the folder of the policy, or compare two snapshots with
                <code>bailiwick diff</code>.
              </p>
            </div>`
          }
          ${
            facts !== null &&
            compared !== null &&
            tab === 'changes' &&
            html`<${ChangesPane}
              engine=${engine}
              compared=${compared}
              digests=${[
                ['before', policy.opened ?? 'computing the digest…'],
                ['after', sealText(facts, proofs)],
              ]}
              version=${version}
              scopes=${facts.scopes}
              instants=${facts.instants}
              view=${changes}
              onView=${setChanges}
            />`
          }
          ${facts !== null && tab === 'person' && html`<${PersonPane} engine=${engine} facts=${facts} version=${version} at=${view.at ?? now} who=${who} onWho=${setWho} />`}
          ${facts !== null && tab === 'why' && html`<${WhyPane} engine=${engine} facts=${facts} snapshot=${compiled ?? proofs?.snapshot ?? null} version=${version} at=${view.at ?? now} question=${question} onQuestion=${setQuestion} onApply=${compiled !== null ? NO_FILES : errors > 0 ? MISTAKES : apply}>${ownEdits}<//>`}
          ${facts !== null && tab === 'decide' && html`<${DecidePane} engine=${engine} facts=${facts} version=${version} at=${view.at ?? now} requests=${requests} onRequests=${setRequests} />`}
          ${facts !== null && compared !== null && tab === 'changes' && ownEdits}
          ${tab === 'checks' && compiled !== null && html`<div class="panel"><p>A snapshot holds neither tests nor guardrails: it was made after they had passed. Open the folder of the policy to see them.</p></div>`}
          ${tab === 'checks' && compiled === null && (proofs === null ? html`<p class="panel faint">The checks are running.</p>` : html`<${ChecksPane} proofs=${proofs} onSpot=${setSpot} />`)}
        </div>
      </main>
    </div>
  </div>`;
}

function sealText(facts: Facts | null, proofs: Proofs | null): string {
  if (facts === null) return 'no policy yet';
  return proofs === null ? 'computing the digest…' : proofs.snapshot;
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

mount(html`<${Playground} script=${textIn('engine')} examples=${examplesIn(textIn('own'), textIn('examples'))} />`);
