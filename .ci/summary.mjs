// Reads jest's report and prints what it says; fails where something failed, or where a suite that exists was not run. Its argument is
// the status of everything before it: a check that failed above all the tests counts as a failure, so that the last line tells of it.
import { readFileSync, readdirSync } from 'node:fs';

const suites = readdirSync('test', { recursive: true }).filter((file) => file.endsWith('.test.ts')).length;
const report = readReport();
// A suite that cannot be loaded has no test to fail, so it counts as a failure itself.
const failedTests = report.numFailedTests + report.numRuntimeErrorTestSuites;
const checkFailed = Number(process.argv[2] ?? 0) !== 0 && failedTests === 0;
const failed = failedTests + (checkFailed ? 1 : 0);
const missing = suites - report.numTotalTestSuites;

if (report.numPendingTests > 0) console.log(`${report.numPendingTests} skipped`);
if (checkFailed) console.log('a check failed before or after the tests: look for "***" above');
if (missing !== 0) console.log(`${suites} suites exist, ${report.numTotalTestSuites} were run`);
console.log(`${report.numPassedTests} passed, ${failed} failed`);
process.exitCode = report.success && failed === 0 && missing === 0 && report.numPassedTests > 0 ? 0 : 1;

function readReport() {
  try {
    return JSON.parse(readFileSync('.run/jest.json', 'utf8'));
  } catch (error) {
    console.log(`no report of the tests: ${error.message}`);
    const none = { numPassedTests: 0, numFailedTests: 0, numRuntimeErrorTestSuites: 0, numPendingTests: 0 };
    return { ...none, numTotalTestSuites: 0, success: false };
  }
}
