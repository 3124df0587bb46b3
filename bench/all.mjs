// `make bench` runs every bench at a modest size, one after the other, and prints one page: each goal, the row that is the furthest from it,
// and what was not run. `make bench-…` runs one bench at any size and shows all of its rows. `make bench-smoke` runs them at sizes too small
// for real figures, and fails if one does not finish.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GOALS } from './goals.mjs';
import { cellsOf, factsOf, HEAD, print, say, table, writeOut } from './rows.mjs';

const BENCHES = {
  decisions: {
    title: 'Decisions',
    args: ['--grants', '10000,100000', '--passes', '1'],
    smoke: ['--grants', '100', '--passes', '1'],
  },
  policies: { title: 'Policies', args: ['--grants', '100000'], smoke: ['--grants', '200'] },
  queries: {
    title: 'Queries',
    args: ['--records', '100000', '--namespaces', '10000', '--grants', '100000', '--seconds', '1'],
    smoke: ['--records', '300', '--namespaces', '50', '--grants', '300', '--seconds', '0.01'],
  },
  sizes: {
    title: 'Sizes',
    script: 'queries/sizes.mjs',
    args: ['--records', '20000,60000,200000'],
    smoke: ['--records', '300,600,1200', '--day', '0.05', '--seconds', '0.01'],
  },
  commands: {
    title: 'Commands',
    args: ['--records', '20000', '--rounds', '3'],
    smoke: ['--records', '2000', '--rounds', '1', '--seconds', '0.05'],
  },
  swaps: {
    title: 'Swaps and processes',
    args: ['--small', '200', '--seconds', '3'],
    smoke: ['--grants', '100', '--large', '1', '--small', '2', '--seconds', '0.1'],
  },
};
const PEERS = fileURLToPath(new URL('decisions/node_modules', import.meta.url));
const HELP = `Usage: make bench ARGS="[names]", or make bench-smoke ARGS="[names]"

  ${Object.keys(BENCHES).join(', ')}: all of them unless some are named
`;

const given = process.argv.slice(2);
const wanted = given.filter((word) => word !== '--smoke');
if (wanted.some((name) => !Object.hasOwn(BENCHES, name))) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else await main(given.includes('--smoke') ? 'smoke' : 'args');

/** A goal that is not met is reported, but it is not a failure. */
async function main(size) {
  const name = size === 'smoke' ? 'bench-smoke' : 'bench';
  const ran = {};
  const faults = [];
  for (const bench of Object.keys(BENCHES)) {
    if (wanted.length > 0 && !wanted.includes(bench)) continue;
    ran[bench] = await run(bench, size);
    const { status, faults: own = [] } = ran[bench];
    if (status !== 0) faults.push(`bench/${bench} ended with ${status}`);
    // At real sizes an engine that is too slow has no figure, and that is all.
    if (size === 'smoke') faults.push(...own.map((fault) => `bench/${bench}: ${fault}`));
    // It is written after each bench, so that it remains if a later one is interrupted.
    writeOut(`.run/${name}.json`, { ...factsOf({ size }), benches: ran, faults });
  }
  if (size === 'smoke') {
    say(faults.length === 0 ? '\nevery bench came to its end; figures are in .run/bench-smoke.json' : `\n${faults.join('\n')}`); // prettier-ignore
  } else {
    const page = pageOf(ran);
    mkdirSync('.run', { recursive: true });
    writeFileSync('.run/bench.md', page);
    print(`\n${page}`);
    say('written to .run/bench.md; all rows are in .run/bench.json');
  }
  if (faults.length > 0) process.exitCode = 1;
}

/** What a bench wrote, or why it was left out. It prints its rows on the way. */
async function run(bench, size) {
  say(`\n${BENCHES[bench].title}`);
  if (bench === 'decisions' && !existsSync(PEERS)) {
    const left = 'its peers are not installed: npm ci --prefix bench/decisions';
    say(left);
    return { status: 0, left, rows: [] };
  }
  const out = `.run/bench-${bench}.json`;
  rmSync(out, { force: true });
  const { script = `${bench}/measure.mjs`, [size]: chosen } = BENCHES[bench];
  const args = [fileURLToPath(new URL(script, import.meta.url)), ...chosen, '--out', out];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 2, 'inherit'] });
  const [status, signal] = await once(child, 'close');
  const written = existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : { rows: [] };
  return { status: status ?? signal, ...written };
}

function pageOf(ran) {
  const { at, commit, machine, node, load } = factsOf({});
  const lines = Object.keys(GOALS).map((id) => lineOf(id, ran));
  const ratios =
    'Of several rows of a goal, the page has the one that is the furthest from it. A ratio is of two figures of one run.';
  const sizes = Object.keys(ran).map((bench) => `bench/${bench} ${BENCHES[bench].args.join(' ')}`);
  return `# Goals and figures\n\n${commit}, ${at}, ${machine}, Node ${node}, load ${load.join(' ')}. ${ratios}\n\n\`\`\`text\n${table([HEAD, ...lines])}\n\`\`\`\n\n${sizes.join('  \n')}\n`; // prettier-ignore
}

function lineOf(id, ran) {
  const { bench, what, goal } = GOALS[id];
  const rows = (ran[bench]?.rows ?? []).filter((row) => row.goal === id);
  if (rows.length === 0) return cellsOf({ what, figure: null, unit: '', limit: null, ratio: null, wanted: goal, met: null, n: '', note: whyNot(bench, ran) }); // prettier-ignore
  const sign = goal.startsWith('<=') ? -1 : 1;
  const [worst] = rows.toSorted((a, b) => sign * ((a.ratio ?? a.figure) - (b.ratio ?? b.figure)));
  const met = rows.filter((row) => row.met).length;
  const note = rows.length === 1 ? worst.note : `${worst.what}; ${met} of ${rows.length} met`;
  return cellsOf({ ...worst, what, note });
}

function whyNot(bench, ran) {
  if (bench === null) return 'not run: no bench of `make bench` measures it';
  if (ran[bench] === undefined) return `not run: bench/${bench} was not asked for`;
  if (ran[bench].status !== 0) return `not run: bench/${bench} failed`;
  return `not run: ${ran[bench].left ?? 'not at this size'}`;
}
