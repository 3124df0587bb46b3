// Keeps what a run of CI measured as one file, named by commit: the counts beside those that are recorded (bench/README.md "Counts"), the
// rows of `make bench-smoke`, and how the tests ended. What was not run is null.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const read = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null);
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
const jest = read('.run/jest.json');
const tests = jest === null ? null : { passed: jest.numPassedTests, failed: jest.numFailedTests, seconds: (Math.max(jest.startTime, ...jest.testResults.map(({ endTime }) => endTime)) - jest.startTime) / 1000 }; // prettier-ignore
const path = `.run/measured-${commit.slice(0, 12)}.json`;
mkdirSync('.run', { recursive: true });
const measured = { commit, at: new Date().toISOString(), node: process.versions.node, tests, counts: read('.run/bench-counts.json'), smoke: read('.run/bench-smoke.json') }; // prettier-ignore
writeFileSync(path, `${JSON.stringify(measured, null, 1)}\n`);
console.log(`what was measured is in ${path}`);
