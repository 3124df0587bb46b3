// Tells from the files' metadata, without reading them, whether a policy may have changed. This is only a hint: what is
// read is verified, and an urgent look does not ask it.
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { codeOf } from '../policy-fault.js';

/** Stays equal as long as nothing at these absolute paths, files or folders, is written, replaced, added or removed. */
export async function sourceState(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${await stateOf(path)}\n`);
  return hash.digest('hex');
}

async function stateOf(path: string): Promise<string> {
  const own = await statText(path);
  if (!own.isFolder) return own.text;
  const names = (await readdir(path, { recursive: true }).catch(() => [])).sort();
  const texts: string[] = [own.text];
  for (let from = 0; from < names.length; from += POLICY_LIMITS.statBatch) {
    const batch = names.slice(from, from + POLICY_LIMITS.statBatch);
    const found = await Promise.all(batch.map((name) => statText(join(path, name))));
    found.forEach(({ text }, index) => texts.push(`${batch[index] ?? ''}\0${text}`));
  }
  return texts.join('\n');
}

async function statText(path: string): Promise<{ readonly text: string; readonly isFolder: boolean }> {
  try {
    const facts = await stat(path, { bigint: true });
    const { dev, ino, size, mtimeNs, ctimeNs, mode } = facts;
    return { text: [dev, ino, size, mtimeNs, ctimeNs, mode].join(), isFolder: facts.isDirectory() };
  } catch (error) {
    return { text: codeOf(error), isFolder: false };
  }
}
