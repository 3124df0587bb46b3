// The comments of a policy file, which its tree leaves out: everything behind a hash that is not inside a text.
import type { Span } from '../model/span.js';
import type { Node } from './tree.js';

export interface Comment extends Span {
  /** From the hash to the end of the line, without spaces at the end. */
  readonly text: string;
  /** Only spaces stand before it on its line. */
  readonly ownLine: boolean;
}

/** In order. `root` is the tree of the text, null if there is none. With `from`, it need only have what stands from there on. */
export function commentsOf(text: string, root: Node | null, from = 0): readonly Comment[] {
  const comments: Comment[] = [];
  // The next hash is found once, and not once for each text before it.
  const nextHash = (start: number): number => {
    const found = text.indexOf('#', start);
    return found < 0 ? text.length : found;
  };
  let at = nextHash(from);
  const take = (until: number): void => {
    while (at < until) {
      const found = text.indexOf('\n', at);
      const end = found < 0 ? text.length : found;
      const lineStart = text.lastIndexOf('\n', at) + 1;
      const ownLine = text.slice(lineStart, at).trim() === '';
      comments.push({ start: at, end, text: text.slice(at, end).trimEnd(), ownLine });
      at = nextHash(end);
    }
  };
  for (const { start, end } of root === null ? [] : textSpans(text, root)) {
    take(start);
    if (at < end) at = nextHash(end);
  }
  take(text.length);
  return comments;
}

/** The spans of texts, in order. The first line of a block text (`|`, `>`) is left out: it may end in a comment. */
function textSpans(source: string, root: Node): readonly Span[] {
  const spans: Span[] = [];
  const visit = (node: Node): void => {
    switch (node.kind) {
      case 'text': {
        const isBlock = !node.plain && /[|>]/.test(source.charAt(node.start));
        const body = isBlock ? source.indexOf('\n', node.start) : node.start;
        spans.push({ start: body < 0 ? node.end : Math.min(body, node.end), end: node.end });
        break;
      }
      case 'list':
        node.items.forEach(visit);
        break;
      case 'mapping':
        for (const { key, value } of node.entries) {
          visit(key);
          visit(value);
        }
        break;
      case 'refused':
        spans.push(node);
    }
  };
  visit(root);
  return spans;
}
