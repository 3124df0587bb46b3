// Decides which files are read: those named like policy files, within the limits on number and size.
import { groupDigits } from '../diagnostics/fault-words.js';
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
  let totalBytes = 0;
  for (const [index, file] of files.entries()) {
    const { path } = file;
    const { length } = file.bytes;
    invariant(files[index - 1]?.path !== path, `the file ${path} was given twice`);
    const refusal = nameRefusal(path);
    if (refusal !== null) {
      if (refusal !== 'aside') sink.add({ ...textRefusal(refusal, file.bytes), file: path });
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
      const message = `the file has ${groupDigits(length)} bytes, and ${groupDigits(limits.fileBytes)} are allowed`;
      sink.add({ code: 'FILE_TOO_LARGE', file: path, message, help: 'split the file' });
      continue;
    }
    totalBytes += length;
    if (totalBytes > limits.totalBytes) {
      const message = `the files up to this one have more than ${groupDigits(limits.totalBytes)} bytes together`;
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

/**
 * Why a file of a policy folder is not read, judged by its path; null for a policy file. A file that looks like policy under another
 * name is an error: a guardrail that is not read guards nothing.
 */
export function nameRefusal(path: string): NameRefusal | 'aside' | null {
  if (path.endsWith('.yaml')) return null;
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (ASIDE.test(path) && !/\.ya?ml\.md$/i.test(name)) return 'aside';
  return (SNAPSHOT.test(name) ? null : misnamed(name)) ?? IGNORED;
}

/**
 * Why a hidden file is refused if its text reads like policy. The name alone does not show it: tools demand names such
 * as `.gitlab-ci.yml`.
 */
export function hiddenRefusal(name: string): NameRefusal | null {
  return OPEN_IN_EDITOR.test(name) ? null : misnamed(name);
}

export function readsLikePolicy(bytes: Uint8Array): boolean {
  return POLICY_TEXT.test(new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes));
}

/** A file that would be ignored by its name is refused if its text reads like policy. */
export function textRefusal(refusal: NameRefusal, bytes: Uint8Array): NameRefusal {
  return refusal.code === 'FILE_IGNORED' && readsLikePolicy(bytes) ? POLICY_UNDER_ANY_NAME : refusal;
}

function misnamed(name: string): NameRefusal | null {
  const end = LIKE_POLICY.exec(name)?.index ?? slipOf(name);
  if (end === null) return null;
  const stem = name.slice(0, end).replace(/^[#~]+/, '');
  const rename = stem === '' ? 'rename it so that it ends in `.yaml`' : `rename it to \`${stem}.yaml\``;
  return {
    code: 'FILE_MISNAMED',
    message: 'the file has almost the name of a policy file, and is not read',
    help: `${rename}, or move it out of the folder`,
  };
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
  help: 'rename it so that it ends in `.yaml`, or move it out of the folder',
};
/** Files other than policy that a policy folder may hold without a warning. A hidden `*.yaml` is policy. */
const ASIDE = /(?:^|\/)\.|(?:^|\/)(?:[^/]*\.md|CODEOWNERS|LICENSE)$/;
/** Files that this program writes itself. */
const SNAPSHOT = /^(?:.*[.-])?snapshot\.json$|\.dsse\.json$/;
/** `.yml`, `.YAML`, `.json`, and copies such as `.yaml.txt`, `.yaml~` and `.yaml.bak`. */
const LIKE_POLICY = /\.ya?ml|\.json[c5]?(?![a-z0-9])/i;
/** Files that an editor keeps next to a file while it is open. */
const OPEN_IN_EDITOR = /\.sw[a-z]$|\.un~$|swp$|#$/;
/** A section of a policy file in YAML or JSON. It does not match prose, or other tools' mappings under a key that is a list here. */
const POLICY_TEXT = new RegExp(
  [
    /^bailiwick[ \t]*:[ \t]*\d/,
    /^within[ \t]*:[ \t]*["']?\//,
    /^(?:roles|people)[ \t]*:\s*(?:#.*\s+)*(?:\{|[^\s:#{]+[ \t]*:\s)/,
    /^(?:grants|guardrails|tests)[ \t]*:\s*(?:#.*\s+)*[-[]/,
    /"(?:grants|guardrails)"\s*:\s*\[/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
);
