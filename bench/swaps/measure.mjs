// `make bench-swap`: what a swap of the policy costs clients. It measures how long the gateway is held up, how soon all of its processes decide
// by the new policy, and how much memory is left after a thousand swaps. It also compares a gateway of 1, 2 and more processes with bare Express.
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { figure, loadNow, median, print, say } from '../queries/figures.mjs';
import { writeReport } from '../queries/report.mjs';
import { snapshotNow, startLoad } from './load.mjs';
import { startBare, startGateway } from './served.mjs';
import { compileBoth, fill, question } from './world.mjs';

const HELP = `Usage: make bench-swap ARGS="[options]"

  --grants <n>    of the large policy; 1000000 takes minutes and gigabytes to compile (100000)
  --large <n>     swaps of the large policy (5)
  --small <n>     swaps of a small one (1000)
  --seconds <n>   for each number of processes (5)
  --seed <n>      of the large policy (1)
  --only <part>   small, processes or large
  --out <file>    where the figures go as JSON (.run/bench-swap.json)
`;

const CONNECTIONS = 8;
const PROCESSES = [...new Set([1, 2, Math.max(4, availableParallelism())])];
const SWAPS_OF_PROCESSES = 20;
/** Milliseconds until code is compiled and caches are filled; less if the bench is only tried out. */
const warmUp = ({ seconds }) => Math.min(1, seconds) * 5_000;
const CONVERGED = '<= 1000';

async function main(settings) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-swaps-'));
  const figures = [];
  const before = loadNow();
  try {
    const small = await compileBoth(makeFolder(folder, 'small'), { grants: 0 });
    const has = (part) => settings.only === '' || settings.only === part;
    if (has('small')) await measureSmall({ settings, figures, folder, snapshots: small });
    for (const processes of has('processes') ? PROCESSES : []) {
      await measureProcesses({ settings, figures, folder, snapshots: small }, processes);
    }
    if (has('large')) {
      say(`compiling two policies of ${settings.grants} grants`);
      const large = await compileBoth(makeFolder(folder, 'large'), settings);
      await measureLarge({ settings, figures, folder, snapshots: large });
    }
    writeReport({ settings, figures, before, postgres: null });
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
  const gateway = await startGateway({ dataDir, policy: path, workers });
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

async function measureSmall({ settings, figures, ...world }) {
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
    figures.push(
      figure('small policy: until it decides, median ms', median(times), { n, goal: CONVERGED }),
      figure('small policy: until it decides, longest ms', Math.max(...times), { n, goal: CONVERGED }),
      figure('small policy: answers that failed or were not those of their snapshot', wrong, { n: answers, goal: '<= 0' }), // prettier-ignore
      heldUp('small policy', pauses, { n }),
      figure(`small policy: memory after ${n} swaps less that after ${early}, MiB`, after - before, { goal: '<= 5', note: `${after.toFixed(0)} MiB held, ${(await gateway.resident()).toFixed(0)} MiB resident` }), // prettier-ignore
    );
  } finally {
    await gateway.stop();
  }
}

async function measureProcesses({ settings, figures, ...world }, processes) {
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
    figures.push(
      figure(`${what}: bare Express, answers a second`, bareRate, { n }),
      figure(`${what}: gateway, queries a second`, rate, { n, note: `${resident.toFixed(0)} MiB resident` }),
      figure(`${what}: gateway / bare Express`, rate / bareRate, { n, note: 'credential, decision, store, audit log' }),
      figure(`${what}: until all decide by a new policy, median ms`, median(times), { n: times.length, goal: CONVERGED }), // prettier-ignore
      figure(`${what}: until all decide by a new policy, longest ms`, Math.max(...times), { n: times.length, goal: CONVERGED }), // prettier-ignore
    );
  } finally {
    await bare.stop();
    await gateway.stop();
  }
}

async function measureLarge({ settings, figures, ...world }) {
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
    figures.push(
      figure(`${what}: until it decides, median ms`, median(times), { n, note: 'read, verified, built and stored' }),
      figure(`${what}: answers that failed or were not those of their snapshot`, busy.wrong, { n: busy.answers, goal: '<= 0' }), // prettier-ignore
      heldUp(what, pauses, { n, calm: calmPauses }),
      figure(`${what}: time of an answer while swapping, p99.9 ms`, busy.p999, { n: busy.answers, note: `${calm.p999.toFixed(1)} without a swap` }), // prettier-ignore
      figure(`${what}: resident memory after the last swap, MiB`, resident, { note: 'its labels are being checked' }),
    );
  } finally {
    await gateway.stop();
  }
}

function heldUp(what, { p999, longest, own }, { n, calm }) {
  const told = [`longest ${longest.toFixed(1)}`];
  if (own !== null) told.push(`of it by itself ${own.toFixed(1)}`);
  if (calm !== undefined) told.push(`without a swap ${calm.p999.toFixed(1)} and ${calm.longest.toFixed(1)}`);
  return figure(`${what}: event loop held up while swapping, p99.9 ms`, p999, {
    n,
    goal: '<= 20',
    note: told.join(', '),
  });
}

const { values } = parseArgs({
  options: {
    grants: { type: 'string', default: '100000' },
    large: { type: 'string', default: '5' },
    small: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: '.run/bench-swap.json' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) print(HELP);
else {
  const [grants, large, small, seconds, seed] = ['grants', 'large', 'small', 'seconds', 'seed'].map((name) => Number(values[name])); // prettier-ignore
  await main({ grants, large, small, seconds, seed, only: values.only, out: values.out });
}
