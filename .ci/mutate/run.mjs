// Changes the compiled code in small ways, one at a time, and tells which changes no test notices (docs/mutation.md):
//   npm run mutate -- [FOLDER OR FILE...] [--minutes N] [--one-in N]
// Each file has a report of its own in .run/mutate/. A later run goes on from the reports and repeats only what changed.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { NOT_IN_SAMPLE } from './runner.mjs';
import { SHARDS } from './shards.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REPORTS = '.run/mutate';
const COLUMNS = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored', 'RuntimeError', 'Not in the sample'];
const NAMED = ['Survived', 'NoCoverage', 'Timeout'];
/** The process of the tests ended, which nobody can miss. */
const CRASHED = 'Test runner crashed';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '60' }, 'one-in': { type: 'string', default: '1' } },
});
const end = Date.now() + Number(values.minutes) * 60_000;
process.chdir(ROOT);
// Tests of both stores run on one of them: the other would only take its time again.
Object.assign(process.env, { MUTATE_ONE_IN: values['one-in'], BAILIWICK_TEST_STORE: 'postgres' });
mkdirSync(REPORTS, { recursive: true });

const chosen = Object.keys(SHARDS).flatMap((shard) =>
  sources(shard)
    .filter(
      (file) => positionals.length === 0 || positionals.some((name) => file === name || file.startsWith(`${name}/`)),
    )
    .map((file) => ({ shard, file })),
);
if (chosen.length === 0)
  throw new Error(`nothing to mutate: name one of ${Object.keys(SHARDS).join(', ')}, or a file of it`);
// As a run of jest does: the PostgreSQL that tests take databases of, and the folder of what is temporary.
await (await import(`${ROOT}/dist/test/support/global-setup.js`)).default();
try {
  for (const { shard, file } of chosen) {
    if (Date.now() >= end) console.log(`${file}: not run, out of time; run it again to go on`);
    else await mutate(shard, file);
  }
} finally {
  await (await import(`${ROOT}/dist/test/support/global-teardown.js`)).default();
}
tell();

function sources(shard) {
  if (shard.endsWith('.ts')) return [shard];
  const names = readdirSync(shard).filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
  const files = names.sort().map((name) => `${shard}/${name}`);
  return files.filter((file) => !(file in SHARDS));
}

async function mutate(shard, file) {
  const compiled = `dist/${file.replace(/\.ts$/, '.js')}`;
  Object.assign(process.env, { MUTATE_ROOT: ROOT, MUTATE_SHARD: shard, MUTATE_FILE: compiled });
  forgetUnknown(report(file));
  const stryker = new Stryker({
    mutate: [compiled],
    plugins: [join(ROOT, '.ci/mutate/runner.mjs')],
    testRunner: 'files',
    coverageAnalysis: 'perTest',
    concurrency: 1,
    ignoreStatic: true,
    incremental: true,
    incrementalFile: report(file),
    ignorePatterns: ['.run', 'bench/*/node_modules', 'deploy'],
    tempDirName: `${REPORTS}/sandboxes`,
    // Of what never ends, a count of passes tells (`hitLimit`). What is timed out has a busy machine in mind.
    timeoutMS: 30_000,
    timeoutFactor: 4,
    dryRunTimeoutMinutes: 10,
    reporters: ['progress-append-only'],
    logLevel: 'warn',
    allowConsoleColors: false,
  });
  try {
    await stryker.runMutationTest();
    tell([file]);
  } catch (error) {
    console.log(`${file}: ${error.message}`);
    process.exitCode = 1;
  }
}

/** Time-outs, which a busy machine may have caused, and what was not in the sample: each run tries them again. */
function forgetUnknown(path) {
  if (!existsSync(path)) return;
  const found = JSON.parse(readFileSync(path, 'utf8'));
  for (const one of Object.values(found.files))
    one.mutants = one.mutants.filter((mutant) => !['Timeout', 'RuntimeError'].includes(mutant.status));
  writeFileSync(path, JSON.stringify(found));
}

function report(file) {
  return `${REPORTS}/${file.replaceAll('/', '-')}.json`;
}

/** One line per file, and then each that no test noticed, or none in time, where it is in the compiled file. */
function tell(files = chosen.map(({ file }) => file)) {
  for (const file of files.filter((name) => existsSync(report(name)))) {
    const [found] = Object.values(JSON.parse(readFileSync(report(file), 'utf8')).files);
    const count = (status) => found.mutants.filter((mutant) => statusOf(mutant) === status).length;
    console.log(`${file}: ${COLUMNS.map((status) => `${status} ${count(status)}`).join(', ')}`);
    for (const mutant of found.mutants.filter(({ status }) => NAMED.includes(status))) {
      const line = found.source.split('\n')[mutant.location.start.line - 1].trim();
      console.log(
        `  ${mutant.status} ${mutant.location.start.line}: ${line}\n    -> ${mutant.mutatorName}: ${mutant.replacement}`,
      );
    }
  }
}

function statusOf({ status, statusReason }) {
  if (statusReason === NOT_IN_SAMPLE) return 'Not in the sample';
  return statusReason?.startsWith(CRASHED) ? 'Killed' : status;
}
