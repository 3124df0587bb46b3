// Folders with given files, removed when the test file is done.
import { afterAll } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const made: string[] = [];

afterAll(async () => {
  await Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true })));
});

/** A new folder holding `files`, text by relative path. */
export async function makeFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-test-'));
  made.push(folder);
  for (const [path, content] of Object.entries(files)) {
    const full = join(folder, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
  }
  return folder;
}
