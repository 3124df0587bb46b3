// Reads what is left of a refused file, so that one run finds all mistakes. The file is cut where a key begins at the left edge, and
// below that where an entry of the key's list or mapping begins. For a part that is not YAML the first fault is reported. The other
// parts are checked as usual. INVARIANT: at least one fault is reported, and the result is never used as policy.
import { groupDigits } from '../diagnostics/fault-words.js';
import { firstFrom } from '../model/row-lists.js';
import type { Span } from '../model/span.js';
import { makeMapping } from './mapping.js';
import type { YamlSource } from './parse.js';
import { joinPieces, keyAt, partOf, readPiece } from './pieces.js';
import { bodyOf, entriesOf, linesOf } from './split.js';
import type { Entry, Node, SourceFault } from './tree.js';

export interface DamagedText {
  readonly source: YamlSource;
  /** The keys that may stand at the left edge. */
  readonly keys: readonly string[];
  /** Faulty characters, in order. They have already been reported. */
  readonly faults: readonly Span[];
}

interface Recovery extends DamagedText {
  /** The number of syntax faults so far. */
  reported: number;
  /** Whether something was lost since the last known key. */
  isLost: boolean;
  /** Whether the lost text may contain a known key. */
  hidesKeys: boolean;
}

/** `first` is the fault that ended reading the text at once, or null if that was not tried. The result is null if nothing is left. */
export function recoverTree(damaged: DamagedText, first: SourceFault | null): Node | null {
  const { source } = damaged;
  const recovery: Recovery = { ...damaged, reported: 0, isLost: false, hidesKeys: false };
  const entries = cut(damaged).flatMap((part) => {
    if (part.isKnown) recovery.isLost = false;
    // Text after a fault that is not a known key probably belongs to the broken part.
    return recovery.isLost ? [null] : readPart(recovery, part);
  });
  // A second document is not a fault of any single part, and may have the same keys.
  const isSecond = first?.code === 'YAML_DOCUMENTS';
  if (first !== null && (isSecond || recovery.reported === 0)) source.report(first);
  if (entries.every((entry) => entry === null)) return null;
  return makeMapping(
    [...entries, ...(recovery.hidesKeys ? [null] : [])],
    { start: 0, end: source.text.length },
    (fault) => {
      if (!isSecond || fault.code !== 'YAML_DUPLICATE_KEY') source.report(fault);
    },
  );
}

interface Part extends Span {
  readonly isKnown: boolean;
}

const ANY_KEY = /^(?:[A-Za-z]+:(?: |$)|---|\.\.\.|%)/;

function cut({ source: { text }, keys }: DamagedText): readonly Part[] {
  const known = new RegExp(`^(?:${keys.join('|')})(?![\\w-])`);
  // A byte order mark is not part of the first line.
  const begin = text.startsWith('\uFEFF') ? 1 : 0;
  const parts: Part[] = [];
  let part = { start: begin, isKnown: false };
  const end = (at: number): void => {
    const ended = { ...part, end: at };
    const before = parts.at(-1);
    // Of several markers in a row one is enough.
    if (at > begin && !(isMarker(text, ended) && before !== undefined && isMarker(text, before))) parts.push(ended);
  };
  for (const line of linesOf(text, { start: begin, end: text.length })) {
    const head = text.slice(line.start, Math.min(line.end, line.start + 80));
    const isKnown = known.test(head);
    if (!isKnown && line.start > begin && !ANY_KEY.test(head)) continue;
    end(line.start);
    part = { start: line.start, isKnown };
  }
  end(text.length);
  return parts;
}

/** Whether the span is only a marker for the beginning or end of a document, which is not an entry. */
function isMarker(text: string, { start, end }: Span): boolean {
  return end - start <= 4 && /^(?:---|\.\.\.)\n?$/.test(text.slice(start, end));
}

/** Null stands for entries that are lost. */
function readPart(recovery: Recovery, part: Span): readonly (Entry | null)[] {
  const { source } = recovery;
  const entry = bodyOf(source.text, part);
  if (entry === null || entry.body === null) {
    const node = readNode(recovery, partOf(source, part.start, part.end));
    if (node === 'nothing') return [];
    if (node?.kind === 'mapping') return node.partial === true ? [...node.entries, null] : node.entries;
    return [entry === null ? null : refused(keyAt(source, entry.key))];
  }
  const { body } = entry;
  const key = keyAt(source, entry.key);
  const { kind, starts, isOdd } = entriesOf(source.text, body);
  const found: SourceFault[] = [];
  // The body is read without the mapping around it, and that mapping counts as one level.
  const limits = { ...source.limits, depth: source.limits.depth - 1 };
  const inner = { ...source, limits, report: (fault: SourceFault) => found.push(fault) };
  const nodes = starts.map((start, index) => readNode(recovery, partOf(inner, start, starts[index + 1] ?? body.end)));
  const broken = nodes.filter((node) => node === null).length;
  // If lines are out of their columns and the cut breaks several entries, the cut was probably made at the wrong lines.
  const isMiscut = isOdd && broken > 1;
  for (const fault of isMiscut ? found.slice(0, 1) : found) source.report(fault);
  const kept = nodes.filter((node): node is Node => node !== null && node !== 'nothing' && node.kind === kind);
  if (kept.length === 0 || isMiscut) return [refused(key)];
  const value = joinPieces(kept, source.report);
  return [{ key, value: value.kind === 'mapping' && kept.length < nodes.length ? { ...value, partial: true } : value }];
}

function refused(key: Entry['key']): Entry {
  return { key, value: { kind: 'refused', start: key.start, end: key.end } };
}

/** Null if the part has a fault. */
function readNode(recovery: Recovery, part: YamlSource): Node | 'nothing' | null {
  const start = part.offset;
  const end = start + part.text.length;
  const { fileDiagnostics } = part.limits;
  if (recovery.reported < fileDiagnostics && !isTouched(recovery.faults, { start, end })) {
    const parsed = readPiece(part);
    if (parsed.kind === 'empty') return 'nothing';
    if (parsed.kind === 'tree') return parsed.node;
    if (parsed.fault !== null) part.report(parsed.fault);
    recovery.reported += 1;
    if (recovery.reported === fileDiagnostics) {
      const message = `what follows is not read: ${groupDigits(fileDiagnostics)} entries up to here are not YAML`;
      part.report({ code: 'LIMIT_DIAGNOSTICS', start, end, message, help: 'correct what is listed and check again' });
    }
  }
  recovery.isLost = true;
  recovery.hidesKeys ||= recovery.keys.some((key) => part.text.includes(`${key}:`, 1));
  return null;
}

/** Whether any of the faults overlaps the span. `faults` must be in order. */
function isTouched(faults: readonly Span[], { start, end }: Span): boolean {
  const next = faults[firstFrom(faults.length, (place) => (faults[place]?.end ?? 0) > start)];
  return next !== undefined && next.start < end;
}
