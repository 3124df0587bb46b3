// One file's text to its tree, whichever way is cheapest: large files in pieces, and each piece by the quick reader where
// that understands it, else by the whole YAML parser. Every way gives the same tree and refuses the same texts.
import type { EngineLimits } from '../limits.js';
import { makeMapping } from './mapping.js';
import { parseYaml, type ParsedYaml, type YamlSource } from './parse.js';
import { readQuickly } from './quick.js';
import { splitEntries, type EntryText } from './split.js';
import type { Entry, ListNode, MappingNode, Node, SourceFault, TextNode } from './tree.js';

export interface TreeSource {
  readonly text: string;
  readonly limits: EngineLimits;
  readonly report: (fault: SourceFault) => void;
}

/** In UTF-16 code units. */
const PIECE_LENGTH = 32_768;

/** `pieceLength` is how long a text is read in one. */
export function readTree(source: TreeSource, pieceLength = PIECE_LENGTH): ParsedYaml {
  const whole: YamlSource = { ...source, offset: 0, budget: { left: source.limits.nodes } };
  // A first `---` is legal and says nothing. Without it most files are for the quick reader.
  const head = HEAD.exec(source.text)?.[0].length ?? 0;
  if (head > 0 && !source.text.startsWith('---', head))
    return readBody(partOf(whole, head, source.text.length), pieceLength);
  return readBody(whole, pieceLength);
}

const HEAD = /^(?:(?: *#[^\n]*| *)\n)*--- *(?:#[^\n]*)?\n/;

function readBody(whole: YamlSource, pieceLength: number): ParsedYaml {
  const texts = whole.text.length <= pieceLength ? null : splitEntries(whole.text, pieceLength);
  if (texts === null) return readPiece(whole);
  const entries: Entry[] = [];
  let broken = false;
  for (const text of texts) {
    const entry = readEntry(whole, text);
    if (entry === null) broken = true;
    else entries.push(entry);
  }
  if (broken) return { kind: 'broken' };
  if (entries.length === 0) return { kind: 'empty' };
  return { kind: 'tree', node: makeMapping(entries, spanOver(entries), whole.report) };
}

function readPiece(source: YamlSource): ParsedYaml {
  const { text, offset, budget, limits } = source;
  const node = readQuickly({ text, offset, budget, depth: limits.depth });
  return node === null ? parseYaml(source) : { kind: 'tree', node };
}

function partOf(whole: YamlSource, start: number, end: number): YamlSource {
  return { ...whole, text: whole.text.slice(start, end), offset: whole.offset + start };
}

/** Null if it is broken. */
function readEntry(whole: YamlSource, entry: EntryText): Entry | null {
  if (entry.pieces.length === 0) {
    const parsed = readPiece(partOf(whole, entry.start, entry.end));
    return parsed.kind === 'tree' && parsed.node.kind === 'mapping' ? (parsed.node.entries[0] ?? null) : null;
  }
  const nodes: Node[] = [];
  let broken = false;
  // A piece is read without the mapping around it, which counts as one level.
  const inner = { ...whole, limits: { ...whole.limits, depth: whole.limits.depth - 1 } };
  for (const piece of entry.pieces) {
    const parsed = readPiece(partOf(inner, piece.start, piece.end));
    if (parsed.kind === 'tree') nodes.push(parsed.node);
    else if (parsed.kind === 'broken') broken = true;
  }
  if (broken) return null;
  const { start, end } = entry.key;
  const key: TextNode = {
    kind: 'text',
    plain: true,
    text: whole.text.slice(start, end),
    start: start + whole.offset,
    end: end + whole.offset,
  };
  return { key, value: joinPieces(nodes, whole.report) };
}

/** The pieces of one list or mapping are lists or mappings; no other text is cut (`split.ts`). */
function joinPieces(nodes: readonly Node[], report: (fault: SourceFault) => void): Node {
  const lists = nodes.filter((node): node is ListNode => node.kind === 'list');
  const mappings = nodes.filter((node): node is MappingNode => node.kind === 'mapping');
  const span = { start: nodes[0]?.start ?? 0, end: nodes.at(-1)?.end ?? 0 };
  if (lists.length > 0) return { kind: 'list', items: lists.flatMap((list) => list.items), ...span };
  return makeMapping(
    mappings.flatMap((mapping) => mapping.entries),
    span,
    report,
  );
}

function spanOver(entries: readonly Entry[]): { readonly start: number; readonly end: number } {
  return { start: entries[0]?.key.start ?? 0, end: entries.at(-1)?.value.end ?? 0 };
}
