// Reads jest's report and prints what it says; fails where something failed, where a suite that exists was not run, or where one took
// too long: one long file bounds the whole run. Its argument is the status of everything before it: a check that failed above all the
// tests counts as a failure, so that the last line tells of it.
import { readFileSync, readdirSync } from 'node:fs';
import { relative } from 'node:path';

/** Seconds that one file of tests may take; what is longer is split, or goes to `make test-deep`. */
const FILE_LIMIT = 45;

const suites = readdirSync('test', { recursive: true }).filter((file) => file.endsWith('.test.ts')).length;
const report = readReport();
const slow = report.testResults
  .map(({ name, startTime, endTime }) => ({ file: fileOf(name), seconds: (endTime - startTime) / 1000 }))
  .filter(({ seconds }) => seconds > FILE_LIMIT)
  .sort((a, b) => b.seconds - a.seconds);
// A suite that cannot be loaded has no test to fail, so it counts as a failure itself.
const failedTests = report.numFailedTests + report.numRuntimeErrorTestSuites;
const checkFailed = Number(process.argv[2] ?? 0) !== 0 && failedTests === 0;
const failed = failedTests + slow.length + (checkFailed ? 1 : 0);
const missing = suites - report.numTotalTestSuites;

if (report.numPendingTests > 0) console.log(`${report.numPendingTests} skipped`);
if (checkFailed) console.log('a check failed before or after the tests: look for "***" above');
if (missing !== 0) console.log(`${suites} suites exist, ${report.numTotalTestSuites} were run`);
for (const { file, seconds } of slow)
  console.log(`${file} took ${seconds.toFixed(0)} s; a file may take ${FILE_LIMIT} s`);
console.log(`${report.numPassedTests} passed, ${failed} failed`);
process.exitCode = report.success && failed === 0 && missing === 0 && report.numPassedTests > 0 ? 0 : 1;

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
