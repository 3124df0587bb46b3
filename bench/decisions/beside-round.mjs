// One side of beside.mjs, in a process of its own: node beside-round.mjs <checkout> <folder of a workload>. Answers each message, the name
// of a door, with a short round: for each of the next chunks of requests, the nanoseconds that one decision took.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CHUNK = 50;
/** Chunks in a round. */
const ROUND = 80;

const [checkout, folder] = process.argv.slice(2);
const own = await import(pathToFileURL(join(checkout, 'bench/decisions/contestants/own.mjs')).href);
const bytes = readFileSync(join(folder, 'snapshot.json'));
const requests = JSON.parse(readFileSync(join(folder, 'requests.json'), 'utf8'));
const verdicts = readFileSync(join(folder, 'verdicts.bin'));
const chunks = [];
for (let from = 0; from < requests.length; from += CHUNK)
  chunks.push(Buffer.from(JSON.stringify(requests.slice(from, from + CHUNK))));

const doors = new Map();
let next = 0;

process.on('message', (name) => {
  if (!doors.has(name)) doors.set(name, own[name](bytes));
  const { shape, decide } = doors.get(name);
  const times = [];
  let wrong = 0;
  const from = next;
  for (let i = 0; i < ROUND; i += 1) {
    const asked = JSON.parse(chunks[next].toString()).map(shape);
    const answers = new Array(asked.length);
    const started = process.hrtime.bigint();
    for (let i = 0; i < asked.length; i += 1) answers[i] = decide(asked[i]);
    times.push(Number(process.hrtime.bigint() - started) / asked.length);
    for (let i = 0; i < asked.length; i += 1) if ((answers[i] ? 1 : 0) !== verdicts[next * CHUNK + i]) wrong += 1;
    next = (next + 1) % chunks.length;
  }
  process.send({ from, of: chunks.length, times, wrong });
});
process.send('ready');
