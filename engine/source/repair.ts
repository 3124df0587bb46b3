// Reading on after faults in characters: the text as it was probably meant, with the way back to places in the file. What
// a fault touches is never used (`withoutFaulty`), so a guess can hide a mistake and cannot make one up.
import type { Span } from '../model/span.js';
import type { TextFault } from './text.js';
import type { Entry, Node, SourceFault } from './tree.js';

export interface Repair {
  readonly text: string;
  /** The place in the file of a place in `text`. */
  readonly placeOf: (span: Span) => Span;
}

interface Edit extends Span {
  readonly replacement: string;
}

/** How far a tab in the indentation may be meant to indent, the likeliest first. */
const TAB_WIDTHS = [2, 4, 8, 1];

/** What a fault was perhaps meant as. */
interface Guess {
  readonly tabWidth: number;
  /** What stands for a lone CR: the end of a line, or nothing. */
  readonly cr: string;
}

/** The readings that the faults of a text leave open, the likeliest first: one, unless there are tabs that indent, or CRs. */
export function repairsOf(text: string, faults: readonly TextFault[]): readonly Repair[] {
  const widths = faults.some((fault) => isIndent(text, fault)) ? TAB_WIDTHS : [1];
  const crs = faults.some(({ code }) => code === 'TEXT_LONE_CR') ? ['\n', ''] : [''];
  const guesses = crs.flatMap((cr) => widths.map((tabWidth): Guess => ({ tabWidth, cr })));
  return guesses.map((guess) => applyEdits(text, editsOf(text, faults, guess)));
}

/** Whether a fault is a tab before the first word of its line. */
export function isIndent(text: string, { code, start }: TextFault): boolean {
  if (code !== 'TEXT_TAB') return false;
  let at = start - 1;
  while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at -= 1;
  return at < 0 || text.charAt(at) === '\n';
}

function editsOf(text: string, faults: readonly TextFault[], guess: Guess): readonly Edit[] {
  return faults.flatMap((fault) => {
    const replacement = replacementOf(text, fault, guess);
    return replacement === null ? [] : [{ start: fault.start, end: fault.end, replacement }];
  });
}

/** Null where the characters may stand: they only make the text around them unusable. */
function replacementOf(text: string, fault: TextFault, { tabWidth, cr }: Guess): string | null {
  switch (fault.code) {
    case 'TEXT_BOM':
    case 'TEXT_NUL':
    case 'TEXT_CONTROL':
      return '';
    case 'TEXT_TAB':
      return ' '.repeat((fault.end - fault.start) * (isIndent(text, fault) ? tabWidth : 1));
    case 'TEXT_SPACE':
      return ' '.repeat(fault.end - fault.start);
    case 'TEXT_LONE_CR':
      return cr.repeat(fault.end - fault.start);
    default:
      return null;
  }
}

function applyEdits(text: string, edits: readonly Edit[]): Repair {
  const parts: string[] = [];
  /** Where each edit ends, in the repaired text and in the file. */
  const ends: { readonly repaired: number; readonly length: number; readonly edit: Edit }[] = [];
  let from = 0;
  let length = 0;
  for (const edit of edits) {
    parts.push(text.slice(from, edit.start), edit.replacement);
    length += edit.start - from + edit.replacement.length;
    ends.push({ repaired: length, length: edit.replacement.length, edit });
    from = edit.end;
  }
  parts.push(text.slice(from));
  const original = (offset: number): number => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle]?.repaired ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    const before = ends[low - 1];
    const next = ends[low];
    // Within a replacement: where what it replaces begins.
    if (next !== undefined && offset >= next.repaired - next.length) return next.edit.start;
    return before === undefined ? offset : offset - before.repaired + before.edit.end;
  };
  const placeOf = ({ start, end }: Span): Span => ({
    start: original(start),
    end: end > start ? original(end - 1) + 1 : original(start),
  });
  return { text: parts.join(''), placeOf };
}

/** Whether one of the faults, which are in order, is in the span. */
export function isTouched(faults: readonly Span[], { start, end }: Span): boolean {
  let low = 0;
  let high = faults.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((faults[middle]?.end ?? 0) <= start) low = middle + 1;
    else high = middle;
  }
  const next = faults[low];
  return next !== undefined && next.start < end;
}

/** A fault found in the repaired text, at its place in the file. */
export function faultInFile(fault: SourceFault, { placeOf }: Repair): SourceFault {
  const related = fault.related?.map(({ message, ...span }) => ({ message, ...placeOf(span) }));
  return { ...fault, ...placeOf(fault), ...(related === undefined ? {} : { related }) };
}

/** The tree with its places in the file, and without the texts that a fault is in. */
export function withoutFaulty(node: Node, { placeOf }: Repair, faults: readonly TextFault[]): Node {
  const isFaulty = (span: Span): boolean => isTouched(faults, span);
  const visit = (one: Node): Node => {
    const place = placeOf(one);
    switch (one.kind) {
      case 'refused':
        return { ...one, ...place };
      case 'text':
        return isFaulty(place) ? { kind: 'refused', ...place } : { ...one, ...place };
      case 'list':
        return { ...one, ...place, items: one.items.map(visit) };
      case 'mapping': {
        const entries = one.entries.map(visitEntry).filter((entry) => entry !== null);
        const partial = one.partial === true || entries.length < one.entries.length;
        return { ...one, ...place, entries, ...(partial ? { partial } : {}) };
      }
    }
  };
  const visitEntry = ({ key, value }: Entry): Entry | null => {
    const place = placeOf(key);
    if (isFaulty(place)) return null;
    // A value that is not there is cited by its key.
    return { key: { ...key, ...place }, value: visit(value) };
  };
  return visit(node);
}
