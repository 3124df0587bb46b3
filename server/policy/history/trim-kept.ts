// Keeps a folder of kept answers within bounds: what was not used for longest goes first, whichever version of this program wrote it.
import type { Dirent } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

interface KeptFile {
  readonly path: string;
  readonly bytes: number;
  readonly used: number;
}

/** What a small file takes of a disk. */
const BLOCK = 4096;
/** How much is left of a folder that was too large, so that not every run has to remove something. */
const LEFT = 0.75;

/** Files that somebody else removes meanwhile are no failure. */
export async function trimKept(folder: string, maxBytes: number): Promise<void> {
  const files = await filesBelow(folder);
  let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= maxBytes) return;
  for (const { path, bytes } of files.sort((a, b) => a.used - b.used)) {
    if (total <= maxBytes * LEFT) return;
    await rm(path, { force: true });
    total -= bytes;
  }
}

async function filesBelow(folder: string): Promise<KeptFile[]> {
  const entries: readonly Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: KeptFile[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) for (const file of await filesBelow(path)) found.push(file);
    if (entry.isFile()) {
      const facts = await stat(path).catch(() => null);
      if (facts === null) continue;
      // Not every disk notes when a file was read.
      const used = Math.max(facts.atimeMs, facts.mtimeMs);
      found.push({ path, bytes: Math.max(facts.size, BLOCK), used });
    }
  }
  return found;
}
