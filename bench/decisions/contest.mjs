// One contestant in a process of its own: node --expose-gc contest.mjs <folder of a workload> <contestant>. Prints one line of JSON.
// Requests are parsed from JSON in small chunks right before they are decided, as in a server, so their strings are fresh and have no
// cached hashes. Parsing is not timed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CONTESTANTS } from './contestants.mjs';

const CHUNK = 50;
const ROUNDS = 5;
const ROUND = 500;
/** Requests by other actors, which warm the compiler up before first sight is timed. */
const WARM_UP = 2000;
/** A slow contestant decides fewer requests. */
const PATIENCE = 4000;

const [folder, name] = process.argv.slice(2);
const { own, load } = CONTESTANTS[name];

/** The memory in use. Buffers count until another thread has freed them. */
async function memory() {
  globalThis.gc();
  await setTimeout(50);
  globalThis.gc();
  return process.memoryUsage();
}

function readChunks() {
  const requests = JSON.parse(readFileSync(join(folder, 'requests.json'), 'utf8'));
  const chunks = [];
  for (let from = 0; from < requests.length; from += CHUNK)
    chunks.push(Buffer.from(JSON.stringify(requests.slice(from, from + CHUNK))));
  return chunks;
}

async function open() {
  const started = performance.now();
  const bytes = readFileSync(join(folder, own ? 'snapshot.json' : 'policy.json'));
  const loaded = await load(own ? bytes : JSON.parse(bytes.toString()));
  const took = performance.now() - started;
  return { took, ...(typeof loaded === 'function' ? { shape: (request) => request, decide: loaded } : loaded) };
}

const chunks = readChunks();
const verdicts = readFileSync(join(folder, 'verdicts.bin'));
const before = await memory();
const { took, shape, decide } = await open();
const after = await memory();
const parse = (chunk) => JSON.parse(chunks[chunk].toString()).map(shape);

let wrong = 0;
let decided = 0;
let firstTime = 0;
let firstCount = 0;
for (let chunk = 0; chunk < chunks.length && (firstTime < PATIENCE || firstCount === 0); chunk += 1) {
  const requests = parse(chunk);
  const answers = new Array(requests.length);
  const started = performance.now();
  for (let i = 0; i < requests.length; i += 1) answers[i] = decide(requests[i]);
  if (decided >= WARM_UP) {
    firstTime += performance.now() - started;
    firstCount += requests.length;
  }
  for (const answer of answers) {
    if ((answer ? 1 : 0) !== verdicts[decided]) wrong += 1;
    decided += 1;
  }
}

/** Decisions per second over all chunks that were reached above. */
function round() {
  let time = 0;
  let count = 0;
  while (time < ROUND) {
    for (let chunk = 0; chunk * CHUNK < decided && time < ROUND; chunk += 1) {
      const requests = parse(chunk);
      let allowed = 0;
      const started = performance.now();
      for (let i = 0; i < requests.length; i += 1) if (decide(requests[i])) allowed += 1;
      time += performance.now() - started;
      count += allowed >= 0 ? requests.length : 0;
    }
  }
  return (count / time) * 1000;
}

round();
const rates = Array.from({ length: ROUNDS }, round).sort((a, b) => a - b);
const last = await memory();
const figures = {
  decided,
  wrong,
  warm: rates[ROUNDS >> 1],
  first: (firstCount / firstTime) * 1000,
  load: took,
  heap: after.heapUsed - before.heapUsed,
  // Shared buffers are only in the second number.
  outside: Math.max(after.external - before.external, after.arrayBuffers - before.arrayBuffers),
  heapAfter: last.heapUsed - before.heapUsed,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
