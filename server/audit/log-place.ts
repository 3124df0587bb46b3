// Reads on in a log from a place where a reader was before, and checks that the lines follow one another.
import { BEGINNING } from './chain.js';
import { checkChain, type Fault } from './check-chain.js';
import { listLogs } from './log-files.js';
import {
  EMPTY,
  type Frontier,
  type Grown,
  isFrontier,
  isGrown,
  leafHash,
  makeTree,
  type TreeHash,
} from '../signing/merkle.js';
import { readFiles } from './read-log.js';

/** A place between two lines, and the tree of those before it. */
export interface LogPlace {
  readonly tree: Frontier;
  /** Of the last line before it. */
  readonly hash: string;
  /** The number of the first event of the file that it is in, and how many of its bytes are before it. */
  readonly file: number;
  readonly bytes: number;
}

export const START: LogPlace = Object.freeze({ tree: EMPTY, hash: BEGINNING.hash, file: 1, bytes: 0 });

/** Lines that a reader needs are elsewhere, or are not those of the log. */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
}

/** The file with these lines was moved away. */
export class LogAwayError extends LogGapError {}

interface Reading {
  readonly folder: string;
  readonly log: string;
  readonly from: LogPlace;
  /** How many events are before the place to go to. */
  readonly to: number;
  readonly onLeaf?: (leaf: TreeHash) => void;
}

/** Throws `LogGapError`, and rejects if the files cannot be read. */
export async function readOn({ folder, log, from, to, onLeaf }: Reading): Promise<LogPlace> {
  if (from.tree.size === to) return from;
  const files = (await listLogs(folder)).get(log) ?? [];
  const here = files.findIndex(({ first }) => first === from.file);
  // The file may have been moved away once it was read to its end.
  const start = here >= 0 ? here : files.findIndex(({ first }) => first === from.tree.size + 1);
  if (start < 0) throw new LogAwayError(`the file with event ${String(from.tree.size + 1)} is not in the folder`);
  const faults: Fault[] = [];
  const report = (fault: Fault): void => {
    if (fault.kind !== 'late') faults.push(fault);
  };
  const check = checkChain(log, { report, after: { seq: from.tree.size, hash: from.hash } });
  const tree = makeTree(from.tree);
  let [file, bytes] = here >= 0 ? [from.file, from.bytes] : [from.tree.size + 1, 0];
  const begin = (index: number): void => {
    check.begin(files[index + 1]?.first ?? null);
  };
  begin(start);
  for await (const group of readFiles(files.slice(start), bytes)) {
    if (group.file.first !== file) {
      [file, bytes] = [group.file.first, 0];
      begin(files.indexOf(group.file));
    }
    for (const text of group.lines) {
      if (check.isLate(text)) continue;
      const line = check.line(text);
      const [fault] = faults;
      if (fault !== undefined || text === null || line === null)
        throw new LogGapError(fault?.text ?? 'a line is not an event');
      const leaf = leafHash(text);
      tree.push(leaf);
      onLeaf?.(leaf);
      bytes += Buffer.byteLength(text) + 1;
      if (tree.size() === to) return { tree: tree.frontier(), hash: line.hash, file, bytes };
    }
  }
  throw new LogGapError(`the log ends after event ${String(tree.size())}`);
}

export function placeText({ tree, hash, file, bytes }: LogPlace): string {
  return `${JSON.stringify({ size: tree.size, hash, file, bytes, roots: encoded(tree.roots) })}\n`;
}

/** Null for a text that `placeText` would not write. */
export function parsePlace(text: string): LogPlace | null {
  const [, size, hash = '', file, bytes, roots = ''] = PLACE.exec(text) ?? [];
  if (size === undefined) return null;
  const tree = { size: Number(size), roots: decoded(roots) };
  const place = { tree, hash, file: Number(file), bytes: Number(bytes) };
  return placeText(place) === text && isFrontier(place.tree) ? place : null;
}

/** A place, and how the log has grown there since each witness signed it. */
export interface KeptPlace {
  readonly place: LogPlace;
  /** By the key of the witness. */
  readonly grown: ReadonlyMap<string, Grown>;
}

export function keptText({ place, grown }: KeptPlace): string {
  const lines = [...grown].map(([witness, { old, roots }]) =>
    JSON.stringify({ witness, size: old, roots: encoded(roots) }),
  );
  return `${placeText(place)}${lines.map((line) => `${line}\n`).join('')}`;
}

/** Null if the first line is no place. Of the others, those are left out that are not of the same tree. */
export function parseKept(text: string): KeptPlace | null {
  const [first = '', ...lines] = text.split('\n');
  const place = parsePlace(`${first}\n`);
  if (place === null) return null;
  const { tree } = place;
  const grown = lines.flatMap((line): [string, Grown][] => {
    const [, witness, old, roots = ''] = GROWN.exec(line) ?? [];
    const one = { old: Number(old), size: tree.size, roots: decoded(roots) };
    return witness !== undefined && isGrown(one, tree) ? [[witness, one]] : [];
  });
  return { place, grown: new Map(grown) };
}

const encoded = (roots: readonly TreeHash[]): readonly string[] => roots.map((root) => root.toString('base64'));
const decoded = (roots: string): readonly TreeHash[] =>
  [...roots.matchAll(/[^",]+/g)].map(([root]) => Buffer.from(root, 'base64'));

const PLACE =
  /^\{"size":(\d{1,15}),"hash":"(sha256:[0-9a-f]{64})","file":(\d{1,15}),"bytes":(\d{1,15}),"roots":\[([A-Za-z0-9+/=",]*)\]\}\n$/;
const GROWN = /^\{"witness":"([A-Za-z0-9+/=]+)","size":(\d{1,15}),"roots":\[([A-Za-z0-9+/=",]*)\]\}$/;
