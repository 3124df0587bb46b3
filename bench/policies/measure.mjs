// `make bench-policy`: generates policies and measures the commands that their authors wait for, each in a process of its own. Figures
// depend on what else the machine does, so its load is shown with them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { readOptions, report, row, say, short } from '../rows.mjs';
import { generatePolicy } from './generate.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const CLI = join(ROOT, 'dist/server/bin/bailiwick.js');
const EDITS = 10;
/** Bytes: lint finds thousands of redundant grants in a million, and `check` prints each. */
const MOST_OUTPUT = 2 ** 29;
/** Characters, from the end. */
const TOLD_OF_FAILURE = 4000;
/** Goals, by number of grants and step: of its time, and of its memory. */
const GOALS = {
  100_000: {
    'check': ['check-100k'],
    'compile, with all of check': ['compile-100k', 'compile-100k-memory'],
    'diff, ten grants edited': ['diff-100k'],
    'guardrails (6)': ['guardrails-100k'],
    'a guardrail that nearly all break': ['broken-100k'],
  },
  1_000_000: {
    'compile, with all of check': ['compile-1m', 'compile-1m-memory'],
    'heap kept by a loaded snapshot': ['load-1m-heap'],
  },
};

const options = readOptions('policy', {
  grants: [100_000, 'of the policy'],
  million: [false, '1,000,000 grants too (minutes, gigabytes)'],
});
if (options !== null) measureAll(options);

function measureAll(settings) {
  const { seed, million } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  try {
    const amounts = [settings.grants, ...(million ? [1_000_000] : [])];
    const runs = amounts.map((grants) => measure(join(folder, String(grants)), { grants, seed }));
    report(settings, runs.flatMap(({ rows }) => rows), { runs: runs.map(({ facts }) => facts) }); // prettier-ignore
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measure(folder, wanted) {
  const sizes = generatePolicy(join(folder, 'policy'), wanted);
  generatePolicy(join(folder, 'edited'), { ...wanted, edits: EDITS });
  say(`${sizes.grants.toLocaleString('en')} grants`);
  const compile = ['compile', 'policy', '-o', 'policy.json', '--format', 'json'];
  const steps = [
    command(folder, 'check', ['check', 'policy']),
    command(folder, 'compile, with all of check', compile),
    command(folder, 'compile of the edited policy', compile.map((word) => word.replace('policy', 'edited'))),
  ];
  const inside = run(folder, [join(HERE, 'phases.mjs'), 'policy.json', 'edited.json', 'policy']);
  const { phases, kept, ...facts } = JSON.parse(inside.stdout);
  steps.push(...phases, { step: 'all of these in one process', wall: inside.wall, cpu: inside.cpu, peakMiB: inside.peakMiB });
  return { rows: [...steps.flatMap((step) => rowsOf(sizes, step)), keptRow(sizes, kept)], facts: { ...sizes, ...facts } };
}

function rowsOf({ grants }, { step, wall, cpu, peakMiB }) {
  const [time, memory] = GOALS[grants]?.[step] ?? [];
  const what = `${grants.toLocaleString('en')} grants: ${step}`;
  const timed = row(what, wall, { unit: 's', goal: time ?? null, note: `${short(cpu)} s of CPU` });
  return peakMiB === undefined ? [timed] : [timed, row(`${what}, memory`, peakMiB, { unit: 'MiB', goal: memory ?? null })]; // prettier-ignore
}

function keptRow({ grants }, bytes) {
  const step = 'heap kept by a loaded snapshot';
  return row(`${grants.toLocaleString('en')} grants: ${step}`, bytes / 1e6, { unit: 'MB', goal: GOALS[grants]?.[step]?.[0] ?? null }); // prettier-ignore
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
