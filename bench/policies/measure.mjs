// `make bench-policy`: generates policies and measures the commands that their authors wait for, each in a process of its own. Prints one
// table and writes .run/bench-policy.json. Figures depend on what else the machine does, so its load is shown with them.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generatePolicy } from './generate.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const CLI = join(ROOT, 'dist/server/cli/main.js');
const EDITS = 10;
/** Bytes: lint finds thousands of redundant grants in a million, and `check` prints each. */
const MOST_OUTPUT = 2 ** 29;
/** Characters, from the end. */
const TOLD_OF_FAILURE = 4000;
const HELP = `Usage: make bench-policy ARGS="[options]"

  --million         1,000,000 grants too (minutes, gigabytes)
  --grants <n>      instead of 100,000
  --seed <n>        another policy of the same size (default 1)
  --out <file>      where the figures go as JSON (default .run/bench-policy.json)
`;

/** Goals: most seconds and MiB, by number of grants and step. */
const GOALS = {
  100_000: {
    'compile, with all of check': { wall: 10, peakMiB: 1024 },
    'diff, ten grants edited': { wall: 2 },
    'guardrails (6)': { wall: 5 },
    'a guardrail that nearly all break': { wall: 5 },
  },
  1_000_000: { 'compile, with all of check': { wall: 120, peakMiB: 4096 } },
};

const { values } = parseArgs({
  options: {
    million: { type: 'boolean', default: false },
    grants: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: join(ROOT, '.run/bench-policy.json') },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) console.log(HELP);
else measureAll([Number(values.grants), ...(values.million ? [1_000_000] : [])], Number(values.seed), values.out);

function measureAll(amounts, seed, out) {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  try {
    const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), memoryMiB: Math.round(totalmem() / 2 ** 20) };
    const facts = { commit: commit(), node: process.version, seed, machine, startedAt: new Date().toISOString() };
    console.log(`${facts.commit}, Node ${facts.node}, ${machine.cores} x ${machine.cpu}, seed ${seed}\n`);
    const runs = amounts.map((grants) => measure(join(folder, String(grants)), { grants, seed }));
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, `${JSON.stringify({ ...facts, runs }, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commit() {
  const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  try {
    return git('rev-parse', '--short=12', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ' with changes');
  } catch {
    return 'no commit';
  }
}

function measure(folder, wanted) {
  const sizes = generatePolicy(join(folder, 'policy'), wanted);
  generatePolicy(join(folder, 'edited'), { ...wanted, edits: EDITS });
  const number = (value) => value.toLocaleString('en');
  console.log(`${number(sizes.grants)} grants`);
  const compile = ['compile', 'policy', '-o', 'policy.json', '--format', 'json'];
  const steps = [
    command(folder, 'check', ['check', 'policy']),
    command(folder, 'compile, with all of check', compile),
    command(folder, 'compile of the edited policy', compile.map((word) => word.replace('policy', 'edited'))),
  ];
  const inside = run(folder, [join(HERE, 'phases.mjs'), 'policy.json', 'edited.json', 'policy']);
  const { phases, counts, rows, bytes, witnesses, repair } = JSON.parse(inside.stdout);
  steps.push(...phases, { step: 'all of these in one process', wall: inside.wall, cpu: inside.cpu, peakMiB: inside.peakMiB });
  const judged = steps.map((step) => judge(step, GOALS[sizes.grants]?.[step.step]));
  const load = loadavg().map((value) => Math.round(value * 10) / 10);
  for (const step of judged) console.log(row(step));
  const told = witnesses === undefined ? '' : `, ${number(witnesses)} witnesses and a repair of ${number(repair)} grants`;
  console.log(
    `  ${number(counts.identities)} identities, ${number(counts.roles)} roles, ${number(counts.namespaces)} namespaces,` +
      ` ${(bytes / 2 ** 20).toFixed(1)} MiB, ${rows} rows of difference` +
      `${told}; load ${load.join(' ')}\n`,
  );
  return { sizes, counts, snapshotBytes: bytes, diffRows: rows, witnesses, repair, steps: judged, load };
}

/** Runs one verb in a process of its own, without any flags for Node, as users do. */
function command(folder, step, args) {
  const { wall, cpu, peakMiB } = run(folder, [CLI, ...args]);
  return { step, wall, cpu, peakMiB };
}

function run(folder, args) {
  const usage = join(folder, 'usage.json');
  const env = { ...process.env, BENCH_USAGE: usage };
  delete env.NODE_OPTIONS;
  const started = performance.now();
  const options = { cwd: folder, env, encoding: 'utf8', maxBuffer: MOST_OUTPUT };
  const child = spawnSync(process.execPath, ['--import', join(HERE, 'peak.mjs'), ...args], options);
  const wall = (performance.now() - started) / 1000;
  if (child.status !== 0) {
    const told = `${child.stdout}${child.stderr}`.slice(-TOLD_OF_FAILURE);
    throw new Error(`${args.join(' ')} ended with ${child.status ?? child.signal}: ${child.error?.message ?? ''}${told}`);
  }
  return { stdout: child.stdout, wall, ...JSON.parse(readFileSync(usage, 'utf8')) };
}

function judge(step, goal) {
  if (goal === undefined) return step;
  const met = step.wall < goal.wall && (goal.peakMiB === undefined || step.peakMiB < goal.peakMiB);
  return { ...step, goal, met };
}

function row({ step, wall, cpu, peakMiB, goal, met }) {
  const columns = [`${wall.toFixed(2)} s`, `${cpu.toFixed(2)} s cpu`, peakMiB === undefined ? '' : `${peakMiB.toFixed(0)} MiB`];
  const wanted = goal === undefined ? [] : [`${goal.wall} s`, ...(goal.peakMiB === undefined ? [] : [`${goal.peakMiB} MiB`])];
  const verdict = goal === undefined ? '' : `  ${met ? 'within' : 'OVER'} ${wanted.join(', ')}`;
  return `  ${step.padEnd(35)}${columns.map((text) => text.padStart(13)).join('')}${verdict}`;
}
