// PGlite's file system with fsync. As shipped it has none: every fsync of the engine succeeds without reaching a disk,
// so a power failure would lose acknowledged commits. The calls are counted, so that the worker can prove that they
// happen.
import { closeSync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import type { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

type FileSystemOptions = Parameters<NodeFS['init']>[1];

/** An open file of Emscripten's NODEFS; a directory has no descriptor. */
interface OpenFile {
  readonly nfd?: number | null;
  readonly node: unknown;
}

/** The parts of Emscripten's module that are used here. The place of NODEFS differs between PGlite's releases. */
interface EmscriptenModule {
  readonly NODEFS?: NodeFileSystem;
  readonly FS: {
    readonly ErrnoError: new (errno: number) => Error;
    readonly filesystems?: { readonly NODEFS?: NodeFileSystem };
  };
}

interface NodeFileSystem {
  readonly stream_ops: { fsync?: (file: OpenFile) => number };
  readonly realPath: (node: unknown) => string;
}

/** EIO in Emscripten's numbering. The engine reacts as PostgreSQL does, with a PANIC. */
const EIO = 29;

export class DurableFS extends NodeFS {
  #syncs = 0;

  /** How often the engine has synced a file to the disk. */
  get syncs(): number {
    return this.#syncs;
  }

  override async init(engine: PGlite, options: FileSystemOptions): ReturnType<NodeFS['init']> {
    const ready = await super.init(engine, options);
    ready.emscriptenOpts.preRun?.push((module) => {
      this.#hook(module);
    });
    return ready;
  }

  #hook(module: EmscriptenModule): void {
    const files = module.NODEFS ?? module.FS.filesystems?.NODEFS;
    if (files === undefined) return; // then nothing is counted, and the worker says so
    files.stream_ops.fsync = (file) => {
      try {
        this.#sync(file, files);
      } catch {
        throw new module.FS.ErrnoError(EIO);
      }
      return 0;
    };
  }

  #sync(file: OpenFile, files: NodeFileSystem): void {
    this.#syncs += 1;
    if (typeof file.nfd === 'number') {
      fdatasyncSync(file.nfd);
      return;
    }
    const directory = openSync(files.realPath(file.node), 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  }
}
