// Tests are compiled by `tsc -b` with everything else and run as the ES modules they are, loaded by Node itself: what is tested is what
// ships.
import { availableParallelism, totalmem } from 'node:os';

/** Bytes for a worker and the processes and stores that its tests start: more than twice what one of eight was seen to take. */
const WORKER = 2.5e9;

// One more than there are cores, because half of its time a test file waits, for processes, stores and intervals. With more than that,
// tests of time fail beside other programs. More than eight, which share the one PostgreSQL of a run, were not tried.
function workers() {
  return Math.max(2, Math.min(availableParallelism() + 1, Math.floor(totalmem() / WORKER), 8));
}

export default {
  rootDir: 'dist/test',
  testMatch: ['**/*.test.js'],
  globalSetup: '<rootDir>/support/global-setup.js',
  globalTeardown: '<rootDir>/support/global-teardown.js',
  testEnvironment: '<rootDir>/support/environment.js',
  runtime: '<rootDir>/support/runtime.js',
  transform: {},
  // Long enough for a busy machine, and for a property at full count. Only what hangs takes it.
  testTimeout: process.env.BAILIWICK_TEST_DEPTH === 'deep' ? 7_200_000 : 600_000,
  maxWorkers: workers(),
  // A worker that took more is replaced before its next file: what a file loaded anew is never given back.
  workerIdleMemoryLimit: '1GB',
};
