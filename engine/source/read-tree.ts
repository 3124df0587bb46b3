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

function readWhole(source: YamlSource, pieceLength: number): ParsedYaml {
  // A `---` at the beginning is legal and means nothing. The quick reader can read most files without it.
  const head = headOf(source.text);
  if (head > 0 && !source.text.startsWith('---', head))
    return readBody(partOf(source, head, source.text.length), pieceLength);
  return readBody(source, pieceLength);
}

/** The length of what ends with the `---`; 0 without one. */
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

function readBody(source: YamlSource, pieceLength: number): ParsedYaml {
  const texts = source.text.length <= pieceLength ? null : splitEntries(source.text, pieceLength);
  if (texts === null) return readPiece(source);
  const entries: (Entry | null)[] = [];
  for (const text of texts) {
    const read = readEntry(source, text);
    if (read !== null && 'fault' in read) return read;
    entries.push(read);
  }
  if (entries.length === 0) return { kind: 'empty' };
  return { kind: 'tree', node: makeMapping(entries, spanOver(entries), source.report) };
}

type Broken = ParsedYaml & { readonly kind: 'broken' };

/** Null if its key was refused, which has been reported. */
function readEntry(source: YamlSource, entry: EntryText): Entry | Broken | null {
  if (entry.pieces.length === 0) {
    const parsed = readPiece(partOf(source, entry.start, entry.end));
    if (parsed.kind === 'broken') return parsed;
    return parsed.kind === 'tree' && parsed.node.kind === 'mapping' ? (parsed.node.entries[0] ?? null) : null;
  }
  const nodes: Node[] = [];
  // A piece is read without the mapping around it, and that mapping counts as one level.
  const inner = { ...source, limits: { ...source.limits, depth: source.limits.depth - 1 } };
  for (const piece of entry.pieces) {
    const parsed = readPiece(partOf(inner, piece.start, piece.end));
    if (parsed.kind === 'broken') return parsed;
    if (parsed.kind === 'tree') nodes.push(parsed.node);
  }
  return { key: keyAt(source, entry.key), value: joinPieces(nodes, source.report) };
}

function spanOver(entries: readonly (Entry | null)[]): Span {
  return { start: entries[0]?.key.start ?? 0, end: entries.at(-1)?.value.end ?? 0 };
}
