// Characters that a reader does not see: zero-width ones and their like. In a comment they do no harm. In a text they make two names of
// what looks like one, so a text with one is refused. Who needs one writes an escape, which can be seen.
import type { Entry, MappingNode, Node, SourceFault, TextNode } from './tree.js';

/** The two selectors behind a pictograph only say how it is drawn. A byte order mark has a code of its own. */
const INVISIBLE =
  /(?!\uFEFF)(?:(?<!\p{Extended_Pictographic})[\uFE0E\uFE0F]|(?![\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|\u2800)/u;
const NOT_ASCII = /[^\n -~]/;

function isInvisibleIn(text: string): boolean {
  return NOT_ASCII.test(text) && INVISIBLE.test(text);
}

/** The tree without such texts, which are reported. `text` is that of the file. */
export function withoutInvisible(text: string, root: Node, report: (fault: SourceFault) => void): Node {
  if (!isInvisibleIn(text)) return root;
  const refuse = (node: TextNode): boolean => {
    const source = text.slice(node.start, node.end);
    if (!isInvisibleIn(source)) return false;
    report(faultOf(source, node));
    return true;
  };
  const visit = (node: Node): Node => {
    switch (node.kind) {
      case 'text':
        return refuse(node) ? { kind: 'refused', start: node.start, end: node.end } : node;
      case 'list':
        return { ...node, items: node.items.map(visit) };
      case 'mapping':
        return visitMapping(node);
      case 'refused':
        return node;
    }
  };
  const visitMapping = (node: MappingNode): Node => {
    const entries: Entry[] = [];
    for (const { key, value } of node.entries) if (!refuse(key)) entries.push({ key, value: visit(value) });
    return entries.length === node.entries.length ? { ...node, entries } : { ...node, entries, partial: true };
  };
  return visit(root);
}

function faultOf(source: string, node: TextNode): SourceFault {
  const { index, 0: found } = INVISIBLE.exec(source) ?? { index: 0, 0: '' };
  const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const start = node.start + index;
  const message = `a character that cannot be seen (U+${code})`;
  const escape = code.length === 4 ? `\\u${code.toLowerCase()}` : `\\U${code.toLowerCase().padStart(8, '0')}`;
  const help = `write the text again by hand; where the character is meant, write \`${escape}\` in double quotes`;
  return { code: 'TEXT_INVISIBLE', start, end: start + Math.max(1, found.length), message, help };
}
