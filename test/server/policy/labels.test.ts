// Labels of a served snapshot: checked on a thread, known to the state, an alarm if they are false. Also, a policy that
// was loaded on a thread decides like one that was loaded here.
import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify, types } from 'node:util';
import { decide, loadSnapshot, LOCAL_ACTOR, instantOf, type Policy, type ScopeSet } from '../../../engine/index.js';
import { type Active, makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { makeLabelChecks } from '../../../server/policy/active/check-labels.js';
import { loadInThread, openBeside, verifyInThread } from '../../../server/policy/open/snapshot-thread.js';
import type { Logger } from '../../../server/lib/ports.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { compile, FULL } from '../../engine/full-policy.js';
import { pathOf } from '../../engine/oracle/worlds.js';
import { mislabelled } from '../../support/mislabelled.js';
import { makeFolder } from '../../support/temp-folder.js';

const NOW = instantOf(0);
const { bytes } = compile(FULL);
const MANY = {
  ...FULL,
  grants: [
    ...FULL.grants,
    ...FULL.grants.slice(0, 1).flatMap((grant) =>
      Array.from({ length: 400 }, (_, i) => ({
        ...grant,
        id: `more-${String(i)}`,
        namespace: pathOf(`/m${String(i)}`),
      })),
    ),
  ],
};
/** What is opened on a thread. */
const { bytes: large } = compile(MANY);
const ignore = (): void => undefined;
const SILENT = { info: ignore, warn: ignore, error: ignore };
const ACTIVE = makeActivePolicy(
  { policy: open(loadSnapshot(bytes)), labels: 'unverified' },
  { clock: { now: () => NOW }, log: SILENT },
).current();

function open(result: Awaited<ReturnType<typeof loadInThread>>): Policy {
  if (!result.ok) throw new Error(result.fault.message);
  return result.policy;
}

/** What is known in the end, and what the log has. */
async function check(
  file: Uint8Array,
  verify?: typeof verifyInThread,
): Promise<{ readonly labels: string; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const error = (_: object, line: string): void => void lines.push(line);
  const log = { error } as unknown as Logger;
  const policies = makeActivePolicy(
    { policy: open(loadSnapshot(file)), labels: 'unverified' },
    { clock: { now: () => NOW }, log },
  );
  const active: Active = policies.current();
  expect(active.labels).toBe('unverified');
  const checks = makeLabelChecks({ policies, log, ...(verify === undefined ? {} : { verify }) });
  checks.begin({ active, bytes: file, onKnown: () => Promise.resolve(), onEnded: end });
  await ended;
  return { labels: policies.current().labels, lines };
}

it('is of sizes that are opened and checked here, and on a thread', () => {
  expect(bytes.length).toBeLessThan(POLICY_LIMITS.small.snapshotBytes);
  expect(large.length).toBeGreaterThan(POLICY_LIMITS.small.snapshotBytes);
});

/** Each role has members for a time in the next three, so there is a window for each way through them. */
const NESTED = {
  ...FULL,
  ...{ tests: [], guardrails: [], people: [], exclusive: [] },
  roles: Array.from({ length: 10 }, (_, i) => ({
    ...{ name: `r${String(i)}`, description: null, place: null },
    members: [1, 2, 3].map((step) => ({
      ...(i + step < 10
        ? ({ kind: 'role', role: `r${String(i + step)}` } as const)
        : ({ kind: 'identity', identity: { provider: 'orcid', subject: `p${String(step)}` } } as const)),
      ...{ notBefore: instantOf(10 * i + step), expires: instantOf(1_000_000 + 20 * i + step), place: null },
    })),
  })),
  grants: FULL.grants.slice(0, 1).map((grant) => ({ ...grant, principal: { kind: 'role', role: 'r0' } as const })),
};

/** Each identity holds a role that has rights for a time, and others in each namespace, so all times meet in all of them. */
const TIMED = {
  ...NESTED,
  roles: [
    {
      ...{ name: 'all', description: null, place: null },
      members: times(80, (i) => ({ kind: 'identity', identity: identityOf(i), place: null }) as const),
    },
  ],
  grants: FULL.grants.slice(0, 1).flatMap((grant) => {
    const toAll = { ...grant, principal: { kind: 'role', role: 'all' } as const };
    return [
      ...times(80, (i) => ({
        ...{ ...grant, id: `own-${String(i)}`, namespace: pathOf('/'), notBefore: instantOf(7 * i), expires: null },
        principal: { kind: 'identity', identity: identityOf(i) } as const,
      })),
      ...times(80, (i) => ({
        ...{ ...toAll, id: `for-a-time-${String(i)}`, namespace: pathOf('/'), scopes: 2 as ScopeSet },
        ...{ notBefore: instantOf(11 * i), expires: instantOf(11 * i + 5) },
      })),
      ...times(80, (i) => ({
        ...{ ...toAll, id: `below-${String(i)}`, namespace: pathOf(`/n${String(i)}`), scopes: 4 as ScopeSet },
        ...{ notBefore: instantOf(13 * i), expires: null },
      })),
    ];
  }),
};

function identityOf(i: number): { readonly provider: string; readonly subject: string } {
  return { provider: 'orcid', subject: `p${String(i)}` };
}

function times<Made>(count: number, make: (i: number) => Made): readonly Made[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

describe('the labels of a snapshot that is served', () => {
  it.each([bytes, large])('are verified after it has begun to serve', async (file) => {
    expect(await check(file)).toEqual({ labels: 'verified', lines: [] });
  });

  it.each([bytes, large])('are an alarm where they are false, and the policy goes on deciding', async (file) => {
    const { labels, lines } = await check(mislabelled(file));
    expect(labels).toBe('false');
    expect(lines).toEqual([expect.stringContaining('false label')]);
  });

  it('stay unverified where they could not be checked', async () => {
    const { labels, lines } = await check(bytes, () => Promise.reject(new Error('no thread')));
    expect([labels, lines.length]).toEqual(['unverified', 1]);
  });
});

it.each([
  ['many grants for members with a window', NESTED],
  ['many times in many namespaces', TIMED],
])('are checked on a thread if there are %s, however small the file', async (_, set) => {
  const { bytes: file } = compile(set);
  expect(file.length).toBeLessThan(POLICY_LIMITS.small.snapshotBytes);
  const policy = open(loadSnapshot(file));
  const policies = makeActivePolicy({ policy, labels: 'unverified' }, { clock: { now: () => NOW }, log: SILENT });
  const happened: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const checks = makeLabelChecks({ policies, log: SILENT });
    const onKnown = (labels: string): Promise<void> => Promise.resolve(void happened.push(labels));
    checks.begin({ active: policies.current(), bytes: file, onKnown, onEnded: resolve });
  });
  await setImmediate();
  happened.push('others were served');
  await ended;
  expect(happened).toEqual(['others were served', 'verified']);
});

describe('while the labels of one snapshot are checked', () => {
  const generations = [1, 2, 3, 4].map((generation) => ({ ...ACTIVE, generation }));

  /** Checks that end when they are told to, each with what it said of its generation. */
  function slowChecks(): {
    readonly begin: (generation: number) => void;
    readonly end: () => Promise<void>;
    readonly close: () => void;
    readonly started: () => number;
    readonly known: readonly number[];
    readonly lines: readonly string[];
  } {
    const known: number[] = [];
    const lines: string[] = [];
    const ends: (() => void)[] = [];
    let started = 0;
    const checks = makeLabelChecks({
      policies: { noteLabels: (generation) => void known.push(generation) },
      log: { error: (_: object, line: string) => void lines.push(line) } as unknown as Logger,
      verify: (_, signal) =>
        new Promise((resolve, reject) => {
          started += 1;
          ends.push(() => {
            resolve(null);
          });
          signal?.addEventListener('abort', () => {
            reject(new Error('ended'));
          });
        }),
    });
    return {
      ...{ close: checks.close, started: () => started, known, lines },
      begin: (generation) => {
        const active = generations[generation - 1] ?? ACTIVE;
        checks.begin({ active, bytes, onKnown: () => Promise.resolve(), onEnded: ignore });
      },
      end: async () => {
        ends.pop()?.();
        await setImmediate();
      },
    };
  }

  it('no other one is, and of those that came meanwhile only the newest is checked then', async () => {
    const { begin, end, started, known } = slowChecks();
    for (const generation of [1, 2, 3, 4]) begin(generation);
    expect(started()).toBe(1);
    await end();
    expect(started()).toBe(2);
    await end();
    expect([started(), known]).toEqual([2, [1, 4]]);
    begin(2);
    expect(started()).toBe(3);
    await end();
    expect(known).toEqual([1, 4, 2]);
  });

  it('the gateway can end: that check ends, without a line in the log, and none begins', async () => {
    const { begin, close, started, known, lines } = slowChecks();
    begin(1);
    begin(2);
    close();
    await setImmediate();
    begin(3);
    await setImmediate();
    expect([started(), known, lines]).toEqual([1, [], []]);
  });

  it('the process can end', async () => {
    const thread = JSON.stringify(new URL('../../../server/policy/open/snapshot-thread.js', import.meta.url).href);
    const script = `import(${thread}).then(({ verifyInThread }) => {
      process.on('exit', (status) => console.log('ended', status));
      return verifyInThread(new Uint8Array(${String(large.length)})).then(() => console.log('known'));
    })`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
    expect(stdout).toBe('ended 0\n');
  });
});

describe('loading in a thread', () => {
  it('gives the bytes in memory that threads share: copying them would stop whoever answers requests', async () => {
    const path = join(await makeFolder(), 'snapshot.json');
    await writeFile(path, large);
    const content = { kind: 'file', path } as const;
    const opened = await openBeside(content, { signed: null, tables: null, signal: AbortSignal.timeout(60_000) });
    expect(types.isSharedArrayBuffer(opened.bytes.buffer)).toBe(true);
    expect(Buffer.from(opened.bytes).equals(large)).toBe(true);
    expect(await verifyInThread(opened.bytes)).toBe(null);
  });

  it('is what happens to a small file that has many grants for members with a window: others are served meanwhile', async () => {
    const { bytes: nested } = compile(NESTED);
    expect(nested.length).toBeLessThan(4096);
    const content = { kind: 'parts', parts: [new Uint8Array(nested)] } as const;
    const options = { signed: null, tables: null, signal: AbortSignal.timeout(60_000) };
    for (const load of [() => loadInThread(nested), () => openBeside(content, options)]) {
      const loading = load();
      expect(await Promise.race([loading, setImmediate('others were served')])).toBe('others were served');
      await loading;
    }
    const small = loadInThread(bytes);
    expect(await Promise.race([small, setImmediate('others were served')])).toEqual(await small);
  });

  it.each([bytes, large])('gives the policy that loading here gives', async (file) => {
    const here = open(loadSnapshot(file));
    const there = open(await loadInThread(file));
    expect({ ...there }).toEqual({ ...here });
    for (const { principal, namespace, notBefore } of FULL.grants) {
      const identities =
        principal.kind === 'identity'
          ? [principal.identity]
          : FULL.roles.flatMap(({ members }) =>
              members.flatMap((member) => (member.kind === 'identity' ? [member.identity] : [])),
            );
      for (const target of [namespace, pathOf('/elsewhere')]) {
        const input = {
          actor: { ...LOCAL_ACTOR, kind: 'request', identities },
          request: { kind: 'access', scope: 'resource:read', context: target, target },
          at: notBefore ?? NOW,
        } as const;
        expect(decide(there, input)).toEqual(decide(here, input));
      }
    }
  });

  it.each([bytes, large])('says what is wrong with a file as loading here does', async (file) => {
    const damaged = file.slice(0, -9);
    expect(await loadInThread(damaged)).toEqual(loadSnapshot(damaged));
  });
});
