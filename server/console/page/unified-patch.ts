// What was edited in the page, as a patch that `git apply` takes in the folder of the policy.
import { createTwoFilesPatch } from 'diff';
import type { TextFile } from '../worker/protocol.js';

export interface FilePatch {
  readonly path: string;
  readonly patch: string;
}

/** By file, for those that differ. */
export function unifiedPatch(before: readonly TextFile[], after: readonly TextFile[]): readonly FilePatch[] {
  const texts = new Map(before.map(({ path, text }) => [path, text]));
  return after.flatMap(({ path, text }) => {
    const old = texts.get(path);
    if (old === text) return [];
    const from = old === undefined ? '/dev/null' : named(`a/${path}`);
    const body = createTwoFilesPatch(from, named(`b/${path}`), old ?? '', text, undefined, undefined, {
      context: 3,
      headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
    });
    return [{ path, patch: body }];
  });
}

/** As git writes a name: in quotes where it has one of these. */
function named(path: string): string {
  return /["\\\p{Cc}]/u.test(path)
    ? `"${path.replace(/["\\]/g, '\\$&').replace(/\p{Cc}/gu, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
    : path;
}
