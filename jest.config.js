// Tests are compiled by `tsc -b` with everything else and run as the ES modules they are, loaded by Node itself: what is tested is what
// ships.
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
  // More than the cores of a small machine: half of its time a test file waits, for processes, stores and intervals. With more than this,
  // tests of time fail beside other programs.
  maxWorkers: 3,
  // A worker that took more is replaced before its next file: what a file loaded anew is never given back.
  workerIdleMemoryLimit: '1GB',
};
