// A gateway with two workers under mixed load, while two policies with disjoint rights take turns every second: for some seconds, and for
// two hours in `make test-deep`. Another process then judges each answer by the snapshot that it names.
import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sha256Of } from '../../server/policy/open/snapshot-bytes.js';
import { call } from '../support/gateway.js';
import { runCli } from '../support/run-cli.js';
import { startServing } from '../support/serve-process.js';
import { ACTORS, type Answered, type Asked, askedIn, FIXED, policyOf } from '../support/soak-world.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { times } from '../support/test-runs.js';

const SECONDS = times({ usual: 3, deep: 7_200 });
const CLIENTS_EACH = 3;
const KINDS = [
  ...['list 200', 'list 403', 'count 200', 'count 403'],
  ...['read 200', 'read 404', 'create 201', 'create 403'],
];
/** Seconds in which the kinds that have not been seen may still come. */
const PATIENCE = 60;

const checker = fileURLToPath(new URL('../support/check-answers.js', import.meta.url));

it(
  'answers every request wholly by the one snapshot that the answer names',
  async () => {
    const [dataDir, folder] = [await newDataDir(), await makeFolder()];
    const bailiwick = async (...args: readonly string[]): Promise<string> => {
      const { status, stdout, stderr } = await runCli([...args], { cwd: folder });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    };
    const snapshots = await Promise.all(
      [policyOf('/labs/a', '/labs/b'), policyOf('/labs/b', '/labs/a')].map(async (files, index) => {
        const path = join(folder, `${String(index)}.json`);
        await bailiwick('compile', await makeFolder(files), '-o', path);
        return path;
      }),
    );
    const served = join(folder, 'served.json');
    await copyFile(snapshots[0] ?? '', served);
    const records = FIXED.map((record) => JSON.stringify({ family: 'resource', ...record }));
    await writeFile(join(folder, 'fixed.jsonl'), `${records.join('\n')}\n`);
    await bailiwick('load', 'fixed.jsonl', '--data-dir', dataDir);
    const gateway = await startServing(dataDir, 'serve', '--workers', '2', '--policy', served);
    const keys = await Promise.all(
      ACTORS.map(async (actor) => ({
        actor,
        key: (
          await bailiwick('keys', 'create', '--data-dir', dataDir, '--actor', actor, '--identity', `orcid:${actor}`)
        ).trim(),
      })),
    );

    const answers = createWriteStream(join(folder, 'answers.jsonl'));
    const until = performance.now() + SECONDS * 1_000;
    const seen = new Set<string>();
    // A slow machine takes longer until everything has been answered.
    const isOver = (): boolean =>
      performance.now() >= until + (KINDS.every((kind) => seen.has(kind)) ? 0 : PATIENCE * 1_000);
    const ask = async (agent: Agent, turn: number, { actor, key }: (typeof keys)[number]): Promise<void> => {
      const asked = askedIn(turn);
      const { status, json, headers } = await call(gateway.port, { agent, key, ...callOf(asked) });
      const got = `${String(status)}${status === 200 ? ` ${shown(asked, json ?? {})}` : ''}`;
      const answered: Answered = { actor, asked, snapshot: String(headers['bailiwick-snapshot']), got };
      answers.write(`${JSON.stringify(answered)}\n`);
      seen.add(`${asked.kind} ${String(status)}`);
    };
    const clients = keys.flatMap((who, one) =>
      Array.from({ length: CLIENTS_EACH }, async (_, client) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        for (let turn = 5 * one + 11 * client; !isOver(); turn += 1) await ask(agent, turn, who);
        agent.destroy();
      }),
    );
    for (let turn = 1; !isOver(); turn += 1) {
      await copyFile(snapshots[turn % 2] ?? '', `${served}.next`);
      await rename(`${served}.next`, served);
      gateway.child.kill('SIGHUP');
      await sleep(1_000);
    }
    await Promise.all(clients);
    await new Promise((resolve) => answers.end(resolve));
    const { stdout: state } = await runCli(['status', '--data-dir', dataDir, '--format', 'json']);
    const { generation } = JSON.parse(state) as { readonly generation: number };
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);

    const judge = async (file: string): Promise<Judged> => {
      const judged = await promisify(execFile)(process.execPath, [checker, join(folder, file), ...snapshots]);
      return JSON.parse(judged.stdout) as Judged;
    };
    const { counts, refused, wrong } = await judge('answers.jsonl');
    const told = `${String(generation)} activations, ${String(refused)} refused, ${JSON.stringify(counts)}`;
    process.stderr.write(`soak: ${String(SECONDS)} s, ${told}\n`);
    // A request that was refused for want of time is a failure, but no wrong answer.
    expect({ wrong, refused }).toEqual({ wrong: [], refused: 0 });
    // Who judges is not blind: what one snapshot allows is wrong under the name of the other.
    const asked = { kind: 'create', namespace: '/labs/a' } as const;
    const digests = await Promise.all(snapshots.map(async (path) => sha256Of(await readFile(path))));
    const lines = digests.map((snapshot) => JSON.stringify({ actor: 'ada', asked, snapshot, got: '201' }));
    await writeFile(join(folder, 'false.jsonl'), `${lines.join('\n')}\n`);
    expect((await judge('false.jsonl')).wrong).toEqual([expect.stringContaining('is not 403')]);
    // Everything was asked, and allowed as well as refused.
    expect(Object.keys(counts).sort()).toEqual([...KINDS].sort());
    expect(generation).toBeGreaterThan(SECONDS / 3);
    await rm(dataDir, { recursive: true, force: true });
  },
  (SECONDS + 120) * 1_000,
);

interface Judged {
  readonly counts: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly wrong: readonly string[];
}

/** Records that are made meanwhile have other names. */
function callOf(asked: Asked): Parameters<typeof call>[1] {
  const fixed = { name: { startsWith: 'fixed' } };
  switch (asked.kind) {
    case 'list':
      return { body: { family: 'resource', ...placeOf(asked), where: fixed, select: ['id'] } };
    case 'count':
      return { path: '/api/v1/query/count', body: { family: 'resource', ...placeOf(asked), where: fixed } };
    case 'read':
      return { method: 'GET', path: `/api/v1/resources/${asked.id}` };
    case 'create':
      return {
        path: '/api/v1/resources',
        headers: { 'idempotency-key': randomUUID() },
        body: { namespace: asked.namespace, name: 'made' },
      };
  }
}

function placeOf({ namespace, reach }: Extract<Asked, { kind: 'list' | 'count' }>): object {
  return { namespace, reach };
}

function shown({ kind }: Asked, json: Readonly<Record<string, unknown>>): string {
  if (kind === 'count') return String(json['count']);
  if (kind === 'read') return String(json['id']);
  const items = json['items'] as readonly { readonly id: string }[];
  return items
    .map(({ id }) => id)
    .sort()
    .join(',');
}
