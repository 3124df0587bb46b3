// What an editor is shown, in the words and places of its protocol: kinds of choices, texts of code lenses and hovers, and mistakes.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  CompletionItemKind,
  type Connection,
  DiagnosticSeverity,
  type Diagnostic as Shown,
  type Range as ShownRange,
} from 'vscode-languageserver/node';
import type { NamePlace } from '../../engine/compiler.js';
import type { SaidLine } from '../authoring/about.js';
import type { PolicyIndex } from '../authoring/policy-index.js';
import type { CheckedFolder } from './policy-folder.js';

/** A folder and its files that the editor has mistakes of. */
export interface ShownFolder {
  readonly path: string;
  readonly published: Set<string>;
}

export const ITEM_KINDS = {
  key: CompletionItemKind.Property,
  name: CompletionItemKind.Variable,
  scope: CompletionItemKind.EnumMember,
  namespace: CompletionItemKind.Folder,
};

export function lensText(
  index: PolicyIndex,
  covered: CheckedFolder['covered'],
  { kind, name }: NamePlace,
): string | null {
  if (kind === 'role')
    return `${counted(index.membersOf(name).length, 'identity', 'identities')}, ${counted(index.grantsTo(name).length, 'grant', 'grants')}`;
  const grant = kind === 'grant' ? index.grant(name) : undefined;
  if (grant === undefined) return null;
  const holders = grant.principal.kind === 'role' ? index.membersOf(grant.principal.role).length : 1;
  const held = `held by ${counted(holders, 'identity', 'identities')}`;
  return covered === null
    ? held
    : `${held}, in ${counted(covered.get(name) ?? 0, 'expectation', 'expectations')} of tests`;
}

export function markdown(lines: readonly SaidLine[]): string {
  const written = ({ kind, text }: SaidLine[number]): string =>
    kind === 'text'
      ? text.replaceAll(/[\\`*_{}[\]<>()#+!|]/g, (character) => `\\${character}`)
      : `\`${text.replaceAll('`', "'")}\``;
  return lines
    .map((parts) => parts.map((part) => (part.kind === 'strong' ? `**${written(part)}**` : written(part))).join(''))
    .join('  \n');
}

function counted(count: number, one: string, many: string): string {
  return `${String(count)} ${count === 1 ? one : many}`;
}

export async function publish(connection: Connection, folder: ShownFolder, checked: CheckedFolder): Promise<void> {
  const byFile = new Map<string, Shown[]>();
  const add = (file: string, shown: Shown): void => {
    const own = byFile.get(file);
    if (own === undefined) byFile.set(file, [shown]);
    else own.push(shown);
  };
  for (const { code, severity, file, range, message, help, related } of checked.diagnostics) {
    add(file, {
      ...{ code, source: 'bailiwick', range: shownRange(range) },
      severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
      message: help === undefined ? message : `${message}\n${help}`,
      relatedInformation: related.map((one) => ({
        location: { uri: uriOf(folder, one.file), range: shownRange(one.range) },
        message: one.message,
      })),
    });
  }
  for (const { file, line, message } of checked.problems) {
    const range = { start: { line: line - 1, character: 0 }, end: { line: line - 1, character: 1000 } };
    add(file, { source: 'bailiwick', range, severity: DiagnosticSeverity.Error, message });
  }
  // A file without mistakes has an empty list, once, so that the editor forgets what it had.
  const cleared = [...folder.published].filter((file) => !byFile.has(file));
  folder.published.clear();
  for (const file of byFile.keys()) folder.published.add(file);
  const lists: readonly (readonly [string, Shown[]])[] = [
    ...byFile,
    ...cleared.map((file): [string, Shown[]] => [file, []]),
  ];
  for (const [file, diagnostics] of lists) await connection.sendDiagnostics({ uri: uriOf(folder, file), diagnostics });
}

export function uriOf({ path }: Pick<ShownFolder, 'path'>, file: string): string {
  return pathToFileURL(join(path, file)).href;
}

/**
 * Null if it names no file of this machine: editors also open what is on other hosts, in archives, or not saved yet.
 * Editors encode characters that Node leaves as they are, so addresses are only compared as paths.
 */
export function pathOf(uri: string): string | null {
  try {
    return fileURLToPath(uri);
  } catch {
    return null;
  }
}

export function shownRange({ start, end }: NamePlace['range']): ShownRange {
  return {
    start: { line: start.line - 1, character: start.column - 1 },
    end: { line: end.line - 1, character: end.column - 1 },
  };
}
