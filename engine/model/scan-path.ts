// The one pass over the text of a path: it validates, finds the segments and hashes the path and every ancestor of it.
// `canonicalize` asks whether the text is a path, the decision table where it is.

export const NAMESPACE_LIMITS = Object.freeze({ segments: 32, bytes: 1024, segmentLength: 63 });

/** What the pass found; used again and again, so that nothing is allocated. */
export interface PathMarks {
  /** The text without its outer slashes: `text.slice(from, to)`. */
  from: number;
  to: number;
  /** How many segments there are; 0 is the root. */
  depth: number;
  /** By depth, where the segment ends; that of the root, 0, is one before `from`. */
  readonly ends: Int32Array;
  /** By depth, the hash of the path up to there. That of the root is where hashes start: whoever looks paths up may set it. */
  readonly hashes: Int32Array;
}

export function makeMarks(): PathMarks {
  // Any text within the limit of bytes is scanned to its end before its segments are counted.
  const size = NAMESPACE_LIMITS.bytes + 1;
  return { from: 0, to: 0, depth: 0, ends: new Int32Array(size), hashes: new Int32Array(size) };
}

const SLASH = 0x2f;
const DOT = 0x2e;

/** FNV-1a, from a start of the policy's own (table/slots.ts). */
export function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

const WRONG = 0x80;
/** 0 for `[a-z0-9._~-]`, 1 for a slash. */
const KINDS = Uint8Array.from({ length: 128 }, (_, unit) =>
  unit === SLASH ? 1 : /[a-z0-9._~-]/.test(String.fromCharCode(unit)) ? 0 : WRONG,
);

/** Whether the text is a path, perhaps without its leading slash or with one slash too many at the end. */
export function scanPath(text: string, marks: PathMarks): boolean {
  const { length } = text;
  const { ends, hashes } = marks;
  const from = text.charCodeAt(0) === SLASH ? 1 : 0;
  const to = length > 1 && text.charCodeAt(length - 1) === SLASH ? length - 1 : length;
  marks.from = from;
  marks.to = to;
  marks.depth = 0;
  ends[0] = from - 1;
  if (length === 1 && from === 1) return true;
  // With the leading slash, which the text may lack. Segments are ASCII, so code units are bytes.
  if (to - from + 1 > NAMESPACE_LIMITS.bytes) return false;
  // Without a branch for slashes, which would be guessed wrong at each: the marks of a segment are written until it ends.
  let depth = 1;
  let seen = 0;
  let hash = hashUnit(hashes[0] ?? 0, SLASH);
  for (let i = from; i < to; i += 1) {
    const unit = text.charCodeAt(i);
    const kind = KINDS[unit & 0x7f] ?? WRONG;
    seen |= unit | kind;
    ends[depth] = i;
    hashes[depth] = hash;
    depth += kind & 1;
    hash = hashUnit(hash, unit);
  }
  if (seen >= WRONG || depth > NAMESPACE_LIMITS.segments) return false;
  ends[depth] = to;
  hashes[depth] = hash;
  for (let level = 1; level <= depth; level += 1)
    if (!isSegment(text, (ends[level - 1] ?? 0) + 1, ends[level] ?? 0)) return false;
  marks.depth = depth;
  return true;
}

/** Whether characters that are each allowed form a segment. */
function isSegment(text: string, start: number, end: number): boolean {
  const length = end - start;
  if (length > 2) return length <= NAMESPACE_LIMITS.segmentLength;
  return length > 0 && (text.charCodeAt(start) !== DOT || (length === 2 && text.charCodeAt(start + 1) !== DOT));
}
