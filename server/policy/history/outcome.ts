// What is known of the trees of a history. All of it is plain data, so that it can be kept in files.
import type { DiffReport, DiffRow } from '../../../engine/compiler.js';
import type { TreeFault } from './tree-policy.js';

/** What the folder of one commit is. */
export type CommitOutcome =
  | {
      readonly kind: 'policy';
      readonly snapshot: string;
      readonly decisions: string;
      /** Under which name its people are kept; null if it names none. */
      readonly people: string | null;
    }
  | { readonly kind: 'fault'; readonly fault: TreeFault }
  /** The commit has no such folder. */
  | { readonly kind: 'absent' };

/** What one policy gave and took compared with another. */
export interface Changes {
  readonly gained: readonly DiffRow[];
  readonly lost: readonly DiffRow[];
  readonly exclusive: DiffReport['exclusive'];
}

/** Identities by the name of the person. */
export type People = Readonly<Record<string, readonly string[]>>;
