// The example of `bailiwick.yaml`, made from the table of settings. It lists every setting with its default. Settings
// without a default, or that exclude another one, are comments. The example loads as it is, and means the same as no
// file.
import type { List, Optional, Setting, Table } from './setting.js';
import { SETTINGS } from './settings.js';
import { writtenText } from './value-types.js';

const HEADER = `# Settings of bailiwick, with their defaults. Made by \`bailiwick config example\`; \`bailiwick config check\` says where each
# one comes from. A flag wins over a variable, a variable over this file. Relative paths start at the folder of this file.
`;

export function exampleConfig(): string {
  return `${HEADER}${linesOf(SETTINGS, '').join('\n')}\n`;
}

function linesOf(table: Table, indent: string): readonly string[] {
  return Object.entries(table).flatMap(([name, member]): readonly string[] => {
    const gap = indent === '' ? [''] : [];
    if (member.kind === 'setting') return [...gap, ...settingLines(name, member, indent)];
    const lines = [...gap, `${indent}# ${member.doc}`];
    if (member.kind !== 'group') return [...lines, ...unsetLines(name, member, indent)];
    const inner = linesOf(member.members, `${indent}  `);
    // A group with nothing but comments would be null, so it becomes a comment as a whole.
    const isEmpty = inner.every((line) => line.trimStart().startsWith('#'));
    const own = [`${indent}${name}:`, ...inner];
    return [...lines, ...(isEmpty ? own.map((line) => commented(line, indent)) : own)];
  });
}

/** A part that does not exist unless it is set. It is commented out as a whole. */
function unsetLines(name: string, { kind, members }: List<Table> | Optional<Table>, indent: string): readonly string[] {
  const inner = kind === 'list' ? `${indent}    ` : `${indent}  `;
  const lines = linesOf(members, inner).map((line) => commented(line, indent));
  const isFirst = (line: string): boolean => !/^ *# *# /.test(line);
  const first = lines.findIndex(isFirst);
  const begun = lines.map((line, index) =>
    index === first && kind === 'list' ? line.replace('#    ', '#  - ') : line,
  );
  return [`${indent}#${name}:`, ...begun];
}

/** The line as part of a commented block. Removing the first `#` of each line restores the block. */
function commented(line: string, indent: string): string {
  return `${indent}#${line.slice(indent.length).replace(/^( *)#(?! )/, '$1')}`;
}

function settingLines(
  name: string,
  { doc, default: usual, example, flag, env, secretFile }: Setting<unknown>,
  indent: string,
): readonly string[] {
  const variables = [...(flag === undefined ? [] : [flag.split(' ')[0] ?? '']), ...(env ?? [])];
  const from = variables.length === 0 ? '' : ` (${variables.join(', ')})`;
  const line = usual === undefined ? `${indent}#${name}: ${example ?? ''}` : `${indent}${name}: ${writtenText(usual)}`;
  const file = secretFile === undefined ? [] : [`${indent}#${name}File: secrets/${name}`];
  return [`${indent}# ${doc}${from}`, line, ...file];
}
