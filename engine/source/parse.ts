// Turns YAML text into a tree. The `yaml` package checks the syntax (docs/language.md "Strictness"). This file refuses everything that
// the package accepts and policy files must not have: directives, tags, anchors, aliases, merge keys, keys that are not strings,
// duplicate keys, several documents. The package's warnings are errors here.
import { groupDigits } from '../diagnostics/fault-words.js';
import { Composer, isMap, isScalar, isSeq, Lexer, Parser } from 'yaml';
import type { CST, Document, Pair, ParsedNode } from 'yaml';
import type { EngineLimits } from '../limits.js';
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import { invariant } from '../model/invariant.js';
import type { Span } from '../model/span.js';
import { makeMapping } from './mapping.js';
import {
  BEFORE_PLAIN,
  beginsText,
  completeParts,
  cutAtBadEscapes,
  dropBlanks,
  dropEntries,
  enclosuresOf,
  openCollections,
  openLists,
  visitTokens,
} from './parse-tokens.js';
import { explainSyntax } from './syntax-faults.js';
import { escapedTextFault } from './text.js';
import { takeNode, type Entry, type Node, type NodeBudget, type SourceFault, type TextNode } from './tree.js';

export interface YamlSource {
  readonly text: string;
  /** The offset of `text` in its file. All reported places are in the file. */
  readonly offset: number;
  readonly limits: EngineLimits;
  /** Shared by the pieces of one file. */
  readonly budget: NodeBudget;
  readonly report: (fault: SourceFault) => void;
}

export type ParsedYaml =
  | { readonly kind: 'tree'; readonly node: Node }
  /** A text with only comments. */
  | { readonly kind: 'empty' }
  /** The caller must report `fault`. It is null if a limit was reached, which has already been reported. */
  | { readonly kind: 'broken'; readonly fault: SourceFault | null };

/** A text that is being read. */
interface Reading extends YamlSource {
  readonly parser: Parser;
  /** What the parser has emitted: documents, and what stands outside them. */
  readonly tokens: CST.Token[];
  /** The parts of lists and mappings that have been read and released out of their tokens. */
  readonly released: Map<CST.Token | undefined, Taken>;
  /** Faults of the parts that could be read. They are reported only if everything can be read. */
  readonly faults: SourceFault[];
}

interface Taken {
  readonly items: Node[];
  readonly entries: (Entry | null)[];
}

/** After this many lexemes, complete tokens are released. A piece of a file has fewer. */
const WINDOW = 1 << 16;

/** At most this many tokens may follow each other without a text. */
const BESIDE = 1_000;

/** Escapes in one text that YAML does not have. The package keeps an error for each, and the first one is reported. */
const BAD_ESCAPES = 1_000;

const BARE = 'marks without a text between them';

/** At most this many tags, anchors and aliases are read: they are refused anyway, and each takes long. */
const REFUSED = 1_000;

export function parseYaml(source: YamlSource, window = WINDOW): ParsedYaml {
  const reading: Reading = { ...source, parser: new Parser(), tokens: [], released: new Map(), faults: [] };
  const { parser, tokens } = reading;
  const limitMet = makeLimits(reading);
  let count = 0;
  for (const lexeme of new Lexer().lex(source.text)) {
    const read = cutAtBadEscapes(lexeme, BAD_ESCAPES);
    tokens.push(...parser.next(read));
    if (read.length < lexeme.length) return stop(reading) ?? tooMany(reading, BAD_ESCAPES, 'wrong escapes in one text');
    count += 1;
    const stopped = limitMet(lexeme) ?? (count % window === 0 ? letGo(reading) : null);
    if (stopped !== null) return stopped;
  }
  tokens.push(...parser.end());
  const document = compose(tokens);
  const stopped = judge(reading, [document], tokens);
  if (stopped !== null) return stopped;
  const contents = document?.contents ?? null;
  if (contents === null) return { kind: 'empty' };
  const node = convert(reading, contents, null);
  reading.faults.forEach(source.report);
  return { kind: 'tree', node };
}

type Broken = ParsedYaml & { readonly kind: 'broken' };

function broken(source: YamlSource, fault: SourceFault): Broken {
  return { kind: 'broken', fault: inFile(source, fault) };
}

/** Makes a check to call after each lexeme, so that no memory is released for text beyond a limit. */
function makeLimits(reading: Reading): (lexeme: string) => Broken | null {
  const { parser, limits, budget } = reading;
  let texts = 0;
  let marks = 0;
  let refused = 0;
  let isPlain = false;
  return (lexeme) => {
    if (openCollections(parser) > limits.depth) {
      const start = Math.max(0, parser.offset - lexeme.length);
      const message = `more than ${groupDigits(limits.depth)} lists and mappings inside each other`;
      const help = 'nest less; perhaps a bracket is open by mistake';
      return broken(reading, { code: 'LIMIT_DEPTH', start, end: parser.offset, message, help });
    }
    const isText = !isPlain && beginsText(lexeme);
    if (!isPlain && lexeme.length === 1 && '-?:,[]{}'.includes(lexeme)) {
      marks += 1;
      if (marks > BESIDE) return stop(reading) ?? tooMany(reading, BESIDE, BARE);
    }
    if (isText && '!&*'.includes(lexeme.charAt(0))) {
      refused += 1;
      if (refused > REFUSED) return stop(reading) ?? tooMany(reading, REFUSED, 'tags, anchors and aliases');
    }
    isPlain = lexeme === BEFORE_PLAIN;
    if (!isText) return null;
    texts += 1;
    marks = 0;
    if (texts > limits.pieceTexts) return tooMany(reading, limits.pieceTexts, 'texts in one list or mapping');
    return takeNode(budget) ? null : tooMany(reading, limits.nodes, 'texts in one file');
  };
}

function tooMany(reading: Reading, limit: number, what: string): Broken {
  const { offset: start } = reading.parser;
  const message = `more than ${groupDigits(limit)} ${what}`;
  reading.report(inFile(reading, { code: 'LIMIT_NODES', start, end: start + 1, message, help: 'split the file' }));
  return { kind: 'broken', fault: null };
}

/** Reads what is complete, and releases its tokens. */
function letGo(reading: Reading): Broken | null {
  const { parser, tokens, released } = reading;
  const long = [tokens, ...openLists(parser)].filter(({ length }) => length > BESIDE);
  long.forEach(dropBlanks);
  if (long.some(({ length }) => length > BESIDE)) {
    // There is probably a fault among them.
    return stop(reading) ?? tooMany(reading, BESIDE, BARE);
  }
  const parts = completeParts(parser).map((part) => ({ ...part, composed: compose(part.document) }));
  const composed = parts.map((part) => part.composed);
  const entries = parts.map((part) => part.entries);
  const stopped = judge(reading, composed, entries);
  if (stopped !== null) return stopped;
  for (const part of parts) {
    const into = released.get(part.open) ?? { items: [], entries: [] };
    released.set(part.open, into);
    const contents = part.composed?.contents;
    const read = isSeq(contents) || isMap(contents) ? contents.items.length : 0;
    invariant(read === part.count + 1, 'every entry that is let go has been read');
    if (isSeq(contents)) for (const item of contents.items.slice(0, -1)) into.items.push(convert(reading, item, null));
    if (isMap(contents)) for (const pair of contents.items.slice(0, -1)) into.entries.push(convertPair(reading, pair));
    dropEntries(part);
  }
  return null;
}

/** Judges what was read so far as if the text ended here. */
function stop(reading: Reading): Broken | null {
  const { parser, tokens } = reading;
  tokens.push(...parser.end());
  return judge(reading, [compose(tokens)], tokens);
}

function compose(tokens: readonly CST.Token[]): Document.Parsed | undefined {
  const [document] = new Composer({
    version: '1.2',
    schema: 'failsafe',
    uniqueKeys: false,
    logLevel: 'silent',
    keepSourceTokens: true,
  }).compose(tokens.filter((token) => token.type !== 'directive'));
  return document;
}

/** Reports what is refused in these tokens. The result is broken if composing them found a fault. */
function judge(
  reading: Reading,
  documents: readonly (Document.Parsed | undefined)[],
  tokens: readonly CST.Token[],
): Broken | null {
  const held = [...reading.tokens, ...reading.parser.stack];
  const second = held.filter((token) => token.type === 'document')[1];
  if (second !== undefined) {
    const start = (second.start[0] ?? second).offset;
    const [message, help] = ['a second document begins here', 'put it in a file of its own'];
    return broken(reading, { code: 'YAML_DOCUMENTS', start, end: start + 3, message, help });
  }
  const [first] = documents
    .flatMap((document) => [...(document?.errors ?? []), ...(document?.warnings ?? [])])
    .filter(({ code }) => !REFUSED_ELSEWHERE.has(code))
    .sort((a, b) => a.pos[0] - b.pos[0]);
  visitTokens(first === undefined ? tokens : held, (token) => {
    // The parser may misread what follows a fault.
    if (first === undefined || token.offset < first.pos[0]) refuseToken(reading, token);
  });
  return first === undefined ? null : broken(reading, explainSyntax(reading.text, first, enclosuresOf(held)));
}

/** The package's codes for what `refuseToken` has already reported. */
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

/** Reports a directive, tag, anchor or alias. */
function refuseToken(reading: Reading, token: CST.Token): void {
  const refusal = REFUSALS.get(token.type);
  if (refusal === undefined || !('source' in token)) return;
  const [code, what, helpFor] = refusal;
  const written = token.source.trimEnd();
  const at = { start: token.offset, end: token.offset + written.length };
  reading.report(
    inFile(reading, { code, ...at, message: `policy files have no YAML ${what}`, help: helpFor(written) }),
  );
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

/** `key` is the key of the entry that has this value, since a missing value is cited by its key. */
function convert(reading: Reading, node: ParsedNode, key: TextNode | null): Node {
  const [start, end] = [node.range[0] + reading.offset, node.range[1] + reading.offset];
  const report = (fault: SourceFault): unknown => reading.faults.push(fault);
  if (isScalar(node)) {
    const plain = node.type === 'PLAIN';
    const text = String(node.value);
    if (plain && start === end && key !== null) return { kind: 'text', plain, text, start: key.start, end: key.end };
    if (node.type === 'QUOTE_DOUBLE') {
      const fault = escapedTextFault(text);
      if (fault !== null) {
        report({ ...fault, start, end });
        return { kind: 'refused', start, end };
      }
    }
    return { kind: 'text', plain, text, start, end };
  }
  if (isSeq(node)) {
    const rest = node.items.map((item) => convert(reading, item, null));
    const items = [...(reading.released.get(node.srcToken)?.items ?? []), ...rest];
    return { kind: 'list', items, start, end: node.flow === true ? end : (items.at(-1)?.end ?? end) };
  }
  if (isMap(node)) {
    const rest = node.items.map((pair) => convertPair(reading, pair));
    const entries = [...(reading.released.get(node.srcToken)?.entries ?? []), ...rest];
    const last = entries.at(-1)?.value.end ?? end;
    return makeMapping(entries, { start, end: node.flow === true ? end : last }, report);
  }
  return { kind: 'refused', start, end };
}

function convertPair(reading: Reading, pair: Pair<ParsedNode, ParsedNode | null>): Entry | null {
  const key = convert(reading, pair.key, null);
  if (key.kind !== 'text') {
    if (key.kind !== 'refused') {
      const message = `a key must be text, and this is a ${key.kind}`;
      const help = 'write text and a colon';
      reading.faults.push({ code: 'YAML_KEY_NOT_TEXT', start: key.start, end: key.end, message, help });
    }
    return null;
  }
  const absent: TextNode = { kind: 'text', plain: true, text: '', start: key.start, end: key.end };
  return { key, value: pair.value === null ? absent : convert(reading, pair.value, key) };
}

function inFile({ offset }: YamlSource, fault: SourceFault): SourceFault {
  const moved = (span: Span): Span => ({ start: span.start + offset, end: span.end + offset });
  return { ...fault, ...moved(fault), related: (fault.related ?? []).map((one) => ({ ...one, ...moved(one) })) };
}
