// What the page holds. Edits of files can be undone: each is kept as the patches that lead there and back.
import { applyPatches, enablePatches, type Patch, produceWithPatches } from 'immer';
import { CLOSED } from '../map/axis.js';
import type { View } from '../map/picture.js';
import type { TextFile } from '../worker/protocol.js';

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
  readonly draft: Draft;
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

export function startEdits(files: readonly TextFile[]): Edits {
  return { draft: { files }, done: [], undone: [] };
}

/** Steps that are kept. */
const KEPT = 200;

/** Joins what was typed into the same file before. */
export function setFile({ draft, done }: Edits, { path, text }: TextFile): Edits {
  const last = done.at(-1);
  const joins = last?.file === path;
  const from = joins ? applyPatches(draft, [...last.back]) : draft;
  const [changed, there, back] = produceWithPatches(from, (next) => {
    const known = next.files.find((file) => file.path === path);
    if (known === undefined) next.files.push({ path, text });
    else known.text = text;
  });
  const step = { there, back, file: path };
  return { draft: changed, done: [...(joins ? done.slice(0, -1) : done), step].slice(-KEPT), undone: [] };
}

export function undo({ draft, done, undone }: Edits): Edits {
  const last = done.at(-1);
  if (last === undefined) return { draft, done, undone };
  return { draft: applyPatches(draft, [...last.back]), done: done.slice(0, -1), undone: [...undone, last] };
}

export function redo({ draft, done, undone }: Edits): Edits {
  const last = undone.at(-1);
  if (last === undefined) return { draft, done, undone };
  return {
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
