// What the page holds. Edits of files can be undone: each is kept as the patches that lead there and back.
import { applyPatches, enablePatches, type Patch, produceWithPatches } from 'immer';
import { CLOSED } from '../map/axis.js';
import type { View } from '../map/picture.js';
import type { EditedFile, TextFile } from '../worker/protocol.js';

enablePatches();

export interface Draft {
  readonly files: readonly TextFile[];
}

interface Step {
  readonly there: readonly Patch[];
  readonly back: readonly Patch[];
  /** Typing in one file is one step as long as nothing else happens. */
  readonly file: string | null;
}

export interface Edits {
  /** What the edits began with. */
  readonly opened: Draft;
  readonly draft: Draft;
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

export function startEdits(files: readonly TextFile[]): Edits {
  return { opened: { files }, draft: { files }, done: [], undone: [] };
}

/** Steps that are kept. */
const KEPT = 200;

/** Joins what was typed into the same file before. */
export function setFile({ opened, draft, done }: Edits, { path, text }: TextFile): Edits {
  const last = done.at(-1);
  const joins = last?.file === path;
  const from = joins ? applyPatches(draft, [...last.back]) : draft;
  const [changed, there, back] = produceWithPatches(from, (next) => {
    const known = next.files.find((file) => file.path === path);
    if (known === undefined) next.files.push({ path, text });
    else known.text = text;
  });
  const step = { there, back, file: path };
  return { opened, draft: changed, done: [...(joins ? done.slice(0, -1) : done), step].slice(-KEPT), undone: [] };
}

/** Several files in one step. Null if one of them is not what it was. */
export function setFiles({ opened, draft, done }: Edits, files: readonly EditedFile[]): Edits | null {
  const texts = new Map(draft.files.map(({ path, text }) => [path, text]));
  if (files.some(({ path, before }) => texts.get(path) !== before)) return null;
  const [changed, there, back] = produceWithPatches(draft, (next) => {
    for (const file of next.files) file.text = files.find(({ path }) => path === file.path)?.text ?? file.text;
  });
  return { opened, draft: changed, done: [...done, { there, back, file: null }].slice(-KEPT), undone: [] };
}

export function undo(edits: Edits): Edits {
  const { opened, draft, done, undone } = edits;
  const last = done.at(-1);
  if (last === undefined) return edits;
  return { opened, draft: applyPatches(draft, [...last.back]), done: done.slice(0, -1), undone: [...undone, last] };
}

export function redo(edits: Edits): Edits {
  const { opened, draft, done, undone } = edits;
  const last = undone.at(-1);
  if (last === undefined) return edits;
  return {
    opened,
    draft: applyPatches(draft, [...last.there]),
    done: [...done, { ...last, file: null }],
    undone: undone.slice(0, -1),
  };
}

export function startView(at: number | null): View {
  return {
    grouping: 'people',
    at,
    rows: { all: false, but: ['/'] },
    columns: { all: false, but: [''] },
    searchRows: '',
    searchColumns: '',
  };
}

export const CHANGES_VIEW: View = {
  ...startView(null),
  grouping: 'identities',
  rows: { ...CLOSED, all: true },
  columns: { ...CLOSED, all: true },
};
