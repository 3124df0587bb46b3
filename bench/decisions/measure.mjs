// `make bench-decide`: decisions per second, compared with other authorization libraries on one machine in one run. Each contestant has a
// process of its own, passes are interleaved, and every answer is checked against a slow reference.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { CONTESTANTS } from './contestants.mjs';
import { print, summarize } from './report.mjs';

const HELP = `Usage: make bench-decide ARGS="[options]"

  --grants <n,n>   sizes of the policy (1000,10000,100000)
  --million        1,000,000 grants, too
  --passes <n>     of all contestants, one after the other (3)
  --only <text>    contestants whose names contain it
  --seed <n>       of everything that is generated (1)
  --out <file>     where the figures go as JSON (.run/bench-decide.json)
`;

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
  const visibility = JSON.parse(execFileSync(process.execPath, [here('visibility.mjs')]).toString());
  const { grants, first, median } = visibility;
  const count = grants.toLocaleString('en');
  process.stdout.write(
    `\nvisibility of an actor with ${count} grants: ${median.toFixed(0)} us (goal 50), the first time ${first.toFixed(0)} us\n`,
  );
  return visibility;
}

async function measureSize(grants, { passes, seed, contestants }) {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  try {
    execFileSync(process.execPath, [...FLAGS, here('prepare.mjs'), folder, String(grants), String(seed)]);
    const runs = [];
    for (let pass = 0; pass < passes; pass += 1) {
      for (const name of Object.keys(contestants)) runs.push({ name, pass, ...(await contest(folder, name)) });
    }
    const rows = summarize(runs, contestants);
    print(grants, rows);
    return { grants, rows, runs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      grants: { type: 'string', default: '1000,10000,100000' },
      million: { type: 'boolean', default: false },
      passes: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string', default: '.run/bench-decide.json' },
      help: { type: 'boolean', default: false },
    },
  });
  const sizes = values.grants.split(',').map(Number);
  const numbers = [...sizes, Number(values.passes), Number(values.seed)];
  if (values.help || numbers.some((number) => !Number.isSafeInteger(number) || number < 1)) return null;
  return {
    sizes: values.million ? [...sizes, MILLION] : sizes,
    passes: Number(values.passes),
    seed: Number(values.seed),
    contestants: Object.fromEntries(Object.entries(CONTESTANTS).filter(([name]) => name.includes(values.only))),
    out: values.out,
  };
}

const options = readOptions();
if (options === null) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else if (!existsSync(here('../../dist/engine/index.js'))) {
  process.stderr.write('nothing is built: run `make bench-decide`\n');
  process.exitCode = 2;
} else {
  const machine = {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    node: process.version,
    load: loadavg()[0],
  };
  const sizes = [];
  for (const grants of options.sizes) sizes.push(await measureSize(grants, options));
  const visibility = measureVisibility();
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(options.out, `${JSON.stringify({ machine, sizes, visibility }, null, 1)}\n`);
  const load = machine.load.toFixed(1);
  process.stdout.write(
    `\n${machine.processor}, ${machine.cores} cores, load ${load} before, Node ${machine.node}; ${options.out}\n`,
  );
}
