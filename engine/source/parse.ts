// YAML text to a tree: the only file that knows the `yaml` package (docs/language.md "Strictness"). The package checks
// the syntax; everything it would take that policy files must not have (directives, tags, anchors, aliases, merge keys,
// keys that are not strings, duplicate keys, several documents) is refused here, and what it only warns of is an error.
import { groupDigits } from '../diagnostics/fault-words.js';
import { Composer, isMap, isScalar, isSeq, Lexer, Parser, type CST, type ParsedNode } from 'yaml';
import type { EngineLimits } from '../limits.js';
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { Span } from '../model/span.js';
import { makeMapping } from './mapping.js';
import { explainSyntax } from './syntax-faults.js';
import type { Enclosure } from './syntax-scene.js';
import { escapedTextFault } from './text.js';
import { takeNode, type Entry, type Node, type NodeBudget, type SourceFault, type TextNode } from './tree.js';

export interface YamlSource {
  readonly text: string;
  /** Where `text` begins in its file; all places are in the file. */
  readonly offset: number;
  readonly limits: EngineLimits;
  /** Shared by the pieces of one file. */
  readonly budget: NodeBudget;
  readonly report: (fault: SourceFault) => void;
}

export type ParsedYaml =
  | { readonly kind: 'tree'; readonly node: Node }
  /** A text of comments alone. */
  | { readonly kind: 'empty' }
  /** `fault` is for the caller to report; null if a limit was met, which has been reported. */
  | { readonly kind: 'broken'; readonly fault: SourceFault | null };

export function parseYaml(source: YamlSource): ParsedYaml {
  const tokens = readTokens(source);
  if ('kind' in tokens) return tokens;
  const second = tokens.filter((token) => token.type === 'document')[1];
  if (second !== undefined) {
    const start = (second.start[0] ?? second).offset;
    const [message, help] = ['a second document begins here', 'put it in a file of its own'];
    return { kind: 'broken', fault: inFile(source, { code: 'YAML_DOCUMENTS', start, end: start + 3, message, help }) };
  }
  const [document] = new Composer({
    version: '1.2',
    schema: 'failsafe',
    uniqueKeys: false,
    logLevel: 'silent',
  }).compose(tokens.filter((token) => token.type !== 'directive'));
  const faults = [...(document?.errors ?? []), ...(document?.warnings ?? [])];
  const first = faults.filter(({ code }) => !REFUSED_ELSEWHERE.has(code)).sort((a, b) => a.pos[0] - b.pos[0])[0];
  if (first !== undefined) {
    const fault = explainSyntax(source.text, first, enclosuresOf(tokens));
    // What stands behind it may be taken for something that it is not.
    for (const token of tokens) {
      visitTokens(token, (part) => {
        if (part.offset < first.pos[0]) refuseToken(source, part);
      });
    }
    return { kind: 'broken', fault: inFile(source, fault) };
  }
  for (const token of tokens) {
    visitTokens(token, (part) => {
      refuseToken(source, part);
    });
  }
  if (document === undefined) return { kind: 'empty' };
  const contents = document.contents;
  return contents === null ? { kind: 'empty' } : { kind: 'tree', node: convert(source, contents, null) };
}

/** Codes of the package for what `refuseToken` has reported by then. */
const REFUSED_ELSEWHERE: ReadonlySet<string> = new Set([
  'ALIAS_PROPS',
  'BAD_ALIAS',
  'BAD_COLLECTION_TYPE',
  'BAD_DIRECTIVE',
  'BAD_PROP_ORDER',
  'MULTIPLE_ANCHORS',
  'MULTIPLE_TAGS',
  'TAG_RESOLVE_FAILED',
]);

/** Broken if a limit was met, before the memory for what lies beyond it is taken. */
function readTokens(source: YamlSource): readonly CST.Token[] | (ParsedYaml & { readonly kind: 'broken' }) {
  const { text, limits, budget } = source;
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let texts = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (openCollections(parser) > limits.depth) {
      const at = Math.max(0, parser.offset - lexeme.length);
      const message = `more than ${groupDigits(limits.depth)} lists and mappings inside each other`;
      const help = 'nest less; perhaps a bracket is open by mistake';
      const fault = { code: 'LIMIT_DEPTH', start: at, end: parser.offset, message, help } as const;
      return { kind: 'broken', fault: inFile(source, fault) };
    }
    if (!beginsText(lexeme)) continue;
    texts += 1;
    const limit = texts > limits.pieceTexts ? limits.pieceTexts : takeNode(budget) ? null : limits.nodes;
    if (limit !== null) {
      const message = `more than ${groupDigits(limit)} texts in one ${limit === limits.nodes ? 'file' : 'list or mapping'}`;
      report(
        source,
        'LIMIT_NODES',
        { start: parser.offset, end: parser.offset + 1 },
        { message, help: 'split the file' },
      );
      return { kind: 'broken', fault: null };
    }
  }
  tokens.push(...parser.end());
  return tokens;
}

function openCollections(parser: Parser): number {
  const { stack } = parser;
  // Below is the document, above may be a text.
  const top = stack.at(-1);
  return stack.length - 1 - (top !== undefined && 'items' in top ? 0 : 1);
}

/** A quote, or the unit separator that the package's lexer gives before each text without quotes. */
function beginsText(lexeme: string): boolean {
  const code = lexeme.charCodeAt(0);
  return code === 0x1f || code === 0x22 || code === 0x27;
}

/** All tokens of a document, the outer before the inner. */
function visitTokens(top: CST.Token, visit: (token: CST.Token) => void): void {
  const open: (CST.Token | null | undefined)[] = [top];
  for (let token = open.pop(); token !== undefined; token = open.pop() ?? undefined) {
    if (token === null) continue;
    visit(token);
    if ('start' in token) open.push(...(Array.isArray(token.start) ? token.start : []));
    if ('props' in token) open.push(...token.props);
    if ('items' in token) {
      for (const item of token.items) {
        open.push(
          ...[...item.start, item.key ?? null, ...(item.sep ?? []), item.value ?? null].filter((part) => part !== null),
        );
      }
    }
    if (token.type === 'document' && token.value !== undefined) open.push(token.value);
  }
}

/** Reports a directive, tag, anchor or alias. */
function refuseToken(source: YamlSource, token: CST.Token): void {
  const refusal = REFUSALS.get(token.type);
  if (refusal === undefined || !('source' in token)) return;
  const at = { start: token.offset, end: token.offset + token.source.trimEnd().length };
  report(source, refusal.code, at, { message: refusal.message, help: refusal.help(token.source.trimEnd()) });
}

function enclosuresOf(tokens: readonly CST.Token[]): readonly Enclosure[] {
  const enclosures: Enclosure[] = [];
  const visit = (token: CST.Token): void => {
    if (token.type === 'flow-collection') {
      const mark = token.start.source;
      const close = token.end.find(({ source }) => source === (mark === '[' ? ']' : '}'));
      enclosures.push({ start: token.start.offset, end: close === undefined ? null : close.offset + 1, mark });
    } else if (token.type === 'double-quoted-scalar' || token.type === 'single-quoted-scalar') {
      const { source, offset } = token;
      const mark = source.charAt(0);
      const isClosed = source.length > 1 && source.endsWith(mark);
      enclosures.push({ start: offset, end: isClosed ? offset + source.length : null, mark });
    }
  };
  for (const token of tokens) visitTokens(token, visit);
  return enclosures;
}

interface Refusal {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: (source: string) => string;
}

const REFUSALS: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  [
    'directive',
    { code: 'YAML_DIRECTIVE', message: 'policy files have no YAML directives', help: () => 'remove the line' },
  ],
  ['tag', { code: 'YAML_TAG', message: 'policy files have no YAML tags', help: (tag) => `remove \`${tag}\`` }],
  [
    'anchor',
    { code: 'YAML_ANCHOR', message: 'policy files have no YAML anchors', help: (anchor) => `remove \`${anchor}\`` },
  ],
  [
    'alias',
    {
      code: 'YAML_ALIAS',
      message: 'policy files have no YAML aliases',
      help: (alias) => (alias.includes(':') ? `put the pattern in quotes: \`"${alias}"\`` : 'write the value itself'),
    },
  ],
]);

/** `key` is that of the entry whose value this is: a missing value is cited by its key. */
function convert(source: YamlSource, node: ParsedNode, key: TextNode | null): Node {
  const [start, end] = [node.range[0] + source.offset, node.range[1] + source.offset];
  if (isScalar(node)) {
    const plain = node.type === 'PLAIN';
    const text = String(node.value);
    if (plain && start === end && key !== null) return { kind: 'text', plain, text, start: key.start, end: key.end };
    if (node.type === 'QUOTE_DOUBLE') {
      const fault = escapedTextFault(text);
      if (fault !== null) {
        source.report({ ...fault, start, end });
        return { kind: 'refused', start, end };
      }
    }
    return { kind: 'text', plain, text, start, end };
  }
  if (isSeq(node)) {
    const items = node.items.map((item) => convert(source, item, null));
    return { kind: 'list', items, start, end: node.flow === true ? end : (items.at(-1)?.end ?? end) };
  }
  if (isMap(node)) {
    const entries = node.items.map((pair) => convertPair(source, pair.key, pair.value));
    const last = entries.at(-1)?.value.end ?? end;
    return makeMapping(entries, { start, end: node.flow === true ? end : last }, source.report);
  }
  return { kind: 'refused', start, end };
}

function convertPair(source: YamlSource, keyNode: ParsedNode, valueNode: ParsedNode | null): Entry | null {
  const key = convert(source, keyNode, null);
  if (key.kind !== 'text') {
    if (key.kind !== 'refused') {
      const message = `a key must be text, and this is a ${key.kind}`;
      const help = 'write text and a colon';
      source.report({ code: 'YAML_KEY_NOT_TEXT', start: key.start, end: key.end, message, help });
    }
    return null;
  }
  const absent: TextNode = { kind: 'text', plain: true, text: '', start: key.start, end: key.end };
  return { key, value: valueNode === null ? absent : convert(source, valueNode, key) };
}

function inFile({ offset }: YamlSource, fault: SourceFault): SourceFault {
  const moved = (span: Span): Span => ({ start: span.start + offset, end: span.end + offset });
  return { ...fault, ...moved(fault), related: (fault.related ?? []).map((one) => ({ ...one, ...moved(one) })) };
}

function report(
  source: YamlSource,
  code: DiagnosticCode,
  at: Span,
  words: { readonly message: string; readonly help?: string | undefined },
): void {
  source.report({ code, start: at.start + source.offset, end: at.end + source.offset, ...words });
}
