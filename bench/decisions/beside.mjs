// Two builds, or ten scopes and 64, in short rounds that take turns: node beside.mjs [options]. What the machine does besides then
// happens to both alike, so small differences can be seen.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `Usage: node bench/decisions/beside.mjs [options]

  --other <folder>  a checkout with another build (this one)
  --scopes <10|64>  of this build; the other one has ten (10)
  --grants <n>      size of the policy (20000)
  --passes <n>      over all requests, that count, of each side (20)
  --pairs <n>       pairs of processes, one after the other (5)
  --processor <n>   on which both run (1)
`;

const DOORS = {
  loadWhole: 'from texts, whole answer',
  loadStep: 'from texts, step',
  loadResolvedWhole: 'resolved, whole answer',
  loadResolvedStep: 'resolved, step',
};
/** Passes that do not count. */
const WARM_UP = 5;
const here = import.meta.dirname;
const own = join(here, '../..');

const { values } = parseArgs({
  options: {
    other: { type: 'string', default: own },
    scopes: { type: 'string', default: '10' },
    grants: { type: 'string', default: '20000' },
    passes: { type: 'string', default: '20' },
    pairs: { type: 'string', default: '5' },
    processor: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

/** A side, as a function that runs one round. */
async function start(checkout, folder) {
  const script = join(here, 'beside-round.mjs');
  const child = spawn('taskset', ['-c', values.processor, process.execPath, script, checkout, folder], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let [answer, fail] = [() => {}, () => {}];
  child.on('message', (message) => answer(message));
  child.on('exit', () => fail(new Error('a side has ended')));
  const next = () =>
    new Promise((resolve, reject) => {
      [answer, fail] = [resolve, reject];
    });
  await next();
  const round = (door) => {
    const answered = next();
    child.send(door);
    return answered;
  };
  return { round, stop: () => child.kill() };
}

function prepare(checkout, scopes) {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  execFileSync(process.execPath, [join(checkout, 'bench/decisions/prepare.mjs'), folder, values.grants, '1', scopes]);
  return folder;
}

const at = (numbers, share) => numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * share)];
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/**
 * What a decision takes on each side. Each chunk of requests is asked once in every pass. What counts of it is the least, and the
 * median, over all passes, since a machine that does other things, too, makes some slower and none faster.
 */
async function measurePair(folders, door) {
  const sides = await Promise.all([start(own, folders.ours), start(values.other, folders.other)]);
  const seen = [[], []];
  const passes = () => seen[0][0]?.length ?? 0;
  try {
    while (passes() < WARM_UP + Number(values.passes) || seen.flat().some((times) => times.length !== passes())) {
      for (const side of passes() % 2 === 0 ? [0, 1] : [1, 0]) {
        const { from, of, times, wrong } = await sides[side].round(door);
        if (wrong > 0) throw new Error(`${wrong} wrong answers`);
        for (const [i, time] of times.entries()) (seen[side][(from + i) % of] ??= []).push(time);
      }
    }
    const counted = seen.map((chunks) => chunks.map((times) => times.slice(WARM_UP)));
    const of = (share) => counted.map((chunks) => mean(chunks.map((times) => at(times, share))));
    return { least: of(0), median: of(0.5) };
  } finally {
    for (const side of sides) side.stop();
  }
}

const ratio = ([a, b]) => a / b;
const middle = (numbers) => at(numbers, 0.5);

if (values.help) process.stderr.write(HELP);
else {
  const folders = { ours: prepare(own, values.scopes), other: prepare(values.other, '10') };
  try {
    for (const [door, name] of Object.entries(DOORS)) {
      const pairs = [];
      for (let i = 0; i < Number(values.pairs); i += 1) pairs.push(await measurePair(folders, door));
      const [least, median] = ['least', 'median'].map((kind) => pairs.map((pair) => ratio(pair[kind])));
      const ns = (side) => Math.round(Math.min(...pairs.map((pair) => pair.least[side])));
      process.stdout.write(
        `${name.padEnd(26)} ${ns(0)} ns beside ${ns(1)} ns; ratio of minima ${middle(least).toFixed(3)}, of medians ${middle(median).toFixed(3)} (${median.map((r) => r.toFixed(3)).join(' ')})\n`,
      );
    }
  } finally {
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true, force: true });
  }
}
