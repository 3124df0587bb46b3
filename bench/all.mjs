// `make bench` runs every bench at a modest size, one after the other, and writes what they print to one page: .run/bench.md. Each bench says
// what is measured, what it is compared with, and which goals are reached. `make bench-…` runs one of them at any size. `make bench-smoke` runs
// them at sizes too small for real figures, and fails if a bench does not finish or has a figure that is not a number.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGE = '.run/bench.md';
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
/** Fields that may be null: a figure may have no goal, a contender no failure, a machine no PostgreSQL. */
const MAY_BE_NULL = new Set(['goal', 'reached', 'error', 'postgres']);
const PEERS = fileURLToPath(new URL('decisions/node_modules', import.meta.url));
const HELP = `Usage: make bench ARGS="[names]", or make bench-smoke ARGS="[names]"

  ${Object.keys(BENCHES).join(', ')}: all of them unless some are named
`;

const given = process.argv.slice(2);
const wanted = given.filter((word) => word !== '--smoke');
const names = Object.keys(BENCHES).filter((name) => wanted.length === 0 || wanted.includes(name));
if (names.length === 0 || wanted.some((name) => !Object.hasOwn(BENCHES, name))) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else if (given.includes('--smoke')) process.exitCode = (await tryAll(names)) ? 0 : 1;
else process.exitCode = (await runAll(names)) ? 0 : 1;

/** Whether all benches finished. A goal that is not reached is reported, but it is not a failure. */
async function runAll(chosen) {
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const parts = [`# Benches\n\n${new Date().toISOString()}, ${machine}\n`];
  let isWhole = true;
  for (const name of chosen) {
    const { title, args } = BENCHES[name];
    process.stderr.write(`\n${title}\n`);
    const { text, status } = await run(name, args);
    isWhole &&= status === 0;
    const end = status === 0 ? '' : `\nIt ended with status ${status}.\n`;
    parts.push(
      `## ${title}\n\n\`bench/${name}\` with \`${args.join(' ')}\`\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n${end}`,
    );
    // The page is written after each bench, so that it remains if a later one is interrupted.
    mkdirSync('.run', { recursive: true });
    writeFileSync(PAGE, parts.join('\n'));
  }
  process.stderr.write(`\nwritten to ${PAGE}\n`);
  return isWhole;
}

/** Whether each bench finished and reported only numbers. */
async function tryAll(chosen) {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-smoke-'));
  const faults = [];
  try {
    for (const name of chosen) {
      if (name === 'decisions' && !existsSync(PEERS)) {
        process.stderr.write(
          '\nDecisions: left out, as its peers are not installed: npm ci --prefix bench/decisions\n',
        );
        continue;
      }
      process.stderr.write(`\n${BENCHES[name].title}\n`);
      const out = join(folder, `${name}.json`);
      const { status } = await run(name, [...BENCHES[name].smoke, '--out', out]);
      if (status !== 0) faults.push(`bench/${name} ended with status ${status}`);
      else faults.push(...missingIn(JSON.parse(readFileSync(out, 'utf8'))).map((what) => `bench/${name}: ${what}`));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stderr.write(`\n${faults.length === 0 ? 'every bench came to its end' : faults.join('\n')}\n`);
  return faults.length === 0;
}

/** The places in a report where something failed or a number is missing: JSON writes null for a number that is none. */
function missingIn(value, path = '') {
  if (typeof value !== 'object') return [];
  if (value === null) return MAY_BE_NULL.has(path.split('.').at(-1)) ? [] : [`${path} is no number`];
  const named = value.figure ?? value.step ?? value.name;
  const failed = typeof value.error === 'string' ? [`${path} failed: ${value.error}`] : [];
  const below = Object.entries(value).flatMap(([key, one]) => missingIn(one, `${path}${named === undefined ? '' : ` (${named})`}.${key}`)); // prettier-ignore
  return [...failed, ...below];
}

async function run(name, args) {
  const script = fileURLToPath(new URL(`${name}/measure.mjs`, import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    process.stdout.write(chunk);
  });
  const [status, signal] = await once(child, 'close');
  return { text, status: status ?? signal };
}
