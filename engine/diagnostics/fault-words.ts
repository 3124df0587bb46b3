// Words that all messages share: how a count is written, and why a string is not a namespace or an identity. The reasons end a
// sentence such as "`/A` is not a namespace: …".
import type { IdentityFault } from '../model/identity.js';
import { canonicalize, NAMESPACE_LIMITS, type NamespacePath, type PathFault } from '../model/namespace.js';

const PATH_FAULTS: Readonly<Record<PathFault, string>> = Object.freeze({
  not_text: 'it is not text',
  empty: 'it is empty; the root is `/`',
  too_long: `it has more than ${String(NAMESPACE_LIMITS.bytes)} bytes`,
  too_deep: `it has more than ${String(NAMESPACE_LIMITS.segments)} segments`,
  empty_segment: 'it has an empty segment',
  dot_segment: '`.` and `..` are not segments',
  segment_too_long: `a segment has more than ${String(NAMESPACE_LIMITS.segmentLength)} characters`,
  character: 'segments are made of `a-z`, `0-9`, `.`, `_`, `~`, `-`',
});

const IDENTITY_FAULTS: Readonly<Record<IdentityFault, string>> = Object.freeze({
  no_colon: 'it has no colon',
  provider: 'the part before the first colon is not a provider name',
  subject_empty: 'the subject is empty',
  subject_too_long: 'the subject has more than 255 bytes',
  subject_space: 'the subject begins or ends with white space',
  subject_control: 'the subject has a control character',
  not_nfc: 'the subject is not in normal form C',
});

export function pathFaultText(fault: PathFault): string {
  return PATH_FAULTS[fault];
}

export function identityFaultText(fault: IdentityFault): string {
  return IDENTITY_FAULTS[fault];
}

/** The namespace that the author may have meant: without capitals, surrounding white space and repeated slashes. */
export function meantPath(text: string): NamespacePath | null {
  const meant = canonicalize(
    text
      .trim()
      .toLowerCase()
      .replaceAll(/\/{2,}/g, '/'),
  );
  return meant.ok ? meant.path : null;
}

/** `64 MiB`, or the number of bytes if that is not a multiple. */
export function bytesText(bytes: number): string {
  const mebibytes = bytes / 2 ** 20;
  return Number.isInteger(mebibytes) ? `${groupDigits(mebibytes)} MiB` : `${groupDigits(bytes)} bytes`;
}

/** `1,204,000` */
export function groupDigits(number: bigint | number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
