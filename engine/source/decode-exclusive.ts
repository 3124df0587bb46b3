// The key `exclusive` of `policy.yaml`: lists of identities of which no actor may have two (docs/meaning.md "Exclusive identities").
import type { ExclusiveDeclaration } from '../model/document.js';
import { refuse, type FileContext } from './context.js';
import { filled, firstLine, itemsOf } from './fields.js';
import { list, value } from './shape.js';
import type { Node, TextNode } from './tree.js';
import { someIdentities } from './values.js';

const LIST = someIdentities('name the identities that exclude each other, or remove the list', 2);

/** A list of one would exclude nothing, and still look like a rule that does. */
function readExclusive(context: FileContext, node: Node, what: string): ExclusiveDeclaration | null {
  const identities = LIST.read(context, node, what);
  if (identities === null) return null;
  const { start, end } = firstLine(context, node);
  const named = node.kind === 'list' ? node.items.length : 0;
  if (named === 1) {
    const message = 'a list of one identity excludes nothing';
    const help = 'name at least two identities of which no actor may have both';
    return refuse(context, 'EXCLUSIVE_SINGLE', { at: { start, end }, message, help });
  }
  return { identities, start, end };
}

const readLists = filled(itemsOf(readExclusive, 'a list of `exclusive`'), {
  empty: 'write lists of identities, or remove it',
});

export const EXCLUSIVE = value(list(LIST, 1), (context, node, what) => {
  if (node.kind !== 'list' || !node.items.every(isText) || node.items.length < 2) return readLists(context, node, what);
  const message = `${what} is a list of identities, not a list of such lists`;
  const help = `write a list in the list: \`[[${node.items.map(({ text }) => text).join(', ')}]]\``;
  return refuse(context, 'VALUE_NOT_LIST', { at: firstLine(context, node), message, help });
});

function isText(node: Node): node is TextNode {
  return node.kind === 'text';
}
