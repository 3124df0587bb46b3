// The files of a policy while they are edited: their texts with LF line ends as they are by now, and the lines that were changed. A file
// keeps its own line ends. One that mixes them cannot be edited.
import type { EngineLimits } from '../limits.js';
import { invariant } from '../model/invariant.js';
import type { PolicySet } from '../model/policy-set.js';
import type { SourceFile } from '../source/accept-files.js';
import { readTree } from '../source/read-tree.js';
import { decodeText } from '../source/text.js';
import type { Entry } from '../source/tree.js';
import type { Spliced } from './splices.js';

/** Lines of one file that others take the place of. */
export interface Hunk {
  readonly file: string;
  /** Of the first line, before the edit; counts from 1. */
  readonly line: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export interface PatchedFile {
  readonly path: string;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

export interface EditedFiles {
  readonly set: PolicySet;
  readonly paths: readonly string[];
  /** The top-level entries of a file as it is now. */
  readonly entriesOf: (path: string) => readonly Entry[];
  /** Edits the text of a file. Returns why that cannot be done, or null. */
  readonly edit: (path: string, edit: (text: string) => Spliced) => string | null;
  readonly finish: () => { readonly files: readonly PatchedFile[]; readonly hunks: readonly Hunk[] };
}

export function editFiles(files: readonly SourceFile[], set: PolicySet, limits: EngineLimits): EditedFiles {
  const bytesOf = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const texts = new Map<string, string>();
  const hunks: Hunk[] = [];
  const textOf = (path: string): string => {
    const known = texts.get(path);
    if (known !== undefined) return known;
    const bytes = bytesOf.get(path);
    invariant(bytes !== undefined, 'declarations stand in the files of the policy');
    return decodeText(bytes).text;
  };
  return {
    set,
    paths: [...bytesOf.keys()].filter((path) => path.endsWith('.yaml')),
    entriesOf: (path) => {
      const parsed = readTree({ text: textOf(path), limits, report: () => undefined });
      return parsed.kind === 'tree' && parsed.node.kind === 'mapping' ? parsed.node.entries : [];
    },
    edit: (path, edit) => {
      const before = textOf(path);
      const bytes = bytesOf.get(path);
      invariant(bytes !== undefined, 'declarations stand in the files of the policy');
      if (!texts.has(path) && encode(before, bytes) === null) return `the lines of \`${path}\` end in different ways`;
      const after = edit(before);
      if (after === null) return `a comment inside of what would be replaced in \`${path}\` would be lost`;
      hunks.push(hunkOf(path, before, after));
      texts.set(path, after);
      return null;
    },
    finish: () => ({
      hunks,
      files: [...texts].map(([path, text]) => {
        const from = bytesOf.get(path);
        const to = from === undefined ? null : encode(text, from, 'edited');
        invariant(from !== undefined && to !== null, 'an edited file can be written');
        return { path, from, to };
      }),
    }),
  };
}

/** The bytes of a text with the line ends of the file. For the text of the file itself: null if these are not its bytes. */
function encode(text: string, like: Uint8Array, which: 'own' | 'edited' = 'own'): Uint8Array | null {
  const bytes = new TextEncoder().encode(like.includes(0x0d) ? text.replaceAll('\n', '\r\n') : text);
  const isSame = bytes.length === like.length && bytes.every((byte, i) => byte === like[i]);
  return which === 'edited' || isSame ? bytes : null;
}

function hunkOf(file: string, before: string, after: string): Hunk {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return {
    file,
    line: start + 1,
    removed: old.slice(start, old.length - end),
    added: now.slice(start, now.length - end),
  };
}
