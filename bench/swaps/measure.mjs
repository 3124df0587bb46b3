// `make bench-swap`: what a swap of the policy costs clients. It measures how long the gateway is held up, how soon all of its processes decide
// by the new policy, and how much memory is left after a thousand swaps. It also compares a gateway of 1, 2 and more processes with bare Express.
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, readOptions, report, row, say } from '../rows.mjs';
import { snapshotNow, startLoad } from './load.mjs';
import { startBare, startGateway } from './served.mjs';
import { compileBoth, fill, question } from './world.mjs';

const CONNECTIONS = 8;
const PROCESSES = [...new Set([1, 2, Math.max(4, availableParallelism())])];
const SWAPS_OF_PROCESSES = 20;
/** Milliseconds until code is compiled and caches are filled; less if the bench is only tried out. */
const warmUp = ({ seconds }) => Math.min(1, seconds) * 5_000;

async function main(settings) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-swaps-'));
  const rows = [];
  try {
    const small = await compileBoth(makeFolder(folder, 'small'), { grants: 0 });
    const has = (part) => settings.only === '' || settings.only === part;
    if (has('small')) await measureSmall({ settings, rows, folder, snapshots: small });
    for (const processes of has('processes') ? PROCESSES : []) {
      await measureProcesses({ settings, rows, folder, snapshots: small }, processes);
    }
    if (has('large')) {
      say(`compiling two policies of ${settings.grants} grants`);
      const large = await compileBoth(makeFolder(folder, 'large'), settings);
      await measureLarge({ settings, rows, folder, snapshots: large });
    }
    report(settings, rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeFolder(parent, name) {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}

/** Serves the first snapshot from a file of its own, with a store that has the records. Each `swap` puts the other snapshot there. */
async function serve({ folder, snapshots }, { name, workers }) {
  const own = makeFolder(folder, `served-${name}`);
  const [path, dataDir] = [join(own, 'snapshot.json'), join(own, 'data')];
  copyFileSync(snapshots[0].path, path);
  const begun = performance.now();
  const gateway = await startGateway({ dataDir, policy: path, workers });
  const [started, peak] = [(performance.now() - begun) / 1000, await gateway.peak()];
  const key = await fill(dataDir);
  const { port } = gateway;
  // Each agent stays with the process that accepted its connection.
  const agents = Array.from({ length: 4 * workers }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  let swaps = 0;
  const isServed = async (digest) => {
    const seen = await Promise.all(agents.map((agent) => snapshotNow({ port, agent, key })));
    return seen.every((snapshot) => snapshot === digest);
  };
  return {
    ...gateway,
    key,
    started,
    peak,
    /** Milliseconds from when the snapshot is in its place, put there as publishers do, until all processes answer by it. */
    swap: async () => {
      swaps += 1;
      const next = snapshots[swaps % 2];
      copyFileSync(next.path, `${path}.next`);
      const started = performance.now();
      renameSync(`${path}.next`, path);
      gateway.hurry();
      while (!(await isServed(next.digest))) await sleep(1);
      return performance.now() - started;
    },
    ask: (what) => gateway.ask(what),
    load: (connections) => startLoad({ port, key, connections, ...question(snapshots) }),
    stop: async () => {
      for (const agent of agents) agent.destroy();
      await gateway.stop();
    },
  };
}

async function measureSmall({ settings, rows, ...world }) {
  say(`${settings.small} swaps of a small policy`);
  const gateway = await serve(world, { name: 'small', workers: 1 });
  try {
    const load = gateway.load(2);
    const times = [];
    // What the first swaps compile and cache is not counted as left behind.
    const early = Math.ceil(settings.small / 10);
    let before = 0;
    for (let turn = 1; turn <= settings.small; turn += 1) {
      times.push(await gateway.swap());
      if (turn === early) before = await gateway.ask('memory');
      if (turn === early) await gateway.ask('pauses');
    }
    const pauses = await gateway.ask('pauses');
    await load.stop();
    const { answers, wrong } = load.take();
    const after = await gateway.ask('memory');
    const n = times.length;
    rows.push(
      row('first start, until it serves', gateway.started, { unit: 's', goal: 'start-time' }),
      ...memoryRow('first start, at most', gateway.peak, { goal: 'start-memory' }),
      ...convergence('small policy', times),
      row('small policy: answers that failed or were not those of their snapshot', wrong, {
        n: answers,
        goal: 'wrong',
      }),
      heldUp('small policy', pauses, { n }),
      row(`small policy: memory after ${n} swaps less that after ${early}`, after - before, { unit: 'MiB', goal: 'swap-memory', note: `${after.toFixed(0)} MiB held` }), // prettier-ignore
      ...memoryRow('small policy: resident after the last swap', await gateway.resident()),
    );
  } finally {
    await gateway.stop();
  }
}

async function measureProcesses({ settings, rows, ...world }, processes) {
  const what = processes === 1 ? 'one process' : `${processes} processes`;
  say(what);
  const gateway = await serve(world, { name: String(processes), workers: processes });
  const bare = await startBare(processes);
  try {
    const { body } = question(world.snapshots);
    const rates = { bare: [], gateway: [] };
    const measure = async (name, load) => {
      await sleep(1_000);
      await load.stop();
      const { answers, wrong } = load.take();
      if (wrong > 0) throw new Error(`${wrong} wrong answers of the ${name}`);
      rates[name].push(answers);
    };
    // The two take turns, so that other work on the machine affects both.
    for (let round = 0; round < settings.seconds; round += 1) {
      await measure('bare', startLoad({ port: bare.port, key: gateway.key, body, connections: CONNECTIONS }));
      await measure('gateway', gateway.load(CONNECTIONS));
    }
    const [bareRate, rate] = [median(rates.bare), median(rates.gateway)];
    const n = rates.gateway.length;
    const resident = await gateway.resident();
    const times = [];
    for (let swap = 0; swap < Math.min(SWAPS_OF_PROCESSES, settings.small); swap += 1) times.push(await gateway.swap());
    rows.push(
      row(`${what}: queries, beside bare Express`, rate, { limit: bareRate, unit: '/s', n, note: 'credential, decision, store, audit log' }), // prettier-ignore
      ...memoryRow(`${what}: resident`, resident),
      ...convergence(what, times),
    );
  } finally {
    await bare.stop();
    await gateway.stop();
  }
}

async function measureLarge({ settings, rows, ...world }) {
  const what = `${settings.grants.toLocaleString('en')} grants`;
  say(`${settings.large} swaps of ${what}`);
  const gateway = await serve(world, { name: 'large', workers: 1 });
  try {
    const load = gateway.load(CONNECTIONS);
    await sleep(warmUp(settings));
    load.take();
    await gateway.ask('pauses');
    const times = [];
    for (let turn = 1; turn <= settings.large; turn += 1) times.push(await gateway.swap());
    const [busy, pauses] = [load.take(), await gateway.ask('pauses')];
    const resident = await gateway.resident();
    // Measures for the same time without a swap, once all work for the last one is done.
    await sleep(warmUp(settings));
    load.take();
    await gateway.ask('pauses');
    await sleep(Math.min(warmUp(settings) * 2, median(times) * times.length));
    const [calm, calmPauses] = [load.take(), await gateway.ask('pauses')];
    await load.stop();
    const n = times.length;
    rows.push(
      row(`${what}: until it decides, median`, median(times), {
        unit: 'ms',
        n,
        note: 'read, verified, built and stored',
      }),
      row(`${what}: answers that failed or were not those of their snapshot`, busy.wrong, { n: busy.answers, goal: 'wrong' }), // prettier-ignore
      heldUp(what, pauses, { n, calm: calmPauses }),
      row(`${what}: time of an answer while swapping, p99.9, beside none`, busy.p999, { limit: calm.p999, unit: 'ms', n: busy.answers }), // prettier-ignore
      ...memoryRow(`${what}: resident after the last swap, its labels being checked`, resident),
    );
  } finally {
    await gateway.stop();
  }
}

function heldUp(what, { p999, longest, own }, { n, calm }) {
  const told = [`longest ${longest.toFixed(1)}`];
  if (own !== null) told.push(`of it by itself ${own.toFixed(1)}`);
  if (calm !== undefined) told.push(`without a swap ${calm.p999.toFixed(1)} and ${calm.longest.toFixed(1)}`);
  return row(`${what}: event loop held up while swapping, p99.9`, p999, { unit: 'ms', n, goal: 'held-up', note: told.join(', ') }); // prettier-ignore
}

function convergence(what, times) {
  const about = { unit: 'ms', n: times.length, goal: 'converged' };
  return [
    row(`${what}: until all decide by a new policy, median`, median(times), about),
    row(`${what}: until all decide by a new policy, longest`, Math.max(...times), about),
  ];
}

/** No row where the system does not say how much memory a process has. */
function memoryRow(what, mebibytes, about) {
  return Number.isNaN(mebibytes) ? [] : [row(what, mebibytes, { unit: 'MiB', ...about })];
}

const options = readOptions('swap', {
  grants: [100_000, 'of the large policy; 1000000 takes minutes and gigabytes to compile'],
  large: [5, 'swaps of the large policy'],
  small: [1000, 'swaps of a small one'],
  seconds: [5, 'for each number of processes'],
  only: ['', 'small, processes or large, and nothing else'],
});
if (options !== null) await main(options);
