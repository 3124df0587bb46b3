// Reads one log for a checkpoint or for the proof of one event: size and root of its tree, and the path of a line
// (docs/proofs.md).
import { BEGINNING } from './chain.js';
import { checkChain, type Fault } from './check-chain.js';
import { findParts } from './log-parts.js';
import { leafHash, makePath, makeTree, type TreeHash } from '../signing/merkle.js';
import { readFiles } from './read-log.js';

export interface LogMeasure {
  /** What is wrong with the log. Nothing may be signed about it then. */
  readonly faults: readonly Fault[];
  readonly size: number;
  readonly root: TreeHash;
  /** The roots when the log had the sizes that were asked for. */
  readonly roots: ReadonlyMap<number, TreeHash>;
  /** By their index, the lines that were asked for, as far as the tree has them. */
  readonly lines: ReadonlyMap<number, { readonly line: string; readonly path: readonly TreeHash[] }>;
}

interface MeasureOptions {
  /** Where archived files are. */
  readonly archive: string | null;
  /** Sizes at which the root is wanted. */
  readonly sizes?: readonly number[];
  /** The lines whose paths are wanted, in the tree of this size. */
  readonly places?: { readonly indexes: readonly number[]; readonly size: number };
}

/** Null if the folder has no such log. Rejects if the folder cannot be read. */
export async function measureLog(
  folder: string,
  log: string,
  { archive, sizes = [], places = { indexes: [], size: 0 } }: MeasureOptions,
): Promise<LogMeasure | null> {
  const faults: Fault[] = [];
  const report = (fault: Fault): void => {
    if (fault.kind !== 'late') faults.push(fault);
  };
  const parts = (await findParts(folder, { archive, report })).parts.get(log);
  if (parts === undefined) return null;
  const check = checkChain(log, { report, after: BEGINNING });
  const tree = makeTree();
  const roots = new Map<number, TreeHash>();
  const paths = new Map(places.indexes.map((index) => [index, makePath(index, places.size)]));
  const found = new Map<number, string>();
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1];
    check.begin(next !== undefined && 'first' in next ? next.first : null);
    if ('skipTo' in part) {
      const text = 'older files are elsewhere: name their folder with --archive';
      report({ log, seq: 1, kind: 'archived', text });
      break;
    }
    for await (const { lines, torn } of readFiles([part])) {
      for (const text of lines) {
        if (check.isLate(text)) continue;
        const leaf = leafHash(text ?? '');
        check.line(text);
        if (paths.has(tree.size()) && text !== null) found.set(tree.size(), text);
        if (tree.size() < places.size) for (const path of paths.values()) path.push(leaf);
        tree.push(leaf);
        if (sizes.includes(tree.size())) roots.set(tree.size(), tree.root());
      }
      if (torn > 0) check.torn(part.path, torn);
    }
  }
  const lines = new Map([...found].map(([index, line]) => [index, { line, path: paths.get(index)?.path() ?? [] }]));
  return { faults, size: tree.size(), root: tree.root(), roots, lines };
}
