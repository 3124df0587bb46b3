// Why, about what runs. A gateway has no files of its policy: with the folder that it was compiled from, an edit can be applied in the page, and
// its patch taken away. What runs stays as it is.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { FolderPicker } from '../page/file-picker.js';
import { call, html } from '../page/html.js';
import { OwnEdits } from '../page/own-edits.js';
import { type Edits, setFiles, startEdits, undo } from '../page/state.js';
import { usePolicy } from '../page/use-policy.js';
import { WhyPane, type WhyPaneProps } from '../page/why-pane.js';
import { plain } from '../page/words.js';
import type { AnyEdit, TextFile } from '../worker/protocol.js';

export interface FolderWhyProps extends Omit<WhyPaneProps, 'onApply' | 'children' | 'snapshot'> {
  /** The digest of what runs. */
  readonly running: string;
  readonly script: string;
  /** Called with the digest of what the answers are about as soon as that is not what runs; null if it is. */
  readonly onEdited: (digest: string | null) => void;
}

const NO_FILES =
  'A gateway has no files of its policy. Open the folder of the policy to apply one of these and to get its patch.';

export function FolderWhy({ running, script, onEdited, ...asked }: FolderWhyProps): VNode {
  const policy = usePolicy(script, asked.at);
  const [edits, setEdits] = useState<Edits>(startEdits([]));
  const [note, setNote] = useState<string | null>(null);
  const { engine, facts, version, opened, diagnostics, proofs, compared } = policy;
  const isSame = opened === running && facts !== null;
  const edited = isSame && edits.done.length > 0 ? (proofs?.snapshot ?? 'computing the digest…') : null;
  useEffect(() => {
    onEdited(edited);
  }, [edited]);
  const open = (read: readonly TextFile[] | string): void => {
    setNote(typeof read === 'string' ? `Nothing was opened: ${read}.` : null);
    if (typeof read === 'string') return;
    setEdits(startEdits(read));
    policy.read('open', read);
  };
  const edit = (next: Edits): void => {
    setEdits(next);
    policy.read('edit', next.files);
  };
  const apply = async ({ change }: AnyEdit): Promise<string | null> => {
    const answer = await engine.ask({ kind: 'apply', change });
    if (answer.kind !== 'applied') return answer.kind === 'refused' ? answer.message : null;
    const next = setFiles(edits, answer.files);
    if (next === null) return 'the files are other ones by now: look again';
    edit(next);
    return null;
  };
  const about = isSame ? { engine, facts, version, snapshot: proofs?.snapshot ?? null } : { snapshot: running };
  const hasFolder = edits.opened.length > 0;
  const isWrong = diagnostics.some(({ severity }) => severity === 'error');
  return html`<${WhyPane} key=${String(isSame)} ...${asked} ...${about} onApply=${isSame ? apply : NO_FILES}>
    <section aria-label="The folder of the policy">
      <div class="bar">
        <${FolderPicker} text="Open the folder of the policy" onFolder=${open} />
        ${hasFolder && html`<span class=${!isSame && opened !== null ? 'warning' : 'faint'} role="status">${isWrong ? WRONG : stateText(running, opened)}</span>`}
      </div>
      ${note !== null && html`<p class="bad" role="alert">${plain(note)}</p>`}
    </section>
    <${OwnEdits}
      edits=${edits}
      compared=${compared}
      proofs=${proofs}
      isFolded=${false}
      onShow=${null}
      onUndo=${call(edit, undo(edits))}
    />
  <//>`;
}

const WRONG = 'This folder has mistakes, which `bailiwick check` lists. Nothing of it is used.';

function stateText(running: string, opened: string | null): string {
  if (opened === null) return 'Reading the folder…';
  if (opened === running) return 'This folder is what runs. An edit is made in the page alone.';
  return `This folder is not what runs: compiled, it is ${opened}. Nothing of it is used.`;
}
