// Turns the bytes of one policy file into a `PolicyDocument`: text, tree, sections. Each file is read by itself; `link/` resolves what
// files say about each other. After a fault, reading continues with what is left, so that one run finds all mistakes.
import type { EngineLimits } from '../limits.js';
import type { PolicyDocument } from '../model/document.js';
import { declaredFamilies, makeVocabulary } from '../model/vocabulary.js';
import type { Sink } from '../diagnostics/report.js';
import { lineTableOf } from '../model/span.js';
import { nameRefusal, type SourceFile } from './accept-files.js';
import { refuse, reportFault, type FileContext, UNKNOWN_WORDS, type Words } from './context.js';
import { withoutInvisible } from './invisible.js';
import { withoutConflicts } from './merge-conflicts.js';
import { withoutMisindented } from './misindented.js';
import { readTree } from './read-tree.js';
import { recoverTree } from './recover.js';
import { entryOf, readMapping, type MappingShape } from './shape.js';
import { HEADER, HEADER_FILE, SECTIONS } from './shapes.js';
import { decodeText } from './text.js';
import type { Entry, Node, SourceFault } from './tree.js';

export interface ReadDocument {
  readonly document: PolicyDocument;
  /** The text of the file, with LF line ends. Places in diagnostics are places in it. */
  readonly text: string;
}

/** `words` are those of the policy; `policy.yaml` itself needs none. */
export function readDocument(
  file: SourceFile,
  { limits, sink, words = UNKNOWN_WORDS }: { limits: EngineLimits; sink: Sink; words?: Words },
): ReadDocument {
  const { text, faults } = decodeText(file.bytes);
  const context: FileContext = { file: file.path, text, lines: lineTableOf(text), limits, sink, words };
  for (const fault of faults) reportFault(context, fault);
  const isHeader = file.path === HEADER_FILE;
  const tree = treeOf(context, faults, isHeader ? HEADER : SECTIONS);
  const node = tree === 'empty' ? emptyFile(context, isHeader) : tree;
  const said = isHeader ? readHeader(context, node) : readSections(context, node);
  return { document: { ...NO_SECTIONS, file: file.path, lines: context.lines, ...said }, text };
}

/** The tree of a file. If the file is refused, that is reported, and the tree is what is left of it, or null. */
function treeOf(context: FileContext, faults: readonly SourceFault[], shape: MappingShape): Node | 'empty' | null {
  const { limits } = context;
  const text = withoutConflicts(context.text, faults);
  const report = (fault: SourceFault): void => {
    reportFault(context, fault);
  };
  const found: SourceFault[] = [];
  const read = faults.length > 0 ? null : readTree({ text, limits, report: (fault) => found.push(fault) });
  if (read === null || (read.kind === 'broken' && read.fault !== null)) {
    const source = { text, limits, report, offset: 0, budget: { left: limits.nodes } };
    const rest = recoverTree({ source, keys: shape.keys, faults }, read?.fault ?? null);
    return rest === null ? null : withoutMisindented(withoutInvisible(text, rest, report), shape, report);
  }
  found.forEach(report);
  if (read.kind === 'tree') return withoutMisindented(withoutInvisible(text, read.node, report), shape, report);
  return read.kind === 'empty' ? 'empty' : null;
}

/** An empty `policy.yaml` declares nothing that others need, so nothing of theirs is reported. Any other empty file is only unusual. */
function emptyFile(context: FileContext, isHeader: boolean): Node | null {
  const first = { start: 0, end: context.text.split('\n', 1)[0]?.length ?? 0 };
  if (isHeader) {
    const [message, help] = ['`policy.yaml` has no content', 'write `bailiwick: 1`, `name` and `providers` into it'];
    return refuse(context, 'POLICY_MISSING', { at: first, message, help });
  }
  refuse(context, 'FILE_EMPTY', { at: first, message: 'the file has no content', help: 'fill it, or remove it' });
  return { kind: 'mapping', entries: [], ...first };
}

const NO_SECTIONS = {
  header: null,
  within: null,
  roles: [],
  people: [],
  grantsKey: null,
  grants: [],
  tests: [],
  guardrails: [],
} as const;

function mayDeclare(path: string): boolean {
  const refusal = nameRefusal(path);
  return refusal === null || (refusal !== 'aside' && refusal.code === 'FILE_MISNAMED');
}

/** Stands for a file that is not read. If it is named like a policy file, it may declare what others refer to. */
export function unreadDocument(path: string): ReadDocument {
  const unread = { ...NO_SECTIONS, file: path, lines: lineTableOf(''), complete: !mayDeclare(path) };
  return { document: unread, text: '' };
}

/** The part of a document that one kind of file provides. */
type Said = Pick<PolicyDocument, 'complete'> & Partial<PolicyDocument>;

function readHeader(context: FileContext, node: Node | null): Said {
  const header = node === null ? null : readMapping(context, node, HEADER);
  const { name = null, providers, exclusive, folders, families } = header?.values ?? {};
  const complete = header?.mayHaveLost === false && declaresAll(entryOf(header, 'providers'));
  const hidesFamilies =
    header?.mayHaveLost !== false || families === null || (families ?? []).some(({ actions }) => actions === null);
  return {
    header: {
      name,
      providers: providers ?? [],
      exclusive: exclusive ?? [],
      folders: folders ?? [],
      families: families ?? [],
      hidesFamilies,
    },
    complete,
  };
}

function readSections(context: FileContext, node: Node | null): Said {
  const sections = node === null ? null : readMapping(context, node, SECTIONS);
  if (sections === null) return { complete: false };
  const { values, mayHaveLost } = sections;
  const [within, roles, grants] = [
    entryOf(sections, 'within'),
    entryOf(sections, 'roles'),
    entryOf(sections, 'grants'),
  ];
  // If something was lost, it may have been grants.
  if (within !== undefined && grants === undefined && !mayHaveLost && !isPartial(roles)) {
    refuse(context, 'WITHIN_UNUSED', {
      at: within.key,
      message: '`within` bounds the grants of its own file, and this one has none',
      help: 'move it to the file of the grants, or remove it',
    });
  }
  return {
    within: values.within ?? null,
    roles: values.roles ?? [],
    people: values.people ?? [],
    grantsKey: grants?.key ?? null,
    grants: values.grants ?? [],
    tests: values.tests ?? [],
    guardrails: values.guardrails ?? [],
    complete: !mayHaveLost && declaresAll(roles),
  };
}

/** Whether something in it was refused and lost. */
function isPartial(entry: Entry | undefined): boolean {
  return entry?.value.kind === 'refused' || (entry?.value.kind === 'mapping' && entry.value.partial === true);
}

/** Whether the entry has lost no name, so that a name that is not found really does not exist. */
function declaresAll(entry: Entry | undefined): boolean {
  if (entry === undefined) return true;
  if (entry.value.kind !== 'mapping' || isPartial(entry)) return false;
  // A space in a name probably means that a colon is missing before it, so another name was meant.
  return !entry.value.entries.some(({ key }) => key.text.includes(' '));
}

/** What files may name, by what `policy.yaml` declares. */
export function wordsOf({ header }: PolicyDocument): Words {
  if (header === null) return UNKNOWN_WORDS;
  return { vocabulary: makeVocabulary(declaredFamilies(header.families)), hidesOthers: header.hidesFamilies };
}
