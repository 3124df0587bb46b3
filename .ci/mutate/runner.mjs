// The test runner that Stryker drives: files of tests, as test/support/runtime.ts loads them, in one process that has loaded
// the product once. A mutant is switched on by a global, so none of them needs a build or a start. A mutant runs only the
// tests that reach it, and ends at the first that fails. What a file does around its tests has the name of the file: it
// stands for all of its tests, and counts where no test reaches the mutant by itself.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SHARDS } from './shards.mjs';

const GLOBALS = Symbol.for('jest globals');
const load = createRequire(import.meta.url);
const circus = load('jest-circus');
const { jestExpect } = createRequire(load.resolve('jest-circus'))('@jest/expect');
export const NOT_IN_SAMPLE = 'not in the sample';
// Stryker's plugins are plain objects; this is how its interface names a factory of them.
const create = () => new FileRunner(SHARDS[process.env['MUTATE_SHARD']].tests, process.env['MUTATE_FILE']);

export const strykerPlugins = [{ kind: 'TestRunner', name: 'files', factory: create }];

class FileRunner {
  #stryker = (globalThis.__stryker__ ??= {});
  #loaded = false;
  #runs = 0;
  #tests;
  #mutated;
  /** Of tests that have failed without others of their file: whether they pass alone, without a mutant. */
  #passAlone = new Map();

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
      const { ran, failure } = await this.#run(file);
      const outcome = failure === undefined ? { status: 0 } : { status: 1, failureMessage: String(failure) };
      tests.push({ id: file, name: file, fileName: file, timeSpentMs: 0, ...outcome });
      for (const [id, timeSpentMs] of ran) tests.push({ id, name: id, fileName: file, timeSpentMs, status: 0 });
    }
    this.#stryker.currentTestId = undefined;
    return { status: 'complete', tests, mutantCoverage: this.#stryker.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    if (!isInSample(activeMutant)) return { status: 'error', errorMessage: NOT_IN_SAMPLE };
    const stryker = this.#stryker;
    const start = () => {
      const hitCount = hitLimit === undefined ? undefined : 0;
      Object.assign(stryker, { activeMutant: activeMutant.id, mutantCoverage: undefined, hitLimit, hitCount });
    };
    if (mutantActivation === 'static') start();
    await this.#load();
    const isEndless = () => hitLimit !== undefined && stryker.hitCount > hitLimit;
    let nrOfTests = 0;
    for (const [file, chosen] of this.#chosen(testFilter)) {
      start();
      let { ran, failure } = await this.#run(file, chosen);
      // A test that needs those before it would fail of itself: then all of them judge.
      if (failure !== undefined && !isEndless() && !(await this.#passes(file, [...ran.keys()].at(-1)))) {
        start();
        ({ ran, failure } = await this.#run(file));
      }
      nrOfTests += ran.size;
      if (isEndless()) return { status: 'timeout', reason: 'endless loop' };
      if (failure === undefined) continue;
      // What is near is noticed by the same tests, most of the time.
      this.#tests = [file, ...this.#tests.filter((name) => name !== file)];
      const last = [...ran.keys()].at(-1);
      const killedBy = [testFilter?.includes(last) ? last : file];
      return { status: 'killed', killedBy, failureMessage: String(failure), nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }

  /** The files to run, and the tests of each that reach the mutant: all of them if nothing is named. */
  #chosen(filter) {
    if (filter === undefined) return this.#tests.map((file) => [file]);
    const tests = filter.filter((id) => !this.#tests.includes(id));
    if (tests.length === 0) return this.#tests.filter((file) => filter.includes(file)).map((file) => [file]);
    const chosen = this.#tests.map((file) => [file, new Set(tests.filter((id) => id.startsWith(`${file} `)))]);
    return chosen.filter(([, ids]) => ids.size > 0);
  }

  async #passes(file, id) {
    if (!this.#passAlone.has(id)) {
      Object.assign(this.#stryker, { activeMutant: undefined, hitLimit: undefined, hitCount: undefined });
      const { failure } = await this.#run(file, new Set([id]));
      this.#passAlone.set(id, failure === undefined);
    }
    return this.#passAlone.get(id);
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

  /** The tests of a file that ran, in milliseconds each, and the first failure, if there is one. */
  async #run(file, chosen) {
    const ran = new Map();
    this.#runs += 1;
    circus.resetState();
    Object.assign(circus.getState(), { parentProcess: process, testTimeout: 600_000 });
    Object.assign(globalThis, { [GLOBALS]: { ...circus.default, expect: jestExpect } });
    this.#stryker.currentTestId = file;
    const ids = new Map();
    let failed = false;
    const follow = ({ name, test }, { rootDescribeBlock }) => {
      if (name === 'run_start') {
        for (const [one, id] of identified(rootDescribeBlock, file)) {
          ids.set(one, id);
          if (chosen !== undefined && !chosen.has(id)) one.mode = 'skip';
        }
      }
      if (name === 'test_start' && failed) test.mode = 'skip';
      if (name === 'test_started') this.#stryker.currentTestId = ids.get(test);
      if (name !== 'test_done') return;
      ran.set(ids.get(test), Math.round(test.duration ?? 0));
      failed ||= test.errors.length > 0;
      this.#stryker.currentTestId = file;
    };
    circus.addEventHandler(follow);
    try {
      await import(`${pathToFileURL(join(process.cwd(), file))}?file=${this.#runs}`);
      const { testResults, unhandledErrors } = await circus.run();
      if (ran.size === 0) return { ran, failure: 'no test ran' };
      // What fails before the tests is the cause of what fails after them.
      return { ran, failure: [...testResults.flatMap((test) => test.errors), ...unhandledErrors][0] };
    } catch (failure) {
      return { ran, failure };
    } finally {
      circus.removeEventHandler(follow);
    }
  }
}

/** The tests of a file, each with a name that no other has. */
function identified(block, path, names = new Map()) {
  return block.children.flatMap((child) => {
    const name = `${path} ${child.name}`;
    if (child.type === 'describeBlock') return identified(child, name, names);
    const times = (names.get(name) ?? 0) + 1;
    names.set(name, times);
    return [[child, times === 1 ? name : `${name} (${times})`]];
  });
}

/** One in so many, which are the same in every run. */
function isInSample({ location, mutatorName, replacement }) {
  const hash = createHash('sha256')
    .update(JSON.stringify([location, mutatorName, replacement]))
    .digest();
  return hash.readUInt32BE() % Number(process.env['MUTATE_ONE_IN']) === 0;
}
