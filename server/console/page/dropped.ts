// What was dropped on a page, as handles where there are such, and as entries elsewhere. In a page from disk, Chromium reads handles alone.

export type Dropped =
  | { readonly kind: 'file'; readonly name: string; readonly file: () => Promise<File> }
  | { readonly kind: 'folder'; readonly name: string; readonly entries: () => Promise<readonly Dropped[]> };

type Handle = FileSystemDirectoryHandle | FileSystemFileHandle;

declare global {
  interface DataTransferItem {
    readonly getAsFileSystemHandle?: () => Promise<Handle | null>;
  }
}

/** Asked while the event lasts; null if the item is neither a file nor a folder. */
export async function droppedIn(item: DataTransferItem): Promise<Dropped | null> {
  if (item.getAsFileSystemHandle !== undefined) {
    const handle = await item.getAsFileSystemHandle();
    return handle === null ? null : ofHandle(handle);
  }
  const entry = item.webkitGetAsEntry();
  return entry === null ? null : ofEntry(entry);
}

function ofHandle(handle: Handle): Dropped {
  const { name } = handle;
  if (handle.kind === 'file') return { kind: 'file', name, file: () => handle.getFile() };
  const entries = async (): Promise<readonly Dropped[]> => {
    const all: Dropped[] = [];
    for await (const inner of handle.values()) all.push(ofHandle(inner));
    return all;
  };
  return { kind: 'folder', name, entries };
}

function ofEntry(entry: FileSystemEntry): Dropped | null {
  const { name } = entry;
  if (isFile(entry)) {
    const file = (): Promise<File> =>
      new Promise((resolve, reject) => {
        entry.file(resolve, reject);
      });
    return { kind: 'file', name, file };
  }
  if (!isFolder(entry)) return null;
  const entries = async (): Promise<readonly Dropped[]> => {
    const reader = entry.createReader();
    const all: Dropped[] = [];
    // A reader gives its entries in parts, and an empty one at the end.
    for (;;) {
      const part = await new Promise<FileSystemEntry[]>((resolve, reject) => {
        reader.readEntries(resolve, reject);
      });
      if (part.length === 0) return all;
      all.push(...part.flatMap((inner) => ofEntry(inner) ?? []));
    }
  };
  return { kind: 'folder', name, entries };
}

/** Chromium has no class of this name to ask for, nor of the other. */
function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
