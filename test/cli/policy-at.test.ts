// `policy-at` says which policy was in force at an instant, and who stood behind it, by the audit log alone.
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import type { EventParts } from '../../server/audit/event.js';
import { eventPolicy } from '../../server/audit/provenance.js';
import { eventOf, LOG, logFiles, writerOf } from '../support/audit-log.js';
import { A, B } from '../support/followed-policy.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const DAY = 86_400_000;
const day = (n: number): number => Date.parse('2027-01-01T00:00:00Z') + n * DAY;
const text = (n: number): string => new Date(day(n)).toISOString();

const commit = 'c0ffee'.padEnd(40, '0');
const FROM_GIT = eventPolicy({
  ...{ source: { kind: 'git', repository: 'https://git.example.org/policy', ref: 'main', commit }, generation: 3 },
  ...{ signers: ['ben', 'ana'], askedBy: 'git main', reason: 'PASS-314 \u001b[2J' },
});

/** On day 0, 1 and so on. */
const EVENTS: readonly Partial<EventParts>[] = [
  { operation: 'gateway.start', snapshot: A.policy.digest },
  { operation: 'policy.refuse', outcome: 'failed', snapshot: B.policy.digest },
  { operation: 'policy.activate', snapshot: B.policy.digest, policy: FROM_GIT },
  { operation: 'resource.query', kind: 'query', snapshot: B.policy.digest },
  { operation: 'gateway.stop', snapshot: B.policy.digest },
  { operation: 'resource.query', kind: 'query' },
];

let folder = '';
beforeAll(async () => {
  folder = await makeFolder();
  const writer = writerOf(folder, { fileBytes: 500 });
  for (const [n, parts] of EVENTS.entries()) {
    writer.add(eventOf(n, { kind: 'admin', outcome: 'allowed', status: 200, at: instantOf(day(n)), ...parts }));
    await writer.sync();
  }
  await writer.close();
});

const at = (when: string, ...more: readonly string[]): Promise<CliRun> =>
  runCli(['policy-at', when, '--log', folder, ...more]);

describe('the policy that was in force', () => {
  test.each([
    ['before the log', -1, null, null, null],
    ['from the instant of the start', 0, A.policy.digest, 0, 2],
    ['after a policy was refused', 1.5, A.policy.digest, 0, 2],
    ['from the instant of an activation', 2, B.policy.digest, 2, 4],
    ['up to the stop', 3.999, B.policy.digest, 2, 4],
    ['none after the stop', 4, null, 4, null],
    ['none at the end of the log', 9, null, 4, null],
  ])('is named: %s', async (_, when, snapshot, since, until) => {
    const { status, stdout, stderr } = await at(text(when), '--format', 'json');
    expect([status, stderr]).toEqual([0, '']);
    const { logs, ...said } = JSON.parse(stdout) as { at: string; logs: readonly object[] };
    expect(said).toEqual({ at: text(when) });
    expect(logs).toEqual([
      expect.objectContaining({
        ...{ log: LOG, snapshot, firstSeq: 1, lastEvent: text(5) },
        ...{ since: since === null ? null : text(since), until: until === null ? null : text(until) },
      }),
    ]);
  });

  it('comes with its commit, signers and reason', async () => {
    const { stdout } = await at(text(2.5));
    expect(stdout).toBe(`${LOG}
  snapshot ${B.policy.digest}
  in force since ${text(2)} until ${text(4)}
  from git
  repository https://git.example.org/policy
  ref main
  commit ${commit}
  activation number 3
  by git main
  reason PASS-314 \\x1b[2J
  signed by ana, ben
  event 3 (policy.activate)
`);
  });

  it('is not known before the log, none while the gateway has stopped, and may have changed after the last event', async () => {
    expect((await at(text(-1))).stdout).toBe(`${LOG}\n  nothing is known: its first event is of ${text(0)}\n`);
    expect((await at(text(9))).stdout).toBe(
      `${LOG}\n  nothing: the gateway stopped at ${text(4)}\n  event 5 (gateway.stop)\n  the last event of this log is of ${text(5)}; it says nothing of later\n`,
    );
  });

  it('is no snapshot that was refused, whatever the order of times', async () => {
    const { stdout } = await at(text(1), '--format', 'json');
    expect(stdout).not.toContain(B.policy.digest);
  });

  test.each([
    [['policy-at'], 'missing'],
    [['policy-at', 'yesterday'], '`<instant>`'],
    [['policy-at', text(0), '--log', '/none'], '/none'],
  ])('needs an instant and a log: %j', async (args, message) => {
    const { status, stdout, stderr } = await runCli(args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr.toLowerCase()).toContain(message);
  });
});

it('says of an empty log that it has no event, and of a changed one that what it says does not verify', async () => {
  const empty = await runCli(['policy-at', text(0), '--log', await makeFolder()]);
  expect([empty.status, empty.stdout]).toEqual([8, '']);
  expect(empty.stderr).toMatch(/^error: no audit log in `\/.+` has an event$/m);
  const copy = await makeFolder();
  const texts = logFiles(folder).map((path) => readFileSync(path, 'utf8'));
  writeFileSync(`${copy}/${LOG}.000000000000001.jsonl`, texts.join('').replaceAll(B.policy.digest, A.policy.digest));
  const { status, stdout, stderr } = await runCli(['policy-at', text(2), '--log', copy, '--format', 'json']);
  expect(status).toBe(8);
  expect(JSON.parse(stdout)).toMatchObject({ logs: [{ verifies: false }] });
  expect(stdout + stderr).toContain('does not verify');
});
