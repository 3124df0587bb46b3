// A gateway that is queried while its policy is replaced again and again. Every answer comes wholly from the snapshot
// that it names, and nothing of earlier policies stays in memory, the first one included.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, snapshotOf, type TestGrant } from '../support/gateway.js';
import type { Held } from '../support/memory-hook.js';
import { runCli } from '../support/run-cli.js';
import { type Served, startServingWith } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LABS = ['/a', '/b'] as const;
const RECORDS = 3;
const SWAPS = times({ usual: 12, deep: 1_000 });
/** What the first requests compile and remember is not what swaps leave behind. */
const EARLY = Math.ceil(SWAPS / 10);
const MOST_LEFT = 5;

const grant = (lab: string): TestGrant => [ADA, lab, ['resource:read']];
const others = Array.from({ length: 500 }, (_, index): TestGrant => grant(`/first/${String(index)}`));
/** Larger than the others, so that what it leaves would be seen. */
const FIRST = snapshotOf([grant(LABS[0]), ...others]);
const SMALL = LABS.map((lab) => snapshotOf([grant(lab)]));
const LAB_OF = new Map([
  [FIRST.policy.digest, LABS[0]],
  ...SMALL.map(({ policy }, index) => [policy.digest, LABS[index] ?? ''] as const),
]);

let dataDir: string;
let path: string;
let served: Served;
let key: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  path = join(await makeFolder(), 'snapshot.json');
  writeFileSync(path, FIRST.bytes);
  const flags = ['--expose-gc', '--import', new URL('../support/memory-hook.js', import.meta.url).href];
  served = await startServingWith(flags, dataDir, 'serve', '--policy', path);
  const lines = LABS.flatMap((namespace) =>
    Array.from({ length: RECORDS }, () => JSON.stringify({ family: 'resource', namespace, name: 'x' })),
  );
  const loaded = await runCli(['load', '-', '--data-dir', dataDir], { stdin: `${lines.join('\n')}\n` });
  expect([loaded.status, loaded.stderr]).toEqual([0, `store: embedded, in ${dataDir}\n`]);
  const made = await runCli(['keys', 'create', '--data-dir', dataDir, '--actor', 'ada', '--identity', 'orcid:ada']);
  key = made.stdout.trim();
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

async function held(): Promise<Held> {
  served.child.send('held');
  const [answer] = (await once(served.child, 'message')) as [Held];
  return answer;
}

/** The snapshot that an answer names; throws if the answer is not wholly that of it. */
async function ask(agent: Agent): Promise<string> {
  const body = { family: 'resource', namespace: '/', reach: 'subtree', select: ['namespace'] };
  const { status, headers, json } = await call(served.port, { key, agent, body });
  const snapshot = String(headers['bailiwick-snapshot']);
  const lab = LAB_OF.get(snapshot);
  const items = Array.from({ length: RECORDS }, () => ({ namespace: lab }));
  expect([status, json]).toEqual([200, expect.objectContaining({ snapshot, items })]);
  return snapshot;
}

async function swapTo({ bytes, policy }: (typeof SMALL)[number], agent: Agent): Promise<void> {
  writeFileSync(`${path}.next`, bytes);
  renameSync(`${path}.next`, path);
  served.child.kill('SIGHUP');
  while ((await ask(agent)) !== policy.digest) await sleep(5);
}

it(
  `answers by exactly one snapshot while it is replaced, and holds no more after ${String(SWAPS)} swaps than after ${String(EARLY)}`,
  async () => {
    const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const [own = new Agent(), ...theirs] = agents;
    const first = Math.max(...(await held()).shared);
    let isOver = false;
    const answers = theirs.map(async (agent) => {
      let count = 0;
      for (; !isOver; count += 1) {
        await ask(agent);
        await sleep(20);
      }
      return count;
    });
    let early = 0;
    for (let swap = 1; swap <= SWAPS; swap += 1) {
      const next = SMALL[swap % 2];
      if (next !== undefined) await swapTo(next, own);
      if (swap === EARLY) early = (await held()).total;
    }
    isOver = true;
    const counts = await Promise.all(answers);
    const { total, shared } = await held();
    for (const agent of agents) agent.destroy();
    process.stderr.write(
      `${String(SWAPS)} swaps, ${counts.join(' and ')} answers: ${total.toFixed(1)} MiB held, ${(total - early).toFixed(1)} more than early\n`,
    );
    expect(Math.min(...counts)).toBeGreaterThan(SWAPS);
    expect(total - early).toBeLessThan(MOST_LEFT);
    expect(Math.max(...shared)).toBeLessThan(first);
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
  },
  600_000 + SWAPS * 1_000,
);
