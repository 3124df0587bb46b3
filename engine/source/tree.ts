// The tree of one policy file: texts, lists and mappings with their places. A tree has no values of other types. `plainKind` says how
// YAML 1.2's core schema reads a text without quotes.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { Span } from '../model/span.js';

/** A text and its place. It may be part of a node. */
export interface WrittenText extends Span {
  readonly text: string;
}

export interface TextNode extends WrittenText {
  readonly kind: 'text';
  /** Whether it is without quotes, so that it may mean something other than text. */
  readonly plain: boolean;
}

export interface ListNode extends Span {
  readonly kind: 'list';
  readonly items: readonly Node[];
}

export interface Entry {
  readonly key: TextNode;
  readonly value: Node;
}

export interface MappingNode extends Span {
  readonly kind: 'mapping';
  /** Keys are distinct texts. */
  readonly entries: readonly Entry[];
  /** Whether entries were left out, which has been reported. Then a missing key is not a mistake of its own. */
  readonly partial?: boolean;
}

/** Something that was refused and reported. Readers skip it silently. */
export interface RefusedNode extends Span {
  readonly kind: 'refused';
}

export type Node = TextNode | ListNode | MappingNode | RefusedNode;

/** A mistake in one file. Places are offsets. */
export interface SourceFault extends Span {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help?: string | undefined;
  readonly related?: readonly (Span & { readonly message: string })[];
}

/** How many faults of one kind are looked for in a file. Far fewer are listed, and each takes memory. */
export const MOST_FAULTS = 100_000;

/** The number of texts that a file may still have. */
export interface NodeBudget {
  left: number;
}

export function takeNode(budget: NodeBudget): boolean {
  budget.left -= 1;
  return budget.left >= 0;
}

export type PlainKind = 'text' | 'null' | 'boolean' | 'number';

const NULL = /^(?:~|null|Null|NULL|)$/;
const BOOLEAN = /^(?:true|True|TRUE|false|False|FALSE)$/;
const NUMBER =
  /^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** 1 for characters with which a number, `null`, `true`, `false` or `~` can begin. */
const OTHER_STARTS = Uint8Array.from({ length: 128 }, (_, unit) =>
  '-+.0123456789~nNtTfF'.includes(String.fromCharCode(unit)) ? 1 : 0,
);

/** How the core schema of YAML 1.2 (section 10.3.2) reads a text without quotes. */
export function plainKind(text: string): PlainKind {
  // The first character decides for nearly every text.
  if (text !== '' && (OTHER_STARTS[text.charCodeAt(0)] ?? 0) === 0) return 'text';
  return NULL.test(text) ? 'null' : BOOLEAN.test(text) ? 'boolean' : NUMBER.test(text) ? 'number' : 'text';
}
