// Reads jest's report and prints what it says; fails where something failed, or where a suite that exists was not run.
import { readFileSync, readdirSync } from 'node:fs';

const suites = readdirSync('test', { recursive: true }).filter((file) => file.endsWith('.test.ts')).length;
const report = readReport();
// A suite that cannot be loaded has no test to fail, so it counts as a failure itself.
const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
const missing = suites - report.numTotalTestSuites;

if (report.numPendingTests > 0) console.log(`${report.numPendingTests} skipped`);
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
