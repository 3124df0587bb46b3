// One policy file from its bytes to a `PolicyDocument`: text, tree, sections. Files are read on their own; what they say
// of each other is for `link/`. After a fault reading goes on with what is left, so that all mistakes are found in one run.
import type { EngineLimits } from '../limits.js';
import type { PolicyDocument } from '../model/document.js';
import type { Sink } from '../diagnostics/report.js';
import { lineTableOf, type Span } from '../model/span.js';
import { nameRefusal, type SourceFile } from './accept-files.js';
import { refuse, reportFault, type FileContext } from './context.js';
import { decodeGrants } from './decode-grants.js';
import { decodeGuardrails } from './decode-guardrails.js';
import { decodePeople } from './decode-people.js';
import { decodeHeader, decodeRoles } from './decode-roles.js';
import { decodeTests } from './decode-tests.js';
import { mayHaveLost, readFields, type Fields } from './fields.js';
import { withoutMisindented } from './misindented.js';
import { readTree } from './read-tree.js';
import { recoverTree } from './recover.js';
import { HEADER, HEADER_FILE, type MappingShape, SECTIONS } from './shapes.js';
import { decodeText } from './text.js';
import type { Entry, Node, SourceFault } from './tree.js';
import { readNamespace } from './values.js';

export interface ReadDocument {
  readonly document: PolicyDocument;
  /** What the file says, with LF line ends: places in diagnostics are places in it. */
  readonly text: string;
}

export function readDocument(file: SourceFile, limits: EngineLimits, sink: Sink): ReadDocument {
  const { text, faults } = decodeText(file.bytes);
  const context: FileContext = { file: file.path, text, lines: lineTableOf(text), limits, sink, incomplete: false };
  for (const fault of faults) reportFault(context, fault);
  const isHeader = file.path === HEADER_FILE;
  const tree = treeOf(context, faults, isHeader ? HEADER : SECTIONS);
  const node = tree === null ? null : tree === 'empty' ? emptyFile(context, isHeader) : tree;
  const fields = node === null ? null : readFields(context, node, isHeader ? HEADER : SECTIONS);
  const isLost = node === null ? tree === null : fields === null || mayHaveLost(node, fields);
  context.incomplete = isLost || [...(fields?.values() ?? [])].some(mayHaveLostNames);
  return { document: isHeader ? headerDocument(context, fields) : sectionsDocument(context, fields), text };
}

/** What a file says, or what is left of it where it is refused, which is reported; null if nothing is. */
function treeOf(context: FileContext, faults: readonly Span[], shape: MappingShape): Node | 'empty' | null {
  const { text, limits } = context;
  const report = (fault: SourceFault): void => {
    reportFault(context, fault);
  };
  const found: SourceFault[] = [];
  const read = faults.length > 0 ? null : readTree({ text, limits, report: (fault) => found.push(fault) });
  if (read === null || (read.kind === 'broken' && read.fault !== null)) {
    const whole = { text, limits, report, offset: 0, budget: { left: limits.nodes } };
    const rest = recoverTree({ whole, keys: shape.keys, faults }, read?.fault ?? null);
    return rest === null || shape === HEADER ? rest : withoutMisindented(rest, report);
  }
  found.forEach(report);
  if (read.kind === 'broken') return null;
  if (read.kind === 'empty') return 'empty';
  return shape === HEADER ? read.node : withoutMisindented(read.node, report);
}

/** Whether names that the entry declared were refused: that they are not found then says nothing. */
function mayHaveLostNames({ key, value }: Entry): boolean {
  if (key.text !== 'roles' && key.text !== 'providers') return false;
  return value.kind === 'refused' || (value.kind === 'mapping' && value.partial === true);
}

/** An empty `policy.yaml` lacks its keys; another empty file is only strange. */
function emptyFile(context: FileContext, isHeader: boolean): Node | null {
  const first = { start: 0, end: context.text.split('\n', 1)[0]?.length ?? 0 };
  if (isHeader) return { kind: 'mapping', entries: [], ...first };
  refuse(context, 'FILE_EMPTY', { at: first, message: 'the file has no content', help: 'fill it, or remove it' });
  return null;
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

/** In place of a file that is not read: if it is named like a policy file, it may declare what others refer to. */
export function unreadDocument(path: string): ReadDocument {
  const unread = { ...NO_SECTIONS, file: path, lines: lineTableOf(''), complete: !mayDeclare(path) };
  return { document: unread, text: '' };
}

function headerDocument(context: FileContext, fields: Fields | null): PolicyDocument {
  const header = decodeHeader(context, fields ?? new Map());
  return { ...NO_SECTIONS, header, file: context.file, lines: context.lines, complete: !context.incomplete };
}

function sectionsDocument(context: FileContext, fields: Fields | null): PolicyDocument {
  const section = <T>(key: string, decode: (context: FileContext, node: Node) => readonly T[]): readonly T[] => {
    const entry = fields?.get(key);
    return entry === undefined ? [] : decode(context, entry.value);
  };
  const within = fields?.get('within');
  if (within !== undefined && fields?.has('grants') !== true && !context.incomplete) {
    refuse(context, 'WITHIN_UNUSED', {
      at: within.key,
      message: '`within` bounds the grants of its own file, and this one has none',
      help: 'move it to the file of the grants, or remove it',
    });
  }
  const sections = {
    within: within === undefined ? null : readNamespace(context, within.value, '`within`'),
    roles: section('roles', decodeRoles),
    people: section('people', decodePeople),
    grantsKey: fields?.get('grants')?.key ?? null,
    grants: section('grants', decodeGrants),
    tests: section('tests', decodeTests),
    guardrails: section('guardrails', decodeGuardrails),
  };
  return { ...sections, header: null, file: context.file, lines: context.lines, complete: !context.incomplete };
}
