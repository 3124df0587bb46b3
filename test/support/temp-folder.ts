// Folders with given files. The environment removes them when the test file is done: after all of its hooks, so that no
// process that one of them ends still writes there.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A new folder holding `files`, text by relative path. */
export async function makeFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-test-'));
  (globalThis.testFolders ??= []).push(folder);
  for (const [path, content] of Object.entries(files)) {
    const full = join(folder, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
  }
  return folder;
}
