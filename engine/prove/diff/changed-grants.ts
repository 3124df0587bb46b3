// Which grants two policies do not have in common. A grant is followed by its id: what stands in both under one id is
// compared in all that rights depend on.
import { compareTexts } from '../../model/order.js';
import { mergeRows, type PolicyPair, rowsOfCommon, type Side } from './policy-pair.js';

/** What can differ between two versions of a grant. */
export type GrantField = 'principal' | 'namespace' | 'scopes' | 'inherit' | 'notBefore' | 'expires';

export interface GrantChanges {
  /** By grant of the old policy: the row of its new version, -1 if it was removed. */
  readonly newVersion: Int32Array;
  /** By grant of the new policy: the row of its old version, -1 if it was added. */
  readonly oldVersion: Int32Array;
  /** 1 for grants of the old policy that are removed or changed. */
  readonly oldDiffers: Uint8Array;
  /** 1 for grants of the new policy that are added or changed. */
  readonly newDiffers: Uint8Array;
}

export function compareGrants(pair: PolicyPair): GrantChanges {
  const [before, after] = [pair.old.policy.tables.grants, pair.new.policy.tables.grants];
  const ids = mergeRows(before.id.length, after.id.length, (a, b) =>
    compareTexts(before.id[a] ?? '', after.id[b] ?? ''),
  );
  const oldRows = rowsOfCommon(ids.left, ids.count);
  const newRows = rowsOfCommon(ids.right, ids.count);
  const newVersion = ids.left.map((id) => newRows[id] ?? -1);
  const oldVersion = ids.right.map((id) => oldRows[id] ?? -1);
  const differ = (old: number, changed: number): number =>
    old < 0 || changed < 0 || FIELDS.some(([, read]) => read(pair.old, old) !== read(pair.new, changed)) ? 1 : 0;
  return {
    newVersion,
    oldVersion,
    oldDiffers: Uint8Array.from(newVersion, (changed, old) => differ(old, changed)),
    newDiffers: Uint8Array.from(oldVersion, (old, changed) => differ(old, changed)),
  };
}

const FIELDS: readonly (readonly [GrantField, (side: Side, grant: number) => number | undefined])[] = [
  ['principal', ({ policy, principalOf }, grant) => principalOf[policy.tables.grants.principal[grant] ?? 0]],
  ['namespace', ({ rights }, grant) => rights.rowOfGrant[grant]],
  ['scopes', ({ policy }, grant) => policy.tables.grants.scopes[grant]],
  ['inherit', ({ policy }, grant) => policy.tables.grants.inherit[grant]],
  ['notBefore', ({ policy }, grant) => policy.tables.grants.notBefore[grant]],
  ['expires', ({ policy }, grant) => policy.tables.grants.expires[grant]],
];

/** What differs between two versions of a grant. */
export function changedFields(
  pair: PolicyPair,
  versions: { readonly old: number; readonly new: number },
): readonly GrantField[] {
  return FIELDS.filter(([, read]) => read(pair.old, versions.old) !== read(pair.new, versions.new)).map(
    ([field]) => field,
  );
}
