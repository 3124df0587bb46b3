// The texts and comments of a YAML file in the order in which they stand, read by the YAML library's own parser of tokens:
// it knows nothing of how the formatter finds comments.
import { CST, Parser } from 'yaml';

export interface Token {
  readonly kind: 'text' | 'comment';
  readonly text: string;
}

interface Placed extends Token {
  readonly at: number;
}

interface Brackets {
  readonly start: number;
  readonly end: number;
}

/**
 * A comment behind a closing bracket, with no comment inside or right before, counts as standing before the opening one: a
 * block has room for it there only. So equal lists mean that every comment stands between the same texts.
 */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Placed[] = [];
  const brackets: Brackets[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const token = value as Readonly<Record<string, unknown>> & { readonly type?: string; readonly offset: number };
    if (token.type === 'comment') tokens.push({ kind: 'comment', text: textOf(token).trimEnd(), at: token.offset });
    if (isScalar(token)) {
      const header = token.type === 'block-scalar' ? token.props.map(({ offset }) => offset) : [];
      const text = CST.resolveAsScalar(token).value;
      tokens.push({ kind: 'text', text, at: Math.max(token.offset, ...header) + 0.5 });
    }
    if (isBrackets(token)) {
      const closing = token.end.find(({ type }) => type === 'flow-seq-end' || type === 'flow-map-end');
      brackets.push({ start: token.offset, end: (closing?.offset ?? token.offset) + 1 });
    }
    for (const part of ['start', 'key', 'sep', 'value', 'items', 'end', 'props']) visit(token[part]);
  };
  for (const token of new Parser().parse(source)) visit(token);
  const comments = tokens.filter(({ kind }) => kind === 'comment');
  const placed = tokens.map((token): Placed => {
    if (token.kind === 'text') return token;
    const closed = brackets.filter(
      ({ end }) =>
        end <= token.at &&
        /^[\s,\]}]*$/.test(source.slice(end, token.at)) &&
        !source.slice(end, token.at).includes('\n'),
    );
    const outermost = closed.reduce<Brackets | null>(
      (most, one) => (most === null || one.start < most.start ? one : most),
      null,
    );
    if (outermost === null) return token;
    const isBare =
      !comments.some(({ at }) => outermost.start < at && at < outermost.end) &&
      !/:\s*(?:#[^\n]*\n\s*)+$/.test(source.slice(0, outermost.start));
    return isBare ? { ...token, at: outermost.start - 0.5 } : token;
  });
  return placed.sort((a, b) => a.at - b.at).map(({ kind, text }) => ({ kind, text }));
}

function textOf(token: Readonly<Record<string, unknown>>): string {
  return typeof token['source'] === 'string' ? token['source'] : '';
}

function isScalar(token: object): token is CST.FlowScalar | (CST.BlockScalar & { readonly props: CST.SourceToken[] }) {
  return 'type' in token && CST.isScalar(token as CST.Token);
}

function isBrackets(token: object): token is CST.FlowCollection {
  return 'type' in token && token.type === 'flow-collection';
}
