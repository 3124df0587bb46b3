// Reads jest's report and prints what it says and which files were slowest; fails where something failed, where a suite that exists
// was not run, or where one took too long: one long file bounds the whole run. Its argument is the status of everything before it: a
// check that failed above all the tests counts as a failure, so that the last line tells of it.
import { readFileSync, readdirSync } from 'node:fs';
import { relative } from 'node:path';

/** Seconds that the whole run is to take. Where it took longer, the machine was slower than it should be, and so were single files. */
const RUN_BUDGET = 300;
/** Seconds that one file of tests may take in such a run; what is longer is split, or goes to `make test-deep`. */
const FILE_LIMIT = 45;
const SLOWEST = 5;

const suites = readdirSync('test', { recursive: true }).filter((file) => file.endsWith('.test.ts')).length;
const report = readReport();
const files = report.testResults
  .map(({ name, startTime, endTime }) => ({ file: fileOf(name), seconds: (endTime - startTime) / 1000 }))
  .sort((a, b) => b.seconds - a.seconds);
const seconds = Math.max(0, ...report.testResults.map(({ endTime }) => (endTime - report.startTime) / 1000));
const limit = FILE_LIMIT * Math.max(1, seconds / RUN_BUDGET);
const slow = files.filter((file) => file.seconds > limit);
// A suite that cannot be loaded has no test to fail, so it counts as a failure itself.
const failedTests = report.numFailedTests + report.numRuntimeErrorTestSuites;
const checkFailed = Number(process.argv[2] ?? 0) !== 0 && failedTests === 0;
const failed = failedTests + slow.length + (checkFailed ? 1 : 0);
const missing = suites - report.numTotalTestSuites;

if (report.numPendingTests > 0) console.log(`${report.numPendingTests} skipped`);
if (checkFailed) console.log('a check failed before or after the tests: look for "***" above');
if (missing !== 0) console.log(`${suites} suites exist, ${report.numTotalTestSuites} were run`);
if (files.length > 0) console.log(`${seconds.toFixed(0)} s; slowest: ${files.slice(0, SLOWEST).map(told).join(', ')}`);
for (const file of slow) {
  console.log(`${file.file} took ${file.seconds.toFixed(0)} s; a file may take ${limit.toFixed(0)} s`);
}
console.log(`${report.numPassedTests} passed, ${failed} failed`);
process.exitCode = report.success && failed === 0 && missing === 0 && report.numPassedTests > 0 ? 0 : 1;

function told({ file, seconds }) {
  return `${file} ${seconds.toFixed(0)} s`;
}

/** The source of a compiled file of tests. */
function fileOf(name) {
  return relative(process.cwd(), name)
    .replace(/^dist\//, '')
    .replace(/\.js$/, '.ts');
}

function readReport() {
  try {
    return JSON.parse(readFileSync('.run/jest.json', 'utf8'));
  } catch (error) {
    console.log(`no report of the tests: ${error.message}`);
    const none = { numPassedTests: 0, numFailedTests: 0, numRuntimeErrorTestSuites: 0, numPendingTests: 0 };
    return { ...none, numTotalTestSuites: 0, testResults: [], success: false };
  }
}
