// One policy file from its bytes to a `PolicyDocument`: text, tree, sections. Files are read on their own; what they say
// of each other is for `link/`.
import type { EngineLimits } from '../limits.js';
import type { DiagnosticCode } from '../model/diagnostic-codes.js';
import type { PolicyDocument } from '../model/document.js';
import type { Sink } from '../model/report.js';
import { lineTableOf } from '../model/span.js';
import { refuse, reportFault, type FileContext } from './context.js';
import { decodeGrants } from './decode-grants.js';
import { decodeGuardrails } from './decode-guardrails.js';
import { decodeHeader, decodeRoles } from './decode-roles.js';
import { decodeTests } from './decode-tests.js';
import { readFields, type Fields } from './fields.js';
import { readTree } from './read-tree.js';
import { HEADER, HEADER_FILE, SECTIONS } from './shapes.js';
import { decodeText } from './text.js';
import type { Node } from './tree.js';
import { readNamespace } from './values.js';

/** A file of a policy folder; `path` is relative to the folder, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface ReadDocument {
  readonly document: PolicyDocument;
  /** What the file says, with LF line ends: places in diagnostics are places in it. */
  readonly text: string;
}

/** Faults of the tree that leave out an entry which may declare something. */
const LEAVES_OUT: ReadonlySet<DiagnosticCode> = new Set(['KEY_FORBIDDEN', 'YAML_KEY_NOT_TEXT', 'YAML_MERGE_KEY']);

export function readDocument(file: SourceFile, limits: EngineLimits, sink: Sink): ReadDocument {
  const { text, faults } = decodeText(file.bytes);
  const context: FileContext = { file: file.path, text, lines: lineTableOf(text), limits, sink, incomplete: false };
  for (const fault of faults) reportFault(context, fault);
  const report = (fault: Parameters<typeof reportFault>[1]): void => {
    if (LEAVES_OUT.has(fault.code)) context.incomplete = true;
    reportFault(context, fault);
  };
  const parsed = faults.length > 0 ? { kind: 'broken' as const } : readTree({ text, limits, report });
  if (parsed.kind === 'broken') context.incomplete = true;
  const isHeader = file.path === HEADER_FILE;
  const node = parsed.kind === 'tree' ? parsed.node : parsed.kind === 'empty' ? emptyFile(context, isHeader) : null;
  const fields = node === null ? null : readFields(context, node, isHeader ? HEADER : SECTIONS);
  // A misspelt section may declare what is then not found.
  if (fields === null || (node?.kind === 'mapping' && node.entries.length > fields.size))
    context.incomplete ||= node !== null;
  return { document: isHeader ? headerDocument(context, fields) : sectionsDocument(context, fields), text };
}

/** An empty `policy.yaml` lacks its keys; another empty file is only strange. */
function emptyFile(context: FileContext, isHeader: boolean): Node | null {
  const nowhere = { start: 0, end: 0 };
  if (isHeader) return { kind: 'mapping', entries: [], ...nowhere };
  refuse(context, 'FILE_EMPTY', { at: nowhere, message: 'the file says nothing' });
  return null;
}

const NO_SECTIONS = {
  header: null,
  within: null,
  roles: [],
  grantsKey: null,
  grants: [],
  tests: [],
  guardrails: [],
} as const;

/** In place of a file that is not read: if it is named like a policy file, it may declare what others refer to. */
export function unreadDocument(path: string): ReadDocument {
  const unread = { ...NO_SECTIONS, file: path, lines: lineTableOf(''), complete: !path.endsWith('.yaml') };
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
  if (within !== undefined && fields?.has('grants') !== true) {
    refuse(context, 'WITHIN_UNUSED', {
      at: within.key,
      message: '`within` bounds the grants of its own file, and this one has none',
    });
  }
  const sections = {
    within: within === undefined ? null : readNamespace(context, within.value, '`within`'),
    roles: section('roles', decodeRoles),
    grantsKey: fields?.get('grants')?.key ?? null,
    grants: section('grants', decodeGrants),
    tests: section('tests', decodeTests),
    guardrails: section('guardrails', decodeGuardrails),
  };
  return { ...sections, header: null, file: context.file, lines: context.lines, complete: !context.incomplete };
}
