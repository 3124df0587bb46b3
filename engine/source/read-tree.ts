// Turns one file's text into its tree in the cheapest way. Large files are read in pieces, and each piece by the quick reader if that
// understands it, otherwise by the whole YAML parser. All ways give the same tree and refuse the same texts.
import type { EngineLimits } from '../limits.js';
import { makeMapping } from './mapping.js';
import type { ParsedYaml, YamlSource } from './parse.js';
import { joinPieces, keyAt, partOf, readPiece } from './pieces.js';
import { splitEntries, type EntryText } from './split.js';
import type { Span } from '../model/span.js';
import type { Entry, Node, SourceFault } from './tree.js';

export interface TreeSource {
  readonly text: string;
  readonly limits: EngineLimits;
  readonly report: (fault: SourceFault) => void;
}

/** In UTF-16 code units. */
const PIECE_LENGTH = 32_768;

/** Texts longer than `pieceLength` are read in pieces. */
export function readTree({ text, limits, report }: TreeSource, pieceLength = PIECE_LENGTH): ParsedYaml {
  return readWhole({ text, limits, report, offset: 0, budget: { left: limits.nodes } }, pieceLength);
}

function readWhole(whole: YamlSource, pieceLength: number): ParsedYaml {
  // A `---` at the beginning is legal and means nothing. The quick reader can read most files without it.
  const head = headOf(whole.text);
  if (head > 0 && !whole.text.startsWith('---', head))
    return readBody(partOf(whole, head, whole.text.length), pieceLength);
  return readBody(whole, pieceLength);
}

/** The length of what ends with the `---`; 0 if there is none. */
function headOf(text: string): number {
  for (let start = 0; ; start = BLANK.lastIndex) {
    BLANK.lastIndex = start;
    if (!BLANK.test(text)) {
      MARK.lastIndex = start;
      return MARK.test(text) ? MARK.lastIndex : 0;
    }
  }
}

/** One line at a time: an expression for all of them would need a stack for as many. */
const BLANK = / *(?:#[^\n]*)?\n/y;
const MARK = /--- *(?:#[^\n]*)?\n/y;

function readBody(whole: YamlSource, pieceLength: number): ParsedYaml {
  const texts = whole.text.length <= pieceLength ? null : splitEntries(whole.text, pieceLength);
  if (texts === null) return readPiece(whole);
  const entries: (Entry | null)[] = [];
  for (const text of texts) {
    const read = readEntry(whole, text);
    if (read !== null && 'fault' in read) return read;
    entries.push(read);
  }
  if (entries.length === 0) return { kind: 'empty' };
  return { kind: 'tree', node: makeMapping(entries, spanOver(entries), whole.report) };
}

type Broken = ParsedYaml & { readonly kind: 'broken' };

/** Null if its key was refused, which has been reported. */
function readEntry(whole: YamlSource, entry: EntryText): Entry | Broken | null {
  if (entry.pieces.length === 0) {
    const parsed = readPiece(partOf(whole, entry.start, entry.end));
    if (parsed.kind === 'broken') return parsed;
    return parsed.kind === 'tree' && parsed.node.kind === 'mapping' ? (parsed.node.entries[0] ?? null) : null;
  }
  const nodes: Node[] = [];
  // A piece is read without the mapping around it, and that mapping counts as one level.
  const inner = { ...whole, limits: { ...whole.limits, depth: whole.limits.depth - 1 } };
  for (const piece of entry.pieces) {
    const parsed = readPiece(partOf(inner, piece.start, piece.end));
    if (parsed.kind === 'broken') return parsed;
    if (parsed.kind === 'tree') nodes.push(parsed.node);
  }
  return { key: keyAt(whole, entry.key), value: joinPieces(nodes, whole.report) };
}

function spanOver(entries: readonly (Entry | null)[]): Span {
  return { start: entries[0]?.key.start ?? 0, end: entries.at(-1)?.value.end ?? 0 };
}
