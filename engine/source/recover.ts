// What a text that is no YAML still says (design 3.2: all mistakes in one run). It is cut where entries seem to begin; each
// is read for itself, its first fault is told, and those without one are checked as if nothing had happened. INVARIANT:
// what is given here is never used as policy, and at least one fault is reported.
import { makeMapping } from './mapping.js';
import type { YamlSource } from './parse.js';
import { joinPieces, partOf, readPiece } from './pieces.js';
import { salvage } from './salvage.js';
import { type LooseEntry, type LoosePiece, splitLoosely } from './split.js';
import { dashMissing, dashWithoutSpace, explainStray, leftOfEntries } from './line-faults.js';
import type { Span } from '../model/span.js';
import type { Entry, Node, SourceFault, TextNode } from './tree.js';

export interface Recovered {
  readonly kind: 'broken';
  /** Null where nothing could be read. */
  readonly node: Node | null;
}

interface Recovery {
  readonly whole: YamlSource;
  readonly tell: (piece: Span, fault: SourceFault) => void;
}

/**
 * `fault` is that of the text as a whole, null where it has been reported and reading on would not end. In a part that is
 * `excused` a fault of its syntax follows from another that has been reported.
 */
export function recoverTree(
  whole: YamlSource,
  fault: SourceFault | null,
  isExcused: (piece: Span) => boolean,
): Recovered {
  if (fault === null) return { kind: 'broken', node: null };
  const told: Span[] = [];
  const tell = (piece: Span, found: SourceFault): void => {
    told.push(piece);
    if (!isExcused(piece)) whole.report(found);
  };
  const read = splitLoosely(whole.text).flatMap((text) => readLoosely({ whole, tell }, text));
  if (told.length === 0) tell({ start: 0, end: whole.text.length }, fault);
  const entries = fault.code === 'YAML_DOCUMENTS' ? joinEqualKeys(read, whole.report) : read;
  if (entries.every((entry) => entry === null)) return { kind: 'broken', node: null };
  return { kind: 'broken', node: makeMapping(entries, { start: 0, end: whole.text.length }, whole.report) };
}

function readLoosely(recovery: Recovery, entry: LooseEntry): readonly (Entry | null)[] {
  const { whole, tell } = recovery;
  const { key, body, start, end } = entry;
  if (key !== null && body !== null) {
    const value = readBody(recovery, keyOf(whole, key), body);
    return [{ key: keyOf(whole, key), value }];
  }
  const text = whole.text.slice(start, end);
  const head = text.split('\n', 1)[0] ?? '';
  // Directives and marks between documents have been reported.
  if (/^(?:%|(?:---|\.\.\.) *(?:#[^\n]*)?$)/.test(head)) return [];
  const parsed = readPiece(partOf(whole, start, end));
  if (parsed.kind === 'broken') {
    const rest = parsed.fault === null ? null : tellAndSalvage(recovery, entry, parsed.fault);
    if (rest?.kind === 'mapping') return rest.partial === true ? [...rest.entries, null] : rest.entries;
    return key === null ? [null] : [{ key: keyOf(whole, key), value: { kind: 'refused', start: key.start, end } }];
  }
  if (parsed.kind === 'empty') return [];
  if (parsed.node.kind === 'mapping')
    return parsed.node.partial === true ? [...parsed.node.entries, null] : parsed.node.entries;
  const stray = parsed.node.kind === 'text' ? explainStray(parsed.node) : null;
  if (stray !== null) tell(entry, stray);
  return [null];
}

/** What a piece says beside its first fault. */
function tellAndSalvage({ whole, tell }: Recovery, piece: Span, first: SourceFault): Node | null {
  tell(piece, first);
  const inner = { ...whole, limits: { ...whole.limits, depth: whole.limits.depth - 1 } };
  return salvage(partOf(inner, piece.start, piece.end), first, (at, fault) => {
    tell({ start: at.start - whole.offset, end: at.end - whole.offset }, fault);
  });
}

function keyOf({ text, offset }: YamlSource, { start, end }: Span): TextNode {
  return { kind: 'text', plain: true, text: text.slice(start, end), start: start + offset, end: end + offset };
}

function readBody(recovery: Recovery, key: TextNode, { kind, pieces }: NonNullable<LooseEntry['body']>): Node {
  if (pieces.length === 0) return { ...key, text: '' };
  const nodes: Node[] = [];
  let isWhole = true;
  for (const piece of pieces) {
    const node = readInBody(recovery, kind, piece);
    if (node !== null) nodes.push(node);
    isWhole &&= node !== null;
  }
  if (nodes.length === 0) return { kind: 'refused', start: key.start, end: key.end };
  const joined = joinPieces(nodes, recovery.whole.report);
  return joined.kind === 'mapping' && !isWhole ? { ...joined, partial: true } : joined;
}

/** A list or mapping of the entries that a piece holds, or null. */
function readInBody(recovery: Recovery, kind: 'list' | 'mapping', piece: LoosePiece): Node | null {
  const { whole, tell } = recovery;
  const { start, end, fit } = piece;
  const inner = { ...whole, limits: { ...whole.limits, depth: whole.limits.depth - 1 } };
  const parsed = readPiece(partOf(inner, start, end));
  const text = whole.text.slice(start, end);
  const content = text.trimStart();
  const at = start + text.length - content.length;
  const node = parsed.kind === 'tree' ? parsed.node : null;
  if (fit === 'no-dash') {
    tell(piece, content.startsWith('-') ? dashWithoutSpace(at, content) : dashMissing(at, content));
    return node?.kind === 'mapping' && !content.startsWith('-') ? { ...node, kind: 'list', items: [node] } : null;
  }
  if (fit === 'left-of-entries') {
    tell(piece, leftOfEntries(at, content));
    return node?.kind === 'list' && kind === 'list' ? node : null;
  }
  if (parsed.kind === 'broken') {
    const rest = parsed.fault === null ? null : tellAndSalvage(recovery, piece, parsed.fault);
    return rest?.kind === kind ? rest : null;
  }
  const stray = node?.kind === 'text' ? explainStray(node) : null;
  if (stray !== null) tell(piece, stray);
  return node?.kind === kind ? node : null;
}

/** The entries of several documents: what has one name belongs together. */
function joinEqualKeys(
  entries: readonly (Entry | null)[],
  report: (fault: SourceFault) => void,
): readonly (Entry | null)[] {
  const joined = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry === null) continue;
    const before = joined.get(entry.key.text);
    const isAlike = before !== undefined && before.value.kind === entry.value.kind && entry.value.kind !== 'text';
    if (before === undefined) joined.set(entry.key.text, entry);
    else if (isAlike)
      joined.set(entry.key.text, { key: before.key, value: joinPieces([before.value, entry.value], report) });
  }
  return [...joined.values()];
}
