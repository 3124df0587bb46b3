// `bailiwick fmt` for one file: prints the same policy in the one layout. The result is read again and compared with the original, so
// a file is either formatted without any change of meaning or not touched.
import { ENGINE_LIMITS, type EngineLimits } from '../limits.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { invariant } from '../model/invariant.js';
import { makeSink } from '../diagnostics/report.js';
import { commentsOf } from '../source/comments.js';
import type { SourceFile } from '../source/accept-files.js';
import { readDocument } from '../source/read-document.js';
import { readTree } from '../source/read-tree.js';
import { HEADER, HEADER_FILE, SECTIONS } from '../source/shapes.js';
import { type Node, plainKind, type SourceFault } from '../source/tree.js';
import { makeElements } from './elements.js';
import { printFile } from './print.js';

export type Formatting =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Refuses a file that `check` could not read. Whether its names are declared anywhere does not matter here. */
export function formatFile(file: SourceFile, limits: EngineLimits = ENGINE_LIMITS): Formatting {
  const sink = makeSink(limits);
  const { text } = readDocument(file, { limits, sink });
  if (sink.failed()) return { ok: false, diagnostics: sink.diagnostics() };
  const root = treeOf(text, limits);
  // A file with only comments has nothing to lay out.
  if (root === null) return { ok: true, text };
  const comments = commentsOf(text, root);
  const shape = file.path === HEADER_FILE ? HEADER : SECTIONS;
  const printed = printFile(makeElements(text, root, comments), shape);
  const again = treeOf(printed, limits);
  invariant(again !== null && isSame(root, again), `formatting ${file.path} would change what it says`);
  const kept = commentsOf(printed, again).map((comment) => comment.text);
  const before = comments.map((comment) => comment.text);
  invariant(kept.sort().join('\n') === before.sort().join('\n'), `formatting ${file.path} would lose a comment`);
  return { ok: true, text: printed };
}

function treeOf(text: string, limits: EngineLimits): Node | null {
  const faults: SourceFault[] = [];
  const parsed = readTree({ text, limits, report: (fault) => faults.push(fault) });
  invariant(faults.length === 0 && parsed.kind !== 'broken', 'a formatted file can be read');
  return parsed.kind === 'tree' ? parsed.node : null;
}

/** Equal except for the order of keys and the spelling of strings. */
function isSame(a: Node, b: Node): boolean {
  if (a.kind === 'text') {
    return b.kind === 'text' && a.text === b.text && kindOf(a) === kindOf(b);
  }
  if (a.kind === 'list') {
    return (
      b.kind === 'list' &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => {
        const other = b.items[index];
        return other !== undefined && isSame(item, other);
      })
    );
  }
  if (a.kind !== 'mapping' || b.kind !== 'mapping' || a.entries.length !== b.entries.length) return false;
  const others = new Map(b.entries.map(({ key, value }) => [key.text, value]));
  return a.entries.every(({ key, value }) => {
    const other = others.get(key.text);
    return other !== undefined && isSame(value, other);
  });
}

function kindOf(node: Node & { readonly kind: 'text' }): string {
  return node.plain ? plainKind(node.text) : 'text';
}
