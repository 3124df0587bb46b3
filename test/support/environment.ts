// The environment of a test file. What one compiled of the embedded store's engine is kept for all that follow in the same process:
// an engine whose code nobody holds is compiled again from nothing, which takes longer than most tests.
import { TestEnvironment as NodeEnvironment } from 'jest-environment-node';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Known to every Node, and to the types of browsers alone. */
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<unknown> };

const engine = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
const compiled = WebAssembly.compile(readFileSync(join(engine, 'pglite.wasm')));

// eslint-disable-next-line no-restricted-syntax -- jest makes one of the default export
export default class TestEnvironment extends NodeEnvironment {
  override async setup(): Promise<void> {
    await compiled;
    await super.setup();
  }
}
