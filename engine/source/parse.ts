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
    return broken(source, { code: 'YAML_DOCUMENTS', start, end: start + 3, message, help });
  }
  const [document] = new Composer({
    version: '1.2',
    schema: 'failsafe',
    uniqueKeys: false,
    logLevel: 'silent',
  }).compose(tokens.filter((token) => token.type !== 'directive'));
  const faults = [...(document?.errors ?? []), ...(document?.warnings ?? [])];
  const first = faults.filter(({ code }) => !REFUSED_ELSEWHERE.has(code)).sort((a, b) => a.pos[0] - b.pos[0])[0];
  for (const token of partsOf(tokens)) {
    // What stands behind a fault may be taken for something that it is not.
    if (first === undefined || token.offset < first.pos[0]) refuseToken(source, token);
  }
  if (first !== undefined) return broken(source, explainSyntax(source.text, first, enclosuresOf(partsOf(tokens))));
  const contents = document?.contents ?? null;
  return contents === null ? { kind: 'empty' } : { kind: 'tree', node: convert(source, contents, null) };
}

type Broken = ParsedYaml & { readonly kind: 'broken' };

function broken(source: YamlSource, fault: SourceFault): Broken {
  return { kind: 'broken', fault: inFile(source, fault) };
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
function readTokens(source: YamlSource): readonly CST.Token[] | Broken {
  const { text, limits, budget } = source;
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let texts = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (openCollections(parser) > limits.depth) {
      const start = Math.max(0, parser.offset - lexeme.length);
      const message = `more than ${groupDigits(limits.depth)} lists and mappings inside each other`;
      const help = 'nest less; perhaps a bracket is open by mistake';
      return broken(source, { code: 'LIMIT_DEPTH', start, end: parser.offset, message, help });
    }
    if (!beginsText(lexeme)) continue;
    texts += 1;
    const limit = texts > limits.pieceTexts ? limits.pieceTexts : takeNode(budget) ? null : limits.nodes;
    if (limit !== null) {
      const message = `more than ${groupDigits(limit)} texts in one ${limit === limits.nodes ? 'file' : 'list or mapping'}`;
      const { offset: start } = parser;
      source.report(inFile(source, { code: 'LIMIT_NODES', start, end: start + 1, message, help: 'split the file' }));
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

/** All tokens, the outer before the inner. */
function* partsOf(tokens: readonly CST.Token[]): Generator<CST.Token> {
  const open: (CST.Token | null | undefined)[] = [...tokens].reverse();
  while (open.length > 0) {
    const token = open.pop() ?? null;
    if (token === null) continue;
    yield token;
    if ('start' in token) open.push(...(Array.isArray(token.start) ? token.start : []));
    if ('props' in token) open.push(...token.props);
    if ('items' in token)
      for (const { start, key, sep, value } of token.items) open.push(...start, key, ...(sep ?? []), value);
    if (token.type === 'document') open.push(token.value);
  }
}

/** Reports a directive, tag, anchor or alias. */
function refuseToken(source: YamlSource, token: CST.Token): void {
  const refusal = REFUSALS.get(token.type);
  if (refusal === undefined || !('source' in token)) return;
  const [code, what, helpFor] = refusal;
  const written = token.source.trimEnd();
  const at = { start: token.offset, end: token.offset + written.length };
  source.report(inFile(source, { code, ...at, message: `policy files have no YAML ${what}`, help: helpFor(written) }));
}

type Refusal = readonly [code: DiagnosticCode, what: string, helpFor: (written: string) => string];

const remove = (written: string): string => `remove \`${written}\``;

const REFUSALS: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  ['directive', ['YAML_DIRECTIVE', 'directives', () => 'remove the line']],
  ['tag', ['YAML_TAG', 'tags', remove]],
  ['anchor', ['YAML_ANCHOR', 'anchors', remove]],
  [
    'alias',
    [
      'YAML_ALIAS',
      'aliases',
      (alias) => (alias.includes(':') ? `put the pattern in quotes: \`"${alias}"\`` : 'write the value itself'),
    ],
  ],
]);

function enclosuresOf(tokens: Iterable<CST.Token>): readonly Enclosure[] {
  const enclosures: Enclosure[] = [];
  for (const token of tokens) {
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
  }
  return enclosures;
}

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
