// Reading many versions of one policy, most of whose files are the same in the next version: a file is read again only if its bytes
// have changed, or the scopes that it may name.
import type { EngineLimits } from '../limits.js';
import type { SourceFile } from './accept-files.js';
import { UNKNOWN_WORDS, type Words } from './context.js';
import { type ReadDocument, readDocument } from './read-document.js';

export type DocumentReader = typeof readDocument;

interface Remembered {
  readonly bytes: Uint8Array;
  readonly limits: EngineLimits;
  readonly words: Words;
  readonly read: ReadDocument;
}

/**
 * Like `readDocument`. Remembers the last version of each path, so the memory it takes is that of one policy for as long as its files keep
 * their names. A file with mistakes is read each time, because the mistakes have to be reported each time.
 */
export function rememberingReader(): DocumentReader {
  const last = new Map<string, Remembered>();
  return (file, { limits, sink, words = UNKNOWN_WORDS }) => {
    const known = last.get(file.path);
    if (known !== undefined && isSame(known, { file, limits, words })) return known.read;
    const before = sink.added();
    const read = readDocument(file, { limits, sink, words });
    if (sink.added() === before) last.set(file.path, { bytes: file.bytes, limits, words, read });
    else last.delete(file.path);
    return read;
  };
}

interface Asked {
  readonly file: SourceFile;
  readonly limits: EngineLimits;
  readonly words: Words;
}

function isSame(known: Remembered, { file, limits, words }: Asked): boolean {
  return known.limits === limits && areSameWords(known.words, words) && areSameBytes(known.bytes, file.bytes);
}

function areSameWords(a: Words, b: Words): boolean {
  const [one, other] = [a.vocabulary.scopes, b.vocabulary.scopes];
  if (a.hidesOthers !== b.hidesOthers || one.length !== other.length) return false;
  return one === other || one.every((scope, i) => scope === other[i]);
}

function areSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  // All files of a policy are compared each time that it is read, so four bytes at a time, where their places allow that.
  const isAligned = (a.byteOffset | b.byteOffset) % 4 === 0;
  const count = isAligned ? a.length >>> 2 : 0;
  return (
    (count === 0 || areSame(wordsOf(a, count), wordsOf(b, count))) &&
    areSame(a.subarray(4 * count), b.subarray(4 * count))
  );
}

function wordsOf({ buffer, byteOffset }: Uint8Array, count: number): Int32Array {
  return new Int32Array(buffer, byteOffset, count);
}

function areSame(a: Int32Array | Uint8Array, b: Int32Array | Uint8Array): boolean {
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
