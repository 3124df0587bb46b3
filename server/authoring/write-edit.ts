// Writes an edit that `explain` proposes into the files of a policy, and reads them again: they must decide as the edit says.
import {
  type Change,
  type DocumentReader,
  diffDrafts,
  draftPolicy,
  editedSet,
  ENGINE_LIMITS,
  type Hunk,
  type PatchedFile,
  patchFiles,
  type PolicySet,
  readPolicy,
  type SourceFile,
  type TakingChange,
} from '../../engine/compiler.js';

export interface WantedEdit {
  /** What the files say. */
  readonly set: PolicySet;
  readonly change: Change | TakingChange;
  /** One `rememberingReader`, where several edits follow each other. */
  readonly reader?: DocumentReader;
}

export type WrittenEdit =
  | {
      readonly ok: true;
      readonly files: readonly PatchedFile[];
      readonly hunks: readonly Hunk[];
      /** What the files say with the edit. */
      readonly set: PolicySet;
    }
  /** Nothing can be written, for this reason. */
  | { readonly ok: false; readonly reason: string };

export function writeEdit(files: readonly SourceFile[], { set, change, reader }: WantedEdit): WrittenEdit {
  const patch = patchFiles(files, { set, change });
  if (!patch.ok) return patch;
  const bytes = new Map(patch.files.map(({ path, to }) => [path, to]));
  // The files may break rules that no single declaration shows, such as where a delegated folder may grant.
  const { policy, diagnostics } = readPolicy(
    files.map((file) => ({ path: file.path, bytes: bytes.get(file.path) ?? file.bytes })),
    ENGINE_LIMITS,
    reader,
  );
  const fault = diagnostics.find(({ severity }) => severity === 'error');
  if (policy === null || fault !== undefined)
    return invalid(fault === undefined ? '' : `: ${fault.file}: ${fault.message}`);
  const [now, meant] = [draftPolicy(policy), draftPolicy(withIds(editedSet(set, change)))];
  if (now === null || meant === null) return invalid(': it would be larger than the limits allow');
  if (!diffDrafts(meant, now).equal)
    return { ok: false, reason: 'the files have a layout in which it would change something else' };
  return { ok: true, files: patch.files, hunks: patch.hunks, set: policy };
}

function invalid(why: string): WrittenEdit {
  return { ok: false, reason: `the policy would be invalid${why}` };
}

/** A proposed grant has no id yet. */
function withIds(set: PolicySet): PolicySet {
  return { ...set, grants: set.grants.map((grant) => (grant.id === '' ? { ...grant, id: 'new' } : grant)) };
}
