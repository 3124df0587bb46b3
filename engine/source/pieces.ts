// Reads parts of one file's text and joins the results. Each part is read by the quick reader if that understands it, otherwise by the
// whole YAML parser.
import type { Span } from '../model/span.js';
import { makeMapping } from './mapping.js';
import { parseYaml, type ParsedYaml, type YamlSource } from './parse.js';
import { readQuickly } from './quick.js';
import type { Entry, ListNode, MappingNode, Node, SourceFault, TextNode } from './tree.js';

export function readPiece(source: YamlSource): ParsedYaml {
  const { text, offset, budget, limits } = source;
  const node = readQuickly({ text, offset, budget, depth: limits.depth });
  return node === null ? parseYaml(source) : { kind: 'tree', node };
}

export function partOf(source: YamlSource, start: number, end: number): YamlSource {
  return { ...source, text: source.text.slice(start, end), offset: source.offset + start };
}

/** Joins the pieces of one list or mapping, which are lists or mappings themselves. Nothing else is cut into pieces (`split.ts`). */
export function joinPieces(nodes: readonly Node[], report: (fault: SourceFault) => void): Node {
  const lists = nodes.filter((node): node is ListNode => node.kind === 'list');
  const mappings = nodes.filter((node): node is MappingNode => node.kind === 'mapping');
  const span = { start: nodes[0]?.start ?? 0, end: nodes.at(-1)?.end ?? 0 };
  if (lists.length > 0) return { kind: 'list', items: lists.flatMap((list) => list.items), ...span };
  const entries = mappings.flatMap(({ entries: of, partial }): readonly (Entry | null)[] =>
    partial === true ? [...of, null] : of,
  );
  return makeMapping(entries, span, report);
}

/** The key without quotes at a place. */
export function keyAt({ text, offset }: YamlSource, { start, end }: Span): TextNode {
  return { kind: 'text', plain: true, text: text.slice(start, end), start: start + offset, end: end + offset };
}
