// Changes the compiled code in small ways, one at a time, and tells which changes no test notices (docs/mutation.md):
//   npm run mutate -- [FOLDER OR FILE...] [--minutes N]
// Each file has a report of its own in .run/mutate/. A later run goes on from the reports and repeats only what changed.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { SHARDS } from './shards.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REPORTS = '.run/mutate';
const COLUMNS = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored', 'RuntimeError'];
const NAMED = ['Survived', 'NoCoverage', 'Timeout'];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '60' } },
});
const end = Date.now() + Number(values.minutes) * 60_000;
process.chdir(ROOT);
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
  forgetTimeouts(report(file));
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

/** A busy machine may have caused them: each run tries them again. */
function forgetTimeouts(path) {
  if (!existsSync(path)) return;
  const found = JSON.parse(readFileSync(path, 'utf8'));
  for (const one of Object.values(found.files)) one.mutants = one.mutants.filter(({ status }) => status !== 'Timeout');
  writeFileSync(path, JSON.stringify(found));
}

function report(file) {
  return `${REPORTS}/${file.replaceAll('/', '-')}.json`;
}

/** One line per file, and then each that no test noticed, or none in time, where it is in the compiled file. */
function tell(files = chosen.map(({ file }) => file)) {
  for (const file of files.filter((name) => existsSync(report(name)))) {
    const [found] = Object.values(JSON.parse(readFileSync(report(file), 'utf8')).files);
    const count = (status) => found.mutants.filter((mutant) => mutant.status === status).length;
    console.log(`${file}: ${COLUMNS.map((status) => `${status} ${count(status)}`).join(', ')}`);
    for (const mutant of found.mutants.filter(({ status }) => NAMED.includes(status))) {
      const line = found.source.split('\n')[mutant.location.start.line - 1].trim();
      console.log(
        `  ${mutant.status} ${mutant.location.start.line}: ${line}\n    -> ${mutant.mutatorName}: ${mutant.replacement}`,
      );
    }
  }
}
