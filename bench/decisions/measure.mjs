// `make bench-decide`: decisions per second, compared with other authorization libraries on one machine in one run. Each contestant has a
// process of its own, passes are interleaved, and every answer is checked against a slow reference.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { print, readOptions, report, row } from '../rows.mjs';
import { CONTESTANTS } from './contestants.mjs';
import { rowsOf } from './report.mjs';

const MILLION = 1_000_000;
const FLAGS = ['--expose-gc', '--max-old-space-size=8000'];
/** Switches off an optimization with which V8 crashes in Cedar's WebAssembly. */
const CEDAR_FLAGS = ['--no-turbo-inline-js-wasm-calls'];
const here = (file) => join(import.meta.dirname, file);
const run = promisify(execFile);

async function contest(folder, name) {
  const flags = name.startsWith('Cedar') ? [...FLAGS, ...CEDAR_FLAGS] : FLAGS;
  try {
    const { stdout } = await run(process.execPath, [...flags, here('contest.mjs'), folder, name], { timeout: 300_000 });
    return JSON.parse(stdout);
  } catch (error) {
    return {
      error:
        error.killed === true
          ? 'too slow'
          : String(error.stderr ?? error)
              .trim()
              .split('\n')
              .at(-1),
    };
  }
}

function measureVisibility() {
  const { grants, first, median } = JSON.parse(execFileSync(process.execPath, [here('visibility.mjs')]).toString());
  return row(`visibility of an actor with ${grants.toLocaleString('en')} grants`, median, { unit: 'us', goal: 'visibility', note: `the first time ${first.toFixed(0)}` }); // prettier-ignore
}

async function measureSize(grants, { passes, seed, contestants }) {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  try {
    execFileSync(process.execPath, [...FLAGS, here('prepare.mjs'), folder, String(grants), String(seed)]);
    const runs = [];
    for (let pass = 0; pass < passes; pass += 1) {
      for (const name of Object.keys(contestants)) runs.push({ name, pass, ...(await contest(folder, name)) });
    }
    return { grants, runs, rows: rowsOf(grants, runs, contestants) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const options = readOptions('decide', {
  grants: ['1000,10000,100000', 'sizes of the policy'],
  million: [false, '1,000,000 grants, too'],
  passes: [3, 'of all contestants, one after the other'],
  only: ['', 'contestants whose names contain it'],
});
if (options !== null) await main(options);

async function main(settings) {
  const amounts = [...settings.grants.split(',').map(Number), ...(settings.million ? [MILLION] : [])];
  const contestants = Object.fromEntries(Object.entries(CONTESTANTS).filter(([name]) => name.includes(settings.only)));
  const sizes = [];
  for (const grants of amounts) sizes.push(await measureSize(grants, { ...settings, contestants }));
  const runs = sizes.flatMap(({ grants, runs }) => runs.map((run) => ({ grants, ...run })));
  const failed = runs.filter(({ error, wrong }) => error !== undefined || wrong > 0);
  const faults = failed.map(({ grants, name, error, wrong }) => `${name}, ${grants} grants: ${error ?? `${wrong} wrong`}`); // prettier-ignore
  report(settings, [...sizes.flatMap(({ rows }) => rows), measureVisibility()], { runs, faults });
  for (const fault of faults) print(`no figure for ${fault}`);
}
