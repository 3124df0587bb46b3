// Files from a folder or from a drop. Nothing leaves the browser.
import type { TextFile } from '../worker/protocol.js';

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

/** Paths from where `policy.yaml` is. What is beside that folder is no part of the policy. */
function inFolder(files: readonly TextFile[]): readonly TextFile[] | string {
  const heads = files.filter(({ path }) => path === 'policy.yaml' || path.endsWith('/policy.yaml'));
  const [head] = heads.sort((a, b) => a.path.length - b.path.length);
  if (head === undefined) return 'there is no `policy.yaml` in it: choose the folder of the policy';
  const folder = head.path.slice(0, -'policy.yaml'.length);
  return files
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path, text }) => ({ path: path.slice(folder.length), text }))
    .filter(({ path }) => !path.split('/').some((part) => part.startsWith('.')));
}

export async function readDrop(data: DataTransfer): Promise<readonly TextFile[] | string> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: TextFile[] = [];
  let bytes = 0;
  const visit = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.name.startsWith('.')) return;
    if (entry instanceof FileSystemFileEntry && /\.ya?ml$/.test(entry.name)) {
      const file = await new Promise<File>((resolve, reject) => {
        entry.file(resolve, reject);
      });
      bytes += file.size;
      if (bytes <= MOST_BYTES) found.push({ path: entry.fullPath.replace(/^\//, ''), text: await file.text() });
    } else if (entry instanceof FileSystemDirectoryEntry) {
      const reader = entry.createReader();
      // A reader gives its entries in parts.
      for (;;) {
        const part = await new Promise<FileSystemEntry[]>((resolve, reject) => {
          reader.readEntries(resolve, reject);
        });
        if (part.length === 0) return;
        for (const inner of part) await visit(inner);
      }
    }
  };
  for (const entry of entries) await visit(entry);
  if (bytes > MOST_BYTES) return 'it has more than 40 MB: use the command line';
  return found.length === 0 ? 'there is no YAML file in it' : inFolder(found);
}
