// A digest of what an actor can see. A cursor or a log entry uses it to tell whether that is still the same (docs/queries.md "Pages").
import type { Visible } from '../model/decision.js';
import { snapshotJson } from './canonical.js';
import { digestOf } from './hash.js';

/** `sha256:` and 64 hex digits; equal if and only if the visibilities are equal. */
export function visibilityDigest(visible: Visible): string {
  return digestOf(
    snapshotJson(
      visible.kind === 'all'
        ? ['bailiwick.visible', 1]
        : ['bailiwick.visible', 1, { exact: visible.exact, subtrees: visible.subtrees }],
    ),
  );
}
