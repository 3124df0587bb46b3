// Reads a policy folder into source files, with a diagnostic for everything in it that will not be read: nothing is
// silently skipped (docs/language.md "Strictness"). This file does not know what is inside the files.
import { join, sep } from 'node:path';
import { isUtf8 } from 'node:buffer';
import {
  type Diagnostic,
  type DiagnosticCode,
  hiddenFolderRefusal,
  hiddenRefusal,
  isForeignFolder,
  makeDiagnostic,
  nameRefusal,
  readsLikePolicy,
  textRefusal,
  ENGINE_LIMITS,
  type SourceFile,
} from '../../../engine/compiler.js';
import { bytesText, compareTexts, groupDigits } from '../../../engine/index.js';
import { NoAnswer } from '../../lib/stuck-disk.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { codeOf, type FileFault, pathFaultOf } from '../policy-fault.js';
import { DISK, type EntryKind, type FolderFiles } from './folder-files.js';

export interface FolderReading {
  /** In code unit order of their paths. */
  readonly files: readonly SourceFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** What could not be read because of an error, as paths of policy files or patterns of paths. */
  readonly unread: readonly string[];
}

export type FolderResult =
  ({ readonly kind: 'read' } & FolderReading) | { readonly kind: 'path'; readonly fault: FileFault };

/** Reads the folder at an absolute path. */
export async function readFolder(folder: string, on: FolderFiles = DISK): Promise<FolderResult> {
  const root = await openFolder(folder, on);
  if (typeof root !== 'string') return { kind: 'path', fault: root };
  const walk: Walk = {
    on,
    root,
    files: [],
    diagnostics: [],
    unread: [],
    bytes: 0,
    hiddenLeft: POLICY_LIMITS.hiddenEntries,
    stopped: false,
  };
  try {
    await visitFolder(walk, walk.root, '', [walk.root]);
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: 'path', fault: pathFaultOf(error) };
    throw error;
  }
  walk.files.sort((a, b) => compareTexts(a.path, b.path));
  return { kind: 'read', files: walk.files, diagnostics: walk.diagnostics, unread: walk.unread };
}

interface Walk {
  readonly on: FolderFiles;
  /** Real path of the policy folder. */
  readonly root: string;
  readonly files: SourceFile[];
  readonly diagnostics: Diagnostic[];
  readonly unread: string[];
  bytes: number;
  /** How many entries of hidden folders may still be looked at. */
  hiddenLeft: number;
  /** Set when a limit is reached, because reading on would only pile up faults. */
  stopped: boolean;
}

async function openFolder(folder: string, on: FolderFiles): Promise<string | FileFault> {
  try {
    return (await on.kindOf(folder)) === 'folder' ? await on.realPathOf(folder) : { kind: 'not_a_folder' };
  } catch (error) {
    return pathFaultOf(error);
  }
}

/** `above` holds the real paths of the folders that lead here: a link back to one of them would never end. */
async function visitFolder(walk: Walk, folder: string, prefix: string, above: readonly string[]): Promise<void> {
  let names: readonly Buffer[];
  try {
    names = await walk.on.namesIn(folder);
  } catch (error) {
    report(walk, 'FILE_UNREADABLE', prefix, {
      message: `the folder cannot be read (${codeOf(error)})`,
      help: 'make it readable for the user who runs this',
    });
    return;
  }
  const known = new Set(names.map((raw) => raw.toString('utf8')));
  const beside = (name: string): boolean => known.has(name);
  for (const raw of [...names].sort((a, b) => a.compare(b))) {
    if (walk.stopped) return;
    const name = raw.toString('utf8');
    const entry = { real: join(folder, name), name, path: prefix === '' ? name : `${prefix}/${name}`, beside };
    const { path } = entry;
    if (await isAside(walk.on, name, entry.real)) {
      if (name.startsWith('.')) await visitHidden(walk, entry);
      continue;
    }
    if (!isUtf8(raw) || !isPlainName(name)) {
      report(walk, 'FILE_NAME', path, {
        message: 'the name is not plain NFC text',
        help: 'rename it without control characters and in composed (NFC) form',
      });
    } else await visitEntry(walk, entry, above);
  }
}

/** What is known of a place about which the system refuses to say anything. A disk that does not answer has not refused. */
function refused(error: unknown): null {
  if (error instanceof NoAnswer) throw error;
  return null;
}

/** What may be in the folder without a diagnostic. A folder only if its name begins with a dot. */
async function isAside(on: FolderFiles, name: string, real: string): Promise<boolean> {
  // Emacs marks a file with unsaved changes by such a link to nothing.
  if (name.startsWith('.#')) return (await on.kindOf(real).catch(refused)) === null;
  if (nameRefusal(name) !== 'aside') return false;
  return name.startsWith('.') || (await on.kindOf(real).catch(refused)) !== 'folder';
}

/** A hidden file that is not `*.yaml` is not policy unless its name and its text look like it. A hidden folder has none. */
async function visitHidden(walk: Walk, { real, name, path, beside }: Entry): Promise<void> {
  if ((await walk.on.ownKindOf(real).catch(refused)) === 'folder') {
    await visitHiddenFolder(walk, real, path);
    return;
  }
  const refusal = hiddenRefusal(name, beside);
  if (refusal === null) return;
  const bytes = await bytesOfOther(walk.on, real);
  if (bytes !== null && readsLikePolicy(bytes)) report(walk, refusal.code, path, refusal);
}

/** Looks for policy that nobody would see. Other programs may keep many files in such folders, so it looks at the first ones only. */
async function visitHiddenFolder(walk: Walk, folder: string, prefix: string): Promise<void> {
  if (isForeignFolder(prefix)) return;
  const names = (await walk.on.namesIn(folder).catch(refused)) ?? [];
  for (const name of names.map((raw) => raw.toString('utf8')).sort(compareTexts)) {
    walk.hiddenLeft -= 1;
    if (walk.hiddenLeft < 0) return;
    const [real, path] = [join(folder, name), `${prefix}/${name}`];
    const kind = await walk.on.ownKindOf(real).catch(refused);
    if (kind === 'folder') await visitHiddenFolder(walk, real, path);
    else if (kind === 'file' && name.endsWith('.yaml')) {
      const bytes = await bytesOfOther(walk.on, real);
      const refusal = bytes === null ? null : hiddenFolderRefusal(path, bytes);
      if (refusal !== null) report(walk, refusal.code, path, refusal);
    }
  }
}

/**
 * The bytes of a file that has no policy file's name. Null if it is not a regular file, is too large, or cannot be
 * read.
 */
async function bytesOfOther(on: FolderFiles, real: string): Promise<Uint8Array | null> {
  const read = await on.read(real, { links: 'followed' }).catch(refused);
  return read === null || typeof read === 'string' ? null : read;
}

function isPlainName(name: string): boolean {
  return name.normalize('NFC') === name && !/[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(name);
}

interface Entry {
  readonly real: string;
  readonly name: string;
  readonly path: string;
  /** Whether the folder has an entry with this name. */
  readonly beside: (name: string) => boolean;
}

async function visitEntry(walk: Walk, entry: Entry, above: readonly string[]): Promise<void> {
  const resolved = await resolveInside(walk, entry);
  if (resolved === null) return;
  const refusal = nameRefusal(entry.path, entry.beside);
  if (resolved.kind === 'folder') {
    if (entry.name.endsWith('.yaml'))
      report(walk, 'FILE_SPECIAL', entry.path, {
        message: 'a folder has the name of a policy file',
        help: 'rename it without `.yaml`',
      });
    else if (above.includes(resolved.real))
      report(walk, 'FILE_SYMLINK', entry.path, {
        message: 'a symbolic link leads to a folder that it is in',
        help: REMOVE_LINK,
      });
    else if (above.length > POLICY_LIMITS.folderDepth)
      report(walk, 'FILE_UNREADABLE', entry.path, {
        message: `the folder is nested deeper than ${groupDigits(POLICY_LIMITS.folderDepth)} folders`,
        help: 'move it up',
      });
    else await visitFolder(walk, resolved.real, entry.path, [...above, resolved.real]);
  } else if (refusal !== null) {
    if (refusal === 'aside') return;
    const bytes = refusal.code === 'FILE_IGNORED' ? await bytesOfOther(walk.on, resolved.real) : null;
    const found = bytes === null ? refusal : textRefusal(refusal, bytes);
    report(walk, found.code, entry.path, found);
  } else if (resolved.kind === 'other') report(walk, 'FILE_SPECIAL', entry.path, NOT_REGULAR);
  else await readSource(walk, resolved.real, entry.path);
}

/** What an entry is after following links. Null (and a diagnostic) if it cannot be used. */
async function resolveInside(
  walk: Walk,
  entry: Entry,
): Promise<{ readonly kind: EntryKind; readonly real: string } | null> {
  try {
    // What is no link is where its name is, in a folder whose real path is known.
    const own = await walk.on.ownKindOf(entry.real);
    if (own !== 'other') return { kind: own, real: entry.real };
    const real = await walk.on.realPathOf(entry.real);
    if (real !== walk.root && !real.startsWith(walk.root === sep ? sep : walk.root + sep)) {
      report(walk, 'FILE_SYMLINK', entry.path, {
        message: 'a symbolic link leaves the policy folder',
        help: 'put the file itself in the folder',
      });
      return null;
    }
    return { kind: await walk.on.kindOf(real), real };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ELOOP')
      report(walk, 'FILE_SYMLINK', entry.path, {
        message: 'a symbolic link leads back to itself',
        help: REMOVE_LINK,
      });
    else if (code === 'ENOENT')
      report(walk, 'FILE_SYMLINK', entry.path, { message: 'a symbolic link leads to nothing', help: REMOVE_LINK });
    else report(walk, 'FILE_UNREADABLE', entry.path, unreadable(code));
    return null;
  }
}

async function readSource(walk: Walk, real: string, path: string): Promise<void> {
  try {
    const read = await walk.on.read(real, { links: 'refused' });
    if (read === 'special') report(walk, 'FILE_SPECIAL', path, NOT_REGULAR);
    else if (read === 'too_large')
      report(walk, 'FILE_TOO_LARGE', path, {
        message: `the file is larger than ${bytesText(ENGINE_LIMITS.fileBytes)}`,
        help: 'split it',
      });
    else add(walk, { path, bytes: read });
  } catch (error) {
    report(walk, 'FILE_UNREADABLE', path, unreadable(codeOf(error)));
  }
}

function add(walk: Walk, file: SourceFile): void {
  walk.bytes += file.bytes.length;
  if (walk.files.length >= ENGINE_LIMITS.files) {
    report(walk, 'FILE_TOO_MANY', file.path, {
      message: `the policy has more than ${groupDigits(ENGINE_LIMITS.files)} files; this one and those after it were not read`,
      help: 'merge files; it makes no difference which file a grant is in',
    });
    walk.stopped = true;
  } else if (walk.bytes > ENGINE_LIMITS.totalBytes) {
    report(walk, 'FILE_TOTAL_TOO_LARGE', file.path, {
      message: `the policy has more than ${bytesText(ENGINE_LIMITS.totalBytes)}; this file and all after it were not read`,
      help: 'grant to roles instead of single identities, or split the policy',
    });
    walk.stopped = true;
  } else walk.files.push(file);
}

/** What is wrong, and how to fix it. */
interface Advice {
  readonly message: string;
  readonly help: string;
}

const REMOVE_LINK = 'remove it, or put the file itself in its place';
const NOT_REGULAR: Advice = { message: 'this is not a regular file', help: 'put a file in its place, or remove it' };

function unreadable(code: string): Advice {
  return { message: `it cannot be read (${code})`, help: 'make it readable for the user who runs this, or remove it' };
}

function report(walk: Walk, code: DiagnosticCode, file: string, { message, help }: Advice): void {
  const diagnostic = makeDiagnostic({ code, file: file === '' ? '.' : file, message, help });
  walk.diagnostics.push(diagnostic);
  if (diagnostic.severity === 'error') walk.unread.push(file.endsWith('.yaml') ? file : `${file}/*.yaml`);
}
