// The files as they are edited. Edits can be undone: each is kept with the files before it and after it.
import type { EditedFile, TextFile } from '../worker/protocol.js';

type Files = readonly TextFile[];

interface Step {
  readonly before: Files;
  readonly after: Files;
  /** Typing in one file is one step as long as nothing else happens. */
  readonly file: string | null;
}

export interface Edits {
  /** What the edits began with. */
  readonly opened: Files;
  readonly files: Files;
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

export function startEdits(files: Files): Edits {
  return { opened: files, files, done: [], undone: [] };
}

/** Steps that are kept. */
const KEPT = 200;

/** Joins what was typed into the same file before. */
export function setFile({ opened, files, done }: Edits, typed: TextFile): Edits {
  const last = done.at(-1);
  const [before, earlier] = last?.file === typed.path ? [last.before, done.slice(0, -1)] : [files, done];
  const isKnown = files.some(({ path }) => path === typed.path);
  const after = isKnown ? files.map((file) => (file.path === typed.path ? typed : file)) : [...files, typed];
  const step = { before, after, file: typed.path };
  return { opened, files: after, done: [...earlier, step].slice(-KEPT), undone: [] };
}

/** Several files in one step. Null if one of them is not what it was. */
export function setFiles({ opened, files, done }: Edits, edited: readonly EditedFile[]): Edits | null {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  if (edited.some(({ path, before }) => texts.get(path) !== before)) return null;
  const news = new Map(edited.map(({ path, text }) => [path, { path, text }]));
  const after = files.map((file) => news.get(file.path) ?? file);
  return { opened, files: after, done: [...done, { before: files, after, file: null }].slice(-KEPT), undone: [] };
}

export function undo(edits: Edits): Edits {
  const { opened, done, undone } = edits;
  const last = done.at(-1);
  if (last === undefined) return edits;
  return { opened, files: last.before, done: done.slice(0, -1), undone: [...undone, last] };
}

export function redo(edits: Edits): Edits {
  const { opened, done, undone } = edits;
  const last = undone.at(-1);
  if (last === undefined) return edits;
  return { opened, files: last.after, done: [...done, { ...last, file: null }], undone: undone.slice(0, -1) };
}
