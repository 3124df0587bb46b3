// A name for what an actor can see, so that a cursor or a log can say that it is still the same (docs/queries.md "Pages").
import type { Visible } from '../model/decision.js';
import { snapshotJson } from './canonical.js';
import { digestOf } from './hash.js';

/** `sha256:` and 64 hex digits; equal exactly for equal visibilities. */
export function visibilityDigest(visible: Visible): string {
  return digestOf(
    snapshotJson(
      visible.kind === 'all'
        ? ['bailiwick.visible', 1]
        : ['bailiwick.visible', 1, { exact: visible.exact, subtrees: visible.subtrees }],
    ),
  );
}
