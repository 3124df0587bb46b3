// How jest loads a test file here: by Node's own `import`, in the realm of the worker. Shipped code and packages are
// loaded once for all files of a worker. The tests' own modules are loaded once per file (module-hooks.ts), so that no
// file sees the state of another. jest's own runtime loads everything again for each file, in a realm of its own, which
// took longer than most tests.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Where module-hooks.ts finds what a file declares its tests with. */
const GLOBALS = Symbol.for('jest globals');
/** Where jest-circus keeps who is told of its events. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');

const require = createRequire(import.meta.url);
register('./module-hooks.js', import.meta.url);
let files = 0;
/** What a file has followed its promises with. Each takes time of every promise of the worker until it is disabled, and jest-circus disables none. */
const followed = new Set<AsyncLocalStorage<unknown>>();
// eslint-disable-next-line @typescript-eslint/unbound-method -- applied to its own storage below
const { run } = AsyncLocalStorage.prototype;
Object.assign(AsyncLocalStorage.prototype, {
  run(this: AsyncLocalStorage<unknown>, ...given: Parameters<typeof run>): unknown {
    followed.add(this);
    return Reflect.apply(run, this, given);
  },
});

/** What jest-runner and jest-circus use of a runtime. */
// eslint-disable-next-line no-restricted-syntax -- jest makes one of the default export
export default class NativeRuntime {
  /** jest-circus, loaded anew: it holds the tests of one file. */
  requireInternalModule(path: string): unknown {
    Reflect.deleteProperty(require.cache, path);
    Reflect.deleteProperty(globalThis, HANDLERS);
    return require(path);
  }

  setGlobalsForRuntime(globals: unknown): void {
    Object.assign(globalThis, { [GLOBALS]: globals });
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  unstable_importModule(path: string): Promise<unknown> {
    files += 1;
    return import(`${pathToFileURL(path).href}?file=${String(files)}`);
  }

  getSourceMaps(): ReadonlyMap<string, string> {
    return new Map();
  }

  requireModule = require;
  getAllCoverageInfoCopy = nothing;
  enterTestCode = nothing;
  leaveTestCode = nothing;

  teardown(): void {
    for (const storage of followed) storage.disable();
    followed.clear();
  }
}

function nothing(): void {
  return undefined;
}
