// Tells from the files' metadata, without reading them, whether a policy may have changed. This is only a hint: what is
// read is verified, and an urgent look does not ask it.
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isForeignFolder, mayMatter } from '../../../engine/compiler.js';
import { codeOf } from '../policy-fault.js';

/**
 * Stays equal as long as nothing at these absolute paths, files or folders, is written, replaced, added or removed. In a
 * folder, files that no policy has do not count: a tool may keep one there that it writes all the time. `heard` is called
 * whenever the disk has answered.
 */
export async function sourceState(paths: readonly string[], heard: () => void = () => undefined): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${await stateOf(path, heard)}\n`);
  return hash.digest('hex');
}

/** Asks for one thing at a time, because each question to a disk that hangs holds one of few threads. */
async function stateOf(path: string, heard: () => void): Promise<string> {
  const texts: string[] = [];
  const left = [''];
  for (let inside = left.pop(); inside !== undefined; inside = left.pop()) {
    const { text, isFolder } = await statText(join(path, inside));
    heard();
    if (inside !== '' && (isFolder ? isForeignFolder(inside) : !mayMatter(inside))) continue;
    texts.push(`${inside}\0${text}`);
    // `recursive` would wait for the disk on the thread that answers requests.
    if (isFolder) for (const name of await readdir(join(path, inside)).catch(() => [])) left.push(join(inside, name));
  }
  return texts.sort().join('\n');
}

async function statText(path: string): Promise<{ readonly text: string; readonly isFolder: boolean }> {
  try {
    const facts = await stat(path, { bigint: true });
    const { dev, ino, size, mtimeNs, ctimeNs, mode } = facts;
    const isFolder = facts.isDirectory();
    // The times of a folder change with files that do not count. Those that do are listed.
    return { text: [dev, ino, mode, ...(isFolder ? [] : [size, mtimeNs, ctimeNs])].join(), isFolder };
  } catch (error) {
    return { text: codeOf(error), isFolder: false };
  }
}
