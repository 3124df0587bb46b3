// Finds what a version control system leaves in a file when it cannot merge two changes. A conflict is one mistake, whatever its lines
// would mean as YAML, and neither of its sides is read.
import type { Span } from '../model/span.js';
import { linesOf } from './split.js';
import { MOST_FAULTS, type SourceFault } from './tree.js';

const MARKER = /^ *(<{7}|\|{7}|={7}|>{7})(?: .*)?$/;
const BARE_MARKER = /^={7}$/;

interface Marker extends Span {
  /** Its first character. */
  readonly kind: string;
  readonly line: number;
  /** Whether it stands at the left edge, where nothing else of YAML looks like it. */
  readonly isAtEdge: boolean;
}

/** One fault for each conflict, over all of its lines. In order, not overlapping. */
export function conflictFaults(text: string): readonly SourceFault[] {
  if (!['<', '=', '>', '|'].some((mark) => text.includes(mark.repeat(7)))) return [];
  const markers = markersOf(text);
  const faults: SourceFault[] = [];
  for (let index = 0, length: number; index < markers.length; index += length) {
    length = conflictLength(markers, index);
    const [first, last] = [markers[index], markers[index + length - 1]];
    if (first === undefined || last === undefined) break;
    if (length > 1) faults.push(conflict(first, last));
    // In a text of several lines an indented line may look like a marker.
    else if (first.isAtEdge) faults.push(leftover(first));
  }
  return faults;
}

/**
 * The text without the markers and with one side of each conflict: the one that begins more sections, since what follows belongs to the
 * last of them. Of two alike the first, which lines up with what stands around it.
 */
export function withoutConflicts(text: string, faults: readonly SourceFault[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { code, start, end } of faults) {
    if (code !== 'TEXT_MERGE_CONFLICT') continue;
    const sides = text.slice(start, end).split(/^(?= *(?:\|{7}|={7}|>{7})(?: |$))/m);
    const theirs = sides.findIndex((side) => /^ *=/.test(side));
    const kept = sectionsIn(sides[theirs] ?? '') > sectionsIn(sides[0] ?? '') ? theirs : 0;
    const read = sides.map((side, i) => (i === kept ? side.replace(/^ *[<=>]{7}.*/, blank) : blank(side)));
    parts.push(text.slice(from, start), read.join(''));
    from = end;
  }
  return parts.length === 0 ? text : [...parts, text.slice(from)].join('');
}

function sectionsIn(side: string): number {
  return side.match(/^[A-Za-z]+ *:/gm)?.length ?? 0;
}

/** Spaces in place of everything but line ends, so that all places stay as they are. */
function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

function markersOf(text: string): readonly Marker[] {
  const markers: Marker[] = [];
  let line = 0;
  for (const { start, end } of linesOf(text, { start: 0, end: text.length })) {
    line += 1;
    const words = text.slice(start, Math.min(end, start + 200));
    const kind = MARKER.exec(words)?.[1]?.charAt(0);
    if (kind === undefined || (kind === '=' && !BARE_MARKER.test(words.trim()))) continue;
    markers.push({ start, end, kind, line, isAtEdge: words.startsWith(kind) });
    if (markers.length === MOST_FAULTS) break;
  }
  return markers;
}

/** How many markers, from this one on, belong to one conflict: 1 if it was left alone. */
function conflictLength(markers: readonly Marker[], index: number): number {
  if (markers[index]?.kind !== '<') return 1;
  const middle = markers[index + 1]?.kind === '|' ? index + 2 : index + 1;
  return markers[middle]?.kind === '=' && markers[middle + 1]?.kind === '>' ? middle + 2 - index : 1;
}

function conflict({ start, line }: Marker, last: Marker): SourceFault {
  const message = `an unresolved merge conflict, lines ${String(line)} to ${String(last.line)}`;
  const help = 'merge the two sides by hand, and remove the lines with the markers';
  return { code: 'TEXT_MERGE_CONFLICT', start, end: last.end, message, help };
}

function leftover({ start, end, kind }: Marker): SourceFault {
  const message = `a line that was left of a merge conflict: \`${kind.repeat(7)}\``;
  const help = 'see whether both sides of the conflict still stand here, then remove the line';
  return { code: 'TEXT_MERGE_CONFLICT', start, end, message, help };
}
