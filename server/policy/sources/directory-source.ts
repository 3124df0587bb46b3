// Follows a directory store and offers what its pointer names. The pointer moves atomically, so there is nothing to
// wait for.
import { readPointer, snapshotPath, statementPath, storedStatement } from './directory-store.js';
import { pathFaultOf, refusal } from '../policy-fault.js';
import { rememberedLooks } from './remembered-looks.js';
import type { Source } from './source.js';
import { sourceState } from './source-state.js';
import { stat } from 'node:fs/promises';

/** `directory` is absolute. */
export function makeDirectorySource(directory: string): Source {
  const look = rememberedLooks();
  return {
    facts: { directory },
    look: async (why) => {
      const pointer = await readPointer(directory);
      if (pointer === null) {
        const isThere = await stat(directory).then(
          (facts) => facts.isDirectory(),
          () => false,
        );
        const what = isThere ? 'nothing was published there yet' : 'there is no such directory';
        throw refusal('source.missing', what);
      }
      const { snapshot: digest, statement } = pointer;
      const path = snapshotPath(directory, digest);
      // Copying a store may copy the pointer first.
      const fault = await stat(path).then(() => null, pathFaultOf);
      if (fault !== null) {
        const what = fault.kind === 'missing' ? 'is not there yet' : 'cannot be read';
        throw refusal('source.missing', `the snapshot that is published ${what} (${path})`);
      }
      const files = [path, ...(statement === null ? [] : [statementPath(directory, statement)])];
      const state = JSON.stringify([pointer, await sourceState(files)]);
      return look(why, state, () => {
        const content = { kind: 'file', path, digest } as const;
        const from = { kind: 'directory', path: directory } as const;
        return Promise.resolve({ content, statement: storedStatement(directory, statement), from });
      });
    },
  };
}
