// The test runner that Stryker drives: files of tests, as test/support/runtime.ts loads them, in one process that has loaded
// the product once. A mutant is switched on by a global, so none of them needs a build or a start. A file of tests is one
// test to Stryker, which then runs only the files that reach a mutant, and ends at the first that fails.
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { SHARDS } from './shards.mjs';

const GLOBALS = Symbol.for('jest globals');
const load = createRequire(import.meta.url);
const circus = load('jest-circus');
const { jestExpect } = createRequire(load.resolve('jest-circus'))('@jest/expect');
// Stryker's plugins are plain objects; this is how its interface names a factory of them.
const create = () => new FileRunner(SHARDS[process.env['MUTATE_SHARD']].tests, process.env['MUTATE_FILE']);

export const strykerPlugins = [{ kind: 'TestRunner', name: 'files', factory: create }];

class FileRunner {
  #stryker = (globalThis.__stryker__ ??= {});
  #loaded = false;
  #runs = 0;
  #tests;
  #mutated;

  constructor(tests, mutated) {
    this.#tests = tests.map((name) => `dist/test/${name}.test.js`);
    this.#mutated = mutated;
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  async dryRun() {
    await this.#load();
    const tests = [];
    for (const file of this.#tests) {
      this.#stryker.currentTestId = file;
      const start = performance.now();
      const failure = await this.#run(file);
      const timeSpentMs = Math.round(performance.now() - start);
      const outcome = failure === undefined ? { status: 0 } : { status: 1, failureMessage: failure };
      tests.push({ id: file, name: file, fileName: file, timeSpentMs, ...outcome });
    }
    this.#stryker.currentTestId = undefined;
    return { status: 'complete', tests, mutantCoverage: this.#stryker.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const stryker = this.#stryker;
    Object.assign(stryker, { mutantCoverage: undefined, hitLimit, hitCount: hitLimit === undefined ? undefined : 0 });
    if (mutantActivation === 'static') stryker.activeMutant = activeMutant.id;
    await this.#load();
    stryker.activeMutant = activeMutant.id;
    let nrOfTests = 0;
    for (const file of this.#tests.filter((name) => testFilter?.includes(name) ?? true)) {
      nrOfTests += 1;
      const failureMessage = await this.#run(file);
      if (hitLimit !== undefined && stryker.hitCount > hitLimit) return { status: 'timeout', reason: 'endless loop' };
      if (failureMessage !== undefined) return { status: 'killed', killedBy: [file], failureMessage, nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }

  /** Before any test, so that what runs while modules load is not taken for work of the first file of tests. */
  async #load() {
    if (this.#loaded) return;
    this.#loaded = true;
    // Migrated stores to copy, which would be made again in each sandbox.
    const stores = join(process.env['MUTATE_ROOT'], '.run/stores');
    if (existsSync(stores) && !existsSync('.run/stores')) {
      mkdirSync('.run', { recursive: true });
      symlinkSync(stores, '.run/stores');
    }
    register(pathToFileURL(join(process.cwd(), 'dist/test/support/module-hooks.js')));
    await import(pathToFileURL(join(process.cwd(), this.#mutated)));
  }

  /** The first failure of a file, or nothing. */
  async #run(file) {
    this.#runs += 1;
    circus.resetState();
    Object.assign(circus.getState(), { parentProcess: process, testTimeout: 600_000 });
    Object.assign(globalThis, { [GLOBALS]: { ...circus.default, expect: jestExpect } });
    let failed = false;
    const endEarly = (event) => {
      if (event.name === 'test_done') failed ||= event.test.errors.length > 0;
      if (event.name === 'test_start' && failed) event.test.mode = 'skip';
    };
    circus.addEventHandler(endEarly);
    try {
      await import(`${pathToFileURL(join(process.cwd(), file))}?file=${this.#runs}`);
      const { testResults, unhandledErrors } = await circus.run();
      if (!testResults.some(({ status }) => status === 'done')) return 'no test ran';
      // What fails before the tests is the cause of what fails after them.
      return [...testResults.flatMap((test) => test.errors), ...unhandledErrors][0];
    } catch (error) {
      return String(error);
    } finally {
      circus.removeEventHandler(endEarly);
    }
  }
}
