// The program that makes the first database in an empty folder, then ends. This takes more memory than serving does,
// and only the end of a process gives all of it back. Errors go to stderr.
import { writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { MemoryFS, PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { reasonOf } from '../failures.js';
import { withInitialPages } from './wasm-memory.js';

/**
 * Bytes of the engine's memory at its start, which grows as needed. PGlite copies all of it several times while it makes
 * a database, and as shipped it has 128 MiB.
 */
const INITIAL_MEMORY = 32 * 1024 * 1024;
const PAGE = 64 * 1024;

/** Node's types leave it out. */
declare const WebAssembly: { readonly compile: (module: Uint8Array<ArrayBuffer>) => Promise<object> };

/**
 * The folder itself. PGlite makes a database in memory, twice, and copies the result, unless the file system is one in
 * memory: there it makes the database in its place. This claims to be one. What PGlite wants to prevent, a store that
 * was made in part, cannot come from here: the folder is a draft until this program has succeeded.
 */
class DraftFS extends MemoryFS {
  readonly #folder: NodeFS;
  readonly #onMade: () => never;

  constructor(folder: string, onMade: () => never) {
    super();
    this.#folder = new NodeFS(folder);
    this.#onMade = onMade;
  }

  override init(...parameters: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    return this.#folder.init(...parameters);
  }

  /** Called as soon as the database is made. PGlite would open it next, which is for the program that serves it. */
  override syncToFs(): Promise<void> {
    return this.#onMade();
  }
}

function fail(error: unknown): never {
  writeSync(2, reasonOf(error));
  process.exit(1);
}

const [folder] = process.argv.slice(2);
try {
  if (folder === undefined) throw new RangeError('no folder was given');
  const program = await readFile(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite')));
  const engine = new PGlite({
    fs: new DraftFS(folder, () => process.exit(0)),
    pgliteWasmModule: await WebAssembly.compile(withInitialPages(program, INITIAL_MEMORY / PAGE)),
    initialMemory: INITIAL_MEMORY,
  });
  await engine.waitReady;
  throw new Error('the engine has opened a folder in which it should have made a database');
} catch (error) {
  fail(error);
}
