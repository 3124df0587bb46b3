// The environment of a test file: the realm of its worker (runtime.ts), with variables that are restored afterwards.
// The compiled code of the embedded store's engine is kept for all later files. If nobody held it, the engine would be
// compiled again from nothing, which takes longer than most tests.
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

declare global {
  /** Folders that the test file has made (temp-folder.ts). */
  var testFolders: string[] | undefined;
}

/** Known to every Node, and to the types of browsers alone. */
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<unknown> };

const engine = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
const compiled = WebAssembly.compile(readFileSync(join(engine, 'pglite.wasm')));

// eslint-disable-next-line no-restricted-syntax -- jest makes one of the default export
export default class TestEnvironment {
  /** What jest puts here does not reach the realm. */
  readonly global = {};
  readonly #variables = { ...process.env };

  async setup(): Promise<void> {
    await compiled;
  }

  async teardown(): Promise<void> {
    for (const name of Object.keys(process.env))
      if (!(name in this.#variables)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#variables);
    const folders = globalThis.testFolders?.splice(0) ?? [];
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }

  getVmContext(): null {
    return null;
  }
}
