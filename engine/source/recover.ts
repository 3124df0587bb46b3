// What a file that is refused still says, so that all mistakes are found in one run: it is cut where, at the left edge,
// a key begins, and below it where an entry of its list or mapping does. For a part that is not YAML the first fault is
// reported; the other parts are checked as if nothing had happened. INVARIANT: at least one fault is reported, and what
// is given here is never used as policy.
import { groupDigits } from '../diagnostics/fault-words.js';
import { firstFrom } from '../model/row-lists.js';
import type { Span } from '../model/span.js';
import { makeMapping } from './mapping.js';
import type { YamlSource } from './parse.js';
import { joinPieces, keyAt, partOf, readPiece } from './pieces.js';
import { bodyOf, entriesOf, linesOf } from './split.js';
import type { Entry, Node, SourceFault } from './tree.js';

export interface DamagedText {
  readonly whole: YamlSource;
  /** The keys that may stand at the left edge. */
  readonly keys: readonly string[];
  /** Faults of characters, in order. They have been reported. */
  readonly faults: readonly Span[];
}

interface Recovery extends DamagedText {
  /** Faults of syntax so far. */
  told: number;
  /** Whether something is lost since the last of the known keys. */
  isLost: boolean;
  /** Whether one of the known keys may be within what is lost. */
  hidesKeys: boolean;
}

/** `first` is the fault that ended the reading of the whole, null if it was not begun. Null if nothing is left. */
export function recoverTree(damaged: DamagedText, first: SourceFault | null): Node | null {
  const { whole } = damaged;
  const recovery: Recovery = { ...damaged, told: 0, isLost: false, hidesKeys: false };
  const entries = cut(damaged).flatMap((part) => {
    if (part.isKnown) recovery.isLost = false;
    // What follows a fault and is not a key of the file most likely belongs to the broken part.
    return recovery.isLost ? [null] : readPart(recovery, part);
  });
  // A second document is not a fault of any part, and may have the same keys.
  const isSecond = first?.code === 'YAML_DOCUMENTS';
  if (first !== null && (isSecond || recovery.told === 0)) whole.report(first);
  if (entries.every((entry) => entry === null)) return null;
  return makeMapping(
    [...entries, ...(recovery.hidesKeys ? [null] : [])],
    { start: 0, end: whole.text.length },
    (fault) => {
      if (!isSecond || fault.code !== 'YAML_DUPLICATE_KEY') whole.report(fault);
    },
  );
}

interface Part extends Span {
  readonly isKnown: boolean;
}

const ANY_KEY = /^(?:[A-Za-z]+:(?: |$)|---|\.\.\.|%)/;

function cut({ whole: { text }, keys }: DamagedText): readonly Part[] {
  const known = new RegExp(`^(?:${keys.join('|')})(?![\\w-])`);
  // A byte order mark is not part of the first line.
  const begin = text.startsWith('\uFEFF') ? 1 : 0;
  const parts: Part[] = [];
  let part = { start: begin, isKnown: false };
  const end = (at: number): void => {
    const whole = { ...part, end: at };
    const before = parts.at(-1);
    // One of many documents says as much.
    if (at > begin && !(isMarker(text, whole) && before !== undefined && isMarker(text, before))) parts.push(whole);
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

/** The beginning or end of a document alone, which is no entry. */
function isMarker(text: string, { start, end }: Span): boolean {
  return end - start <= 4 && /^(?:---|\.\.\.)\n?$/.test(text.slice(start, end));
}

/** Null stands for entries that are lost. */
function readPart(recovery: Recovery, part: Span): readonly (Entry | null)[] {
  const { whole } = recovery;
  const entry = bodyOf(whole.text, part);
  if (entry === null || entry.body === null) {
    const node = readNode(recovery, partOf(whole, part.start, part.end));
    if (node === 'nothing') return [];
    if (node?.kind === 'mapping') return node.partial === true ? [...node.entries, null] : node.entries;
    return [entry === null ? null : refused(keyAt(whole, entry.key))];
  }
  const { body } = entry;
  const key = keyAt(whole, entry.key);
  const { kind, starts, isOdd } = entriesOf(whole.text, body);
  const found: SourceFault[] = [];
  // The mapping around the body counts as one level.
  const limits = { ...whole.limits, depth: whole.limits.depth - 1 };
  const inner = { ...whole, limits, report: (fault: SourceFault) => found.push(fault) };
  const nodes = starts.map((start, index) => readNode(recovery, partOf(inner, start, starts[index + 1] ?? body.end)));
  const broken = nodes.filter((node) => node === null).length;
  // Where lines stand out of their columns, a cut that breaks several entries was most likely made at the wrong ones.
  const isMiscut = isOdd && broken > 1;
  for (const fault of isMiscut ? found.slice(0, 1) : found) whole.report(fault);
  const kept = nodes.filter((node): node is Node => node !== null && node !== 'nothing' && node.kind === kind);
  if (kept.length === 0 || isMiscut) return [refused(key)];
  const value = joinPieces(kept, whole.report);
  return [{ key, value: value.kind === 'mapping' && kept.length < nodes.length ? { ...value, partial: true } : value }];
}

function refused(key: Entry['key']): Entry {
  return { key, value: { kind: 'refused', start: key.start, end: key.end } };
}

/** Null if a fault is in it. */
function readNode(recovery: Recovery, part: YamlSource): Node | 'nothing' | null {
  const start = part.offset;
  const end = start + part.text.length;
  const { fileDiagnostics } = part.limits;
  if (recovery.told < fileDiagnostics && !isTouched(recovery.faults, { start, end })) {
    const parsed = readPiece(part);
    if (parsed.kind === 'empty') return 'nothing';
    if (parsed.kind === 'tree') return parsed.node;
    if (parsed.fault !== null) part.report(parsed.fault);
    recovery.told += 1;
    if (recovery.told === fileDiagnostics) {
      const message = `what follows is not read: ${groupDigits(fileDiagnostics)} entries up to here are not YAML`;
      part.report({ code: 'LIMIT_DIAGNOSTICS', start, end, message, help: 'correct what is listed and check again' });
    }
  }
  recovery.isLost = true;
  recovery.hidesKeys ||= recovery.keys.some((key) => part.text.includes(`${key}:`, 1));
  return null;
}

/** Whether one of the faults, which are in order, is in the span. */
function isTouched(faults: readonly Span[], { start, end }: Span): boolean {
  const next = faults[firstFrom(faults.length, (place) => (faults[place]?.end ?? 0) > start)];
  return next !== undefined && next.start < end;
}
