// Files from a folder or from a drop. Nothing leaves the browser.
import type { TextFile } from '../worker/protocol.js';
import { type Dropped, droppedIn } from './dropped.js';

/** More than any policy that a person edits; a browser would stand still. */
const MOST_BYTES = 40 * 1024 * 1024;

export async function readList(list: Iterable<File>): Promise<readonly TextFile[] | string> {
  const files = [...list].filter(({ name }) => /\.ya?ml$/.test(name));
  if (files.length === 0) return 'there is no YAML file in it';
  if (files.reduce((sum, { size }) => sum + size, 0) > MOST_BYTES)
    return 'it has more than 40 MB: use the command line';
  const read = await Promise.all(
    files.map(async (file) => ({
      path: file.webkitRelativePath === '' ? file.name : file.webkitRelativePath,
      text: await file.text(),
    })),
  );
  return inFolder(read);
}

/** Paths from where `policy.yaml` is, in their order. What is beside that folder is no part of the policy. */
function inFolder(files: readonly TextFile[]): readonly TextFile[] | string {
  const heads = files.filter(({ path }) => path === 'policy.yaml' || path.endsWith('/policy.yaml'));
  const [head] = heads.sort((a, b) => a.path.length - b.path.length);
  if (head === undefined) return 'there is no `policy.yaml` in it: choose the folder of the policy';
  const folder = head.path.slice(0, -'policy.yaml'.length);
  return files
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path, text }) => ({ path: path.slice(folder.length), text }))
    .filter(({ path }) => !path.split('/').some((part) => part.startsWith('.')))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function readDrop(data: DataTransfer): Promise<readonly TextFile[] | string> {
  // All are taken at once: when the event is over, there is nothing in it any more.
  const dropped = await Promise.all([...data.items].map(droppedIn));
  const found: TextFile[] = [];
  let bytes = 0;
  const visit = async (entry: Dropped, above: string): Promise<void> => {
    if (entry.name.startsWith('.')) return;
    const path = `${above}${entry.name}`;
    if (entry.kind === 'folder') {
      for (const inner of await entry.entries()) await visit(inner, `${path}/`);
      return;
    }
    if (!/\.ya?ml$/.test(entry.name)) return;
    const file = await entry.file();
    bytes += file.size;
    if (bytes <= MOST_BYTES) found.push({ path, text: await file.text() });
  };
  for (const entry of dropped) if (entry !== null) await visit(entry, '');
  if (bytes > MOST_BYTES) return 'it has more than 40 MB: use the command line';
  return found.length === 0 ? 'there is no YAML file in it' : inFolder(found);
}
