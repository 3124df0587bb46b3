// What of a CODEOWNERS file grants can say. In CODEOWNERS the last line that matches decides alone, while grants add up and hold below their
// namespace. So a line is left out if a later one decides about files in it that no path names, and a grant stays at its folder if a folder below has
// other owners.
import type { Unsaid } from '../imported-policy.js';
import { valueIn } from '../value-in.js';
import type { CodeOwners, OwnerLine } from './read-code-owners.js';

export interface OwnedFolder {
  readonly folder: string;
  readonly line: OwnerLine;
  /** Whether its owners also own every folder below it. */
  readonly inherit: boolean;
}

export interface OwnedFolders {
  readonly folders: readonly OwnedFolder[];
  readonly unsaid: readonly Unsaid[];
}

export function ownedFolders({ lines }: CodeOwners): OwnedFolders {
  const unsaid = new Map<OwnerLine, string>();
  const wild = lines.flatMap((line, i) => (line.folder === null ? [{ line, i }] : []));
  for (const [i, line] of lines.entries()) {
    if (line.folder === null) {
      unsaid.set(line, 'the pattern is for files by their names, and a namespace is one folder or one file');
      continue;
    }
    const { folder } = line;
    const thief = wild.find((later) => later.i > i && meets(later.line, folder) && changes(later.line, line));
    if (thief !== undefined)
      unsaid.set(line, `line ${String(thief.line.line)} decides about files in it that no path names`);
  }
  /** By folder: the place of its last line. */
  const lastOf = new Map(lines.flatMap(({ folder }, i) => (folder === null ? [] : [[folder, i] as const])));
  const decided = [...lastOf.keys()].flatMap((folder) => {
    const line = lines[Math.max(...withAbove(folder).map((one) => lastOf.get(one) ?? -1))];
    return line === undefined ? [] : [{ folder, line }];
  });
  const inside = new Map<string, typeof decided>();
  for (const one of decided) for (const above of withAbove(one.folder)) valueIn(inside, above, () => []).push(one);
  const narrowed = new Map<OwnerLine, string>();
  const folders = decided
    .filter(({ line }) => !unsaid.has(line))
    .map(({ folder, line }) => {
      const other = inside.get(folder)?.find((below) => !isPart(line, below.line));
      if (other !== undefined) {
        const at = folder === '' ? 'the top folder' : `\`${folder}\``;
        const who = `line ${String(other.line.line)} gives \`${other.folder}\` to others`;
        narrowed.set(line, `it holds at ${at} itself, not in folders below that no line names: ${who}`);
      }
      return { folder, line, inherit: other === undefined };
    });
  const findings = [...unsaid, ...narrowed].map(([{ file, line, text }, why]) => ({ file, line, rule: text, why }));
  return { folders, unsaid: findings };
}

/** The folder, and every one above it. */
function withAbove(folder: string): readonly string[] {
  const all = ['', folder];
  for (let cut = folder.indexOf('/'); cut >= 0; cut = folder.indexOf('/', cut + 1)) all.push(folder.slice(0, cut));
  return [...new Set(all)];
}

function isBelow(folder: string, above: string): boolean {
  return above === '' || folder === above || folder.startsWith(`${above}/`);
}

/** Whether all owners of a line are owners of the other. */
function isPart({ owners }: OwnerLine, other: OwnerLine): boolean {
  return owners.every((owner) => other.owners.includes(owner));
}

/**
 * Whether a later pattern may matter to what an earlier line says. If it only gives more, and only for files of certain names, then what the
 * earlier line gives remains true.
 */
function changes(later: OwnerLine, line: OwnerLine): boolean {
  const last = later.pattern.split('/').at(-1) ?? '';
  const isOfNames = /[*?]/.test(last) && /[^*?]/.test(last);
  return !isPart(line, later) || (!isOfNames && !isPart(later, line));
}

/** Whether a pattern may match a file in the folder. */
function meets({ pattern }: OwnerLine, folder: string): boolean {
  const body = pattern.replace(/^\//, '');
  if (!pattern.startsWith('/') && !body.replace(/\/$/, '').includes('/')) return true;
  const fixed = body.replace(/[^/]*[*?\\].*$/, '').replace(/\/$/, '');
  return isBelow(fixed, folder) || isBelow(folder, fixed);
}
