// Decides which files are read: those named like policy files, within the limits on number and size.
import { bytesText, groupDigits } from '../diagnostics/fault-words.js';
import { nearest } from '../diagnostics/nearest.js';
import type { EngineLimits } from '../limits.js';
import { invariant } from '../model/invariant.js';
import type { Sink } from '../diagnostics/report.js';

/** A file of a policy folder; `path` is relative to the folder, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** `files` must be sorted by path. Reports each file that is left out, unless nobody could miss it. */
export function acceptFiles(files: readonly SourceFile[], limits: EngineLimits, sink: Sink): ReadonlySet<SourceFile> {
  const accepted = new Set<SourceFile>();
  const paths = new Set(files.map(({ path }) => path));
  let totalBytes = 0;
  for (const [index, file] of files.entries()) {
    const { path } = file;
    const { length } = file.bytes;
    invariant(files[index - 1]?.path !== path, `the file ${path} was given twice`);
    const refusal = nameRefusal(path, (name) => paths.has(path.slice(0, path.lastIndexOf('/') + 1) + name));
    if (refusal !== null) {
      const found = refusal === 'aside' ? hiddenFolderRefusal(path, file.bytes) : textRefusal(refusal, file.bytes);
      if (found !== null) sink.add({ ...found, file: path });
      continue;
    }
    if (accepted.size === limits.files) {
      sink.add({
        code: 'FILE_TOO_MANY',
        file: path,
        message: `the folder has more than ${groupDigits(limits.files)} policy files`,
        help: 'merge files; it makes no difference which file a grant is in',
      });
      break;
    }
    if (length > limits.fileBytes) {
      const message = `the file is larger than ${bytesText(limits.fileBytes)}`;
      sink.add({ code: 'FILE_TOO_LARGE', file: path, message, help: 'split the file' });
      continue;
    }
    totalBytes += length;
    if (totalBytes > limits.totalBytes) {
      const message = `the files up to this one have more than ${bytesText(limits.totalBytes)} together`;
      const help = 'grant to roles instead of single identities, or split the policy';
      sink.add({ code: 'FILE_TOTAL_TOO_LARGE', file: path, message, help });
      break;
    }
    accepted.add(file);
  }
  return accepted;
}

export interface NameRefusal {
  readonly code: 'FILE_MISNAMED' | 'FILE_IGNORED';
  readonly message: string;
  readonly help: string;
}

/** Whether a folder has an entry with this name. */
type Beside = (name: string) => boolean;

/**
 * Why a file of a policy folder is not read, judged by its path; null for a policy file. A file that looks like policy under another
 * name is an error: a guardrail that is not read guards nothing. `beside` keeps the help from naming a file that exists.
 */
export function nameRefusal(path: string, beside: Beside = () => false): NameRefusal | 'aside' | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (HIDDEN_FOLDER.test(path)) return 'aside';
  if (name.endsWith('.yaml')) return name.startsWith('.') ? hidden(name, beside) : null;
  if (ASIDE.test(name) && !/\.ya?ml\.md$/i.test(name)) return 'aside';
  return (SNAPSHOT.test(name) ? null : misnamed(name, beside)) ?? IGNORED;
}

/**
 * Why a hidden file that is not `*.yaml` is refused if its text reads like policy. The name alone does not show it: tools demand names
 * such as `.gitlab-ci.yml`.
 */
export function hiddenRefusal(name: string, beside: Beside): NameRefusal | null {
  return OPEN_IN_EDITOR.test(name) ? null : misnamed(name, beside);
}

/** Why a file in a hidden folder is refused; null if it is no policy. Not for `.git`, nor for folders such as `..data`, which mounts have. */
export function hiddenFolderRefusal(path: string, bytes: Uint8Array): NameRefusal | null {
  const isPolicy =
    HIDDEN_FOLDER.test(path) && path.endsWith('.yaml') && !isForeignFolder(path) && readsLikePolicy(bytes);
  return isPolicy ? IN_HIDDEN_FOLDER : null;
}

/** Whether what a file of this path holds can matter to a policy, be it by a diagnostic only. */
export function mayMatter(path: string): boolean {
  if (HIDDEN_FOLDER.test(path)) return path.endsWith('.yaml') && !isForeignFolder(path);
  return nameRefusal(path) !== 'aside' || hiddenRefusal(path.slice(path.lastIndexOf('/') + 1), () => false) !== null;
}

export function isForeignFolder(path: string): boolean {
  return path.split('/').some((name) => name === '.git' || name.startsWith('..'));
}

function hidden(name: string, beside: Beside): NameRefusal {
  const message = 'a hidden policy file, which listings and most reviews do not show';
  return { code: 'FILE_MISNAMED', message, help: renameHelp(name.replace(/^[.#~]+/, ''), beside) };
}

/** Judged by the beginning of the text, since any file may lie in the folder. */
export function readsLikePolicy(bytes: Uint8Array): boolean {
  const beginning = bytes.subarray(0, JUDGED_BYTES);
  return POLICY_TEXT.test(new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(beginning));
}

/** A file that would be ignored by its name is refused if its text reads like policy. */
export function textRefusal(refusal: NameRefusal, bytes: Uint8Array): NameRefusal {
  return refusal.code === 'FILE_IGNORED' && readsLikePolicy(bytes) ? POLICY_UNDER_ANY_NAME : refusal;
}

function misnamed(name: string, beside: Beside): NameRefusal | null {
  const end = LIKE_POLICY.exec(name)?.index ?? slipOf(name);
  if (end === null) return null;
  const stem = name.slice(0, end).replace(/^[.#~]+/, '');
  const message = 'this looks like a policy file, but only `*.yaml` is read';
  return { code: 'FILE_MISNAMED', message, help: renameHelp(`${stem}.yaml`, beside) };
}

function renameHelp(meant: string, beside: Beside): string {
  if (/^\.*yaml$/.test(meant)) return 'give it a name that ends in `.yaml`, or move it out of the folder';
  if (beside(meant))
    return `\`${meant}\` is beside it, and that one is read: remove this one, or move it out of the folder`;
  return `rename it to \`${meant}\`, or move it out of the folder`;
}

/** The index of the dot if the extension is a misspelt `yaml`, such as `.yam`; null otherwise. `.saml` and `.xaml` are other formats. */
function slipOf(name: string): number | null {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1);
  return dot >= 0 && /^[ya]/i.test(extension) && nearest(extension, ['yaml']) !== null ? dot : null;
}

const IGNORED: NameRefusal = {
  code: 'FILE_IGNORED',
  message: 'the file is not read',
  help: 'policy files end in `.yaml`; move other files out of the folder',
};
const POLICY_UNDER_ANY_NAME: NameRefusal = {
  code: 'FILE_MISNAMED',
  message: 'the file has the text of a policy file, and is not read',
  help: 'give it a name of its own that ends in `.yaml`, or move it out of the folder',
};
const IN_HIDDEN_FOLDER: NameRefusal = {
  code: 'FILE_MISNAMED',
  message: 'a policy file in a hidden folder, which is not read',
  help: 'remove it, or move it to a folder whose name does not begin with a dot',
};
const JUDGED_BYTES = 1024 * 1024;
const HIDDEN_FOLDER = /(?:^|\/)\.[^/]*\//;
/** Files other than policy that a policy folder may hold without a warning. */
const ASIDE = /^\.|^(?:.*\.md|CODEOWNERS|LICENSE)$/;
/** Files that this program writes itself. */
const SNAPSHOT = /^(?:.*[.-])?snapshot\.json$|\.dsse\.json$/;
/** `.yml`, `.YAML`, `.json`, and copies such as `.yaml.txt`, `.yaml~` and `.yaml.bak`. */
const LIKE_POLICY = /\.ya?ml|\.json[c5]?(?![a-z0-9])/i;
/** Files that an editor keeps next to a file while it is open. */
const OPEN_IN_EDITOR = /\.sw[a-z]$|\.un~$|swp$|#$/;
/**
 * A section of a policy file in YAML or JSON. It does not match prose, or other tools' mappings under a key that is a list here. A
 * comment ends with its line, so that there is one way to match lines of comments: with two, matching takes exponential time.
 */
const POLICY_TEXT = new RegExp(
  [
    /^bailiwick[ \t]*:[ \t]*\d/,
    /^within[ \t]*:[ \t]*["']?\//,
    /^(?:roles|people)[ \t]*:\s*(?:#[^\n\r]*[\n\r]\s*)*(?:\{|[^\s:#{]+[ \t]*:\s)/,
    /^(?:grants|guardrails|tests)[ \t]*:\s*(?:#[^\n\r]*[\n\r]\s*)*[-[]/,
    /"(?:grants|guardrails)"\s*:\s*\[/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
);
