// `make bench-counts`: counts that do not depend on the hour or the machine, and are the same on each line of Node: trips, statements, rows
// and blocks of requests, bytes that the engine allocates, sizes. bench/counts.json has what they were; `make test` compares (compare.mjs).
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { writeOut } from '../rows.mjs';
import { compare, record } from './compare.mjs';

const HELP = `Usage: node bench/counts/measure.mjs [options]

  --record            write what differs into the file, to be reviewed like code
  --recorded <file>   what the counts were (bench/counts.json)
  --counted <file>    counts of an earlier run, in place of counting
  --out <file>        where the counts go as JSON (.run/bench-counts.json)
`;
const ENGINE = ['--no-opt', '--no-maglev', '--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512'];
const here = (file) => fileURLToPath(new URL(file, import.meta.url));

const { values } = parseArgs({
  options: {
    record: { type: 'boolean', default: false },
    recorded: { type: 'string', default: here('../counts.json') },
    counted: { type: 'string' },
    out: { type: 'string', default: '.run/bench-counts.json' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else await main(values);

async function main({ record: isToBeRecorded, recorded: path, counted: earlier, out }) {
  const counted = earlier === undefined ? await countAll() : JSON.parse(readFileSync(earlier, 'utf8')).counts;
  const recorded = JSON.parse(readFileSync(path, 'utf8'));
  const { changed, lines } = compare(recorded, counted);
  writeOut(out, { counts: counted, changed, lines });
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  const total = `${Object.keys(counted).length} counts`;
  if (!changed) process.stdout.write(`${total}, as recorded\n`);
  else if (isToBeRecorded) {
    writeFileSync(path, `${JSON.stringify(record(recorded, counted), null, 2)}\n`);
    process.stdout.write(`written to ${path}\n`);
  } else {
    process.stdout.write('If this is meant: `make bench-counts` records it in bench/counts.json, to be committed and reviewed with the change.\n'); // prettier-ignore
    process.exitCode = 1;
  }
}

async function countAll() {
  const [{ countFiles }, { countEmbedded, countPostgres }] = await Promise.all([import('./files.mjs'), import('./store.mjs')]); // prettier-ignore
  const engine = promisify(execFile)(process.execPath, [...ENGINE, here('engine.mjs')]);
  const files = countFiles();
  // One after the other: both count what this process sends.
  const stores = { ...(await countEmbedded()), ...(await countPostgres()) };
  const counts = { ...stores, ...JSON.parse((await engine).stdout), ...(await files) };
  const broken = Object.entries(counts).filter(([, value]) => !Number.isSafeInteger(value));
  if (broken.length > 0) throw new Error(`not counted: ${broken.map(([name]) => name).join('; ')}`);
  return counts;
}
