// A gateway that follows its policy: a change at the path is verified as a whole and replaces the policy, and nothing
// else ever does.
import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Instant, instantOf } from '../../../engine/index.js';
import { makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { followSource } from '../../../server/policy/active/follow-source.js';
import { makePathSource } from '../../../server/policy/sources/path-source.js';
import { stalenessOf } from '../../../server/policy/active/staleness.js';
import { storedActivations } from '../../../server/policy/store/activations.js';
import type { Source } from '../../../server/policy/sources/source.js';
import { makeActivator, type Offered } from '../../../server/policy/active/activator.js';
import { A, B, C, db, follow, grantsAt, HEADER, HOUR, NEVER, NOON, watches } from '../../support/followed-policy.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

describe('a snapshot file that is followed', () => {
  it('takes the place of the one in force when it changes, for all who pin after that', async () => {
    const { policies, put, look, lines } = await follow();
    const pinned = policies.current();
    expect(await look()).toEqual([A.policy.digest, null]);
    put(B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current().generation).toBe(2);
    expect(pinned.policy.digest).toBe(A.policy.digest);
    expect(lines.map(({ message }) => message)).toEqual(['the policy was replaced']);
  });

  it('is not taken while somebody still writes, and is at the second look that finds it the same', async () => {
    const { policies, path, put } = await follow({ interval: 40 });
    put(B.bytes);
    const writing = setInterval(() => {
      writeFileSync(`${path}.dsse.json`, String(Math.random()));
    }, 5);
    await sleep(400);
    expect(policies.current().policy.digest).toBe(A.policy.digest);
    clearInterval(writing);
    await until(() => policies.current().policy.digest === B.policy.digest);
  });

  it('is a source that cannot be read if somebody goes on writing, which log and status say until the last write', async () => {
    const folder = await makeFolder();
    const path = join(folder, 'snapshot.json');
    writeFileSync(path, A.bytes);
    const { facts, look } = await makePathSource(path);
    let looks = 0;
    let isWriting = true;
    const source: Source = {
      facts,
      look: (...asked) => {
        looks += 1;
        if (isWriting) writeFileSync(`${path}.dsse.json`, String(looks));
        return look(...asked);
      },
    };
    const { policies, put, lines } = await follow({ folder, source, interval: 20, patience: 100 });
    put(B.bytes);
    await until(() => policies.state().refusal !== null);
    const { length } = lines;
    const from = looks;
    await until(() => looks > from + 2);
    expect(policies.state().refusal).toMatchObject({ code: 'source.unsettled' });
    expect([policies.current().policy.digest, length, lines.length]).toEqual([A.policy.digest, 1, 1]);
    isWriting = false;
    await until(() => policies.current().policy.digest === B.policy.digest);
    expect(policies.state().refusal).toBeNull();
    expect(lines.map(({ message, fields }) => [message, fields['code']])).toEqual([
      ['the source of the policy cannot be read, and the policy in force stays', 'source.unsettled'],
      ['the source of the policy can be read again', undefined],
      ['the policy was replaced', undefined],
    ]);
  });

  it('is refused if it is damaged, gone, too large or not a file, with the reason, and taken when it is mended', async () => {
    const { policies, path, put, look, lines } = await follow();
    const damaged = Buffer.from(B.bytes);
    damaged[100] = (damaged[100] ?? 0) ^ 1;
    put(damaged);
    expect(await look()).toEqual([A.policy.digest, 'snapshot.seal']);
    put(B.bytes.subarray(0, 400));
    expect((await look())[0]).toBe(A.policy.digest);
    put('');
    expect((await look())[0]).toBe(A.policy.digest);
    rmSync(path);
    expect(await look()).toEqual([A.policy.digest, 'source.missing']);
    execFileSync('mkfifo', [path]);
    expect(await look()).toEqual([A.policy.digest, 'source.unreadable']);
    put('');
    truncateSync(path, 5 * 1024 ** 3);
    expect(await look()).toEqual([A.policy.digest, 'snapshot.too_large']);
    expect(policies.current().generation).toBe(1);
    expect(lines.every(({ fields }) => fields['snapshot'] === A.policy.digest && fields['path'] === path)).toBe(true);
    // What cannot be read was not refused.
    const [refused, away] = [
      'the policy that the source offers was refused',
      'the source of the policy cannot be read',
    ];
    expect(lines.map(({ message, fields }) => [message.split(',')[0], fields['code']])).toEqual([
      [refused, 'snapshot.seal'],
      [refused, expect.any(String)],
      [refused, expect.any(String)],
      [away, 'source.missing'],
      [away, 'source.unreadable'],
      ['the source of the policy can be read again', undefined],
      [refused, 'snapshot.too_large'],
    ]);
    put(B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('is always one that was written whole, however it is written over in place', async () => {
    const { policies, path, watch } = await follow();
    const whole = new Set([A, B, C].map(({ policy }) => policy.digest));
    const versions = [A.bytes, B.bytes, C.bytes];
    let written = 0;
    const writing = setInterval(() => {
      const bytes = versions[(written += 1) % versions.length] ?? A.bytes;
      writeFileSync(path, bytes.subarray(0, bytes.length / 2));
      writeFileSync(path, bytes.subarray(bytes.length / 2), { flag: 'a' });
    }, 1);
    for (let round = 0; round < 8; round += 1) {
      await watch.pollNow();
      expect(whole).toContain(policies.current().policy.digest);
    }
    clearInterval(writing);
    writeFileSync(path, C.bytes);
    await watch.pollNow();
    expect(policies.current().policy.digest).toBe(C.policy.digest);
  });

  it('is taken even if what the offer occupied cannot be removed, which the log says', async () => {
    const folder = await makeFolder();
    const path = join(folder, 'snapshot.json');
    const from = { kind: 'file', path } as const;
    const statement = { shown: path, read: () => Promise.resolve(null) };
    const release = (): Promise<void> => Promise.reject(new Error('busy'));
    const offer = { content: from, statement, from, release };
    const source = { facts: {}, look: () => Promise.resolve({ kind: 'offer', offer } as const) };
    const { put, look, lines } = await follow({ folder, source });
    put(B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(lines.map(({ message }) => message)).toEqual([
      'what an offer occupied could not be removed',
      'the policy was replaced',
    ]);
    put('{}');
    expect((await look())[1]).toMatch(/^snapshot\./);
  });

  it('is let go when the gateway ends: what is being opened then neither decides nor reaches the store', async () => {
    const { policies, put, watch, lines } = await follow();
    put(B.bytes);
    const looking = watch.pollNow();
    await sleep(20);
    await Promise.all([watch.stop(), looking]);
    put(C.bytes);
    await watch.pollNow();
    expect(policies.current().policy.digest).toBe(A.policy.digest);
    expect(await db.knex('activations').count()).toEqual([{ count: '1' }]);
    expect(lines).toEqual([]);
  });

  it('is not refused for the false label of one that it has replaced since', async () => {
    const { activator, policies, path, put } = await follow();
    const returned: Offered['onReturned'][] = [];
    const offer = (offered: Offered): ReturnType<typeof activator.offer> => {
      returned.push(offered.onReturned);
      return activator.offer(offered);
    };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const clock = { now: (): Instant => instantOf(NOON) };
    const source = await makePathSource(path);
    const own = { source, policies, activator: { ...activator, offer }, rule: null, clock, log, interval: NEVER };
    const watch = followSource(own);
    watches.push(watch);
    for (const { bytes } of [B, C]) {
      put(bytes);
      await watch.pollNow();
    }
    const fault = { code: 'snapshot.label', message: 'it carries a false label', problems: [] };
    returned[0]?.(fault);
    expect(policies.state().refusal).toBeNull();
    returned[1]?.(fault);
    expect(policies.state().refusal).toMatchObject({ code: 'snapshot.label' });
  });

  it('is checked by one caller at a time', async () => {
    const { policies, put, watch } = await follow();
    put(B.bytes);
    const looks = Array.from({ length: 6 }, () => watch.pollNow());
    put(C.bytes);
    await Promise.all(looks);
    expect(policies.current().policy.digest).toBe(C.policy.digest);
    expect(policies.current().generation).toBeLessThanOrEqual(3);
  });
});

describe('a policy folder that is followed', () => {
  it('is checked, compiled and tested first; mistakes are reported with their place, and the one in force stays', async () => {
    const folder = await makeFolder({ 'policy.yaml': HEADER, 'grants.yaml': grantsAt('/a') });
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const clock = { now: (): Instant => instantOf(NOON) };
    const policies = makeActivePolicy({ policy: A.policy }, { clock, log });
    const start = { kind: 'offered', policy: A.policy, statement: null, reason: 'start', askedBy: 'test' } as const;
    await storedActivations(db).record({ ...start, at: clock.now() });
    const activator = makeActivator({ db, policies, rule: null, clock, log });
    const watch = followSource({
      source: await makePathSource(folder),
      rule: null,
      policies,
      activator,
      clock,
      log,
      interval: NEVER,
    });
    watches.push(watch);
    await watch.pollNow();
    const first = policies.current();
    expect(first).toMatchObject({ generation: 2, labels: 'verified', source: { kind: 'folder', path: folder } });

    writeFileSync(join(folder, 'grants.yaml'), grantsAt('/a').replace('resource:read', 'resource:raed'));
    await watch.pollNow();
    expect(policies.state().refusal).toMatchObject({
      code: 'policy.invalid',
      problems: [expect.stringMatching(/^grants\.yaml:4:14: .*resource:raed/)],
    });
    const failing =
      'tests:\n  - name: nobody reads\n    actor: { identities: ["orcid:ada"] }\n    deny: [resource:read /a]\n';
    writeFileSync(join(folder, 'grants.yaml'), grantsAt('/a') + failing);
    await watch.pollNow();
    expect(policies.state().refusal).toMatchObject({
      code: 'policy.tests_failed',
      problems: [expect.stringContaining('the test `nobody reads` fails')],
    });
    const violated = 'guardrails:\n  - id: never-read\n    never: { scopes: ["resource:read"], under: / }\n';
    writeFileSync(join(folder, 'grants.yaml'), grantsAt('/a') + violated);
    await watch.pollNow();
    expect(policies.state().refusal).toMatchObject({ code: 'policy.guardrail_violated' });
    expect(policies.current()).toBe(first);
    rmSync(join(folder, 'policy.yaml'));
    await watch.pollNow();
    expect(policies.state().refusal).toMatchObject({ code: 'policy.invalid' });
    writeFileSync(join(folder, 'policy.yaml'), HEADER);

    writeFileSync(join(folder, 'grants.yaml'), grantsAt('/b'));
    await watch.pollNow();
    expect(policies.state()).toMatchObject({ refusal: null, active: { generation: 3 } });
  });
});

describe('the age of a policy', () => {
  it('counts from the last time that its source had it: a warning first, and then nothing is decided', async () => {
    const ages = { softAge: HOUR, hardAge: 2 * HOUR };
    const { policies, look: lookAtSource, age, path, advance, put, lines } = await follow({ ages });
    const look = async (): Promise<unknown> => {
      const found = await lookAtSource();
      await age.pollNow();
      return found;
    };
    const stale = (after: number): string => stalenessOf(policies.state(), ages, instantOf(NOON + after));
    advance(90 * 60_000);
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(stale(2 * HOUR)).toBe('no');
    rmSync(path);
    advance(HOUR);
    await look();
    expect(stale(150 * 60_000)).toBe('soft');
    advance(HOUR);
    await look();
    expect(stale(210 * 60_000)).toBe('hard');
    put(A.bytes);
    await look();
    expect(stale(210 * 60_000)).toBe('no');
    expect(lines.map(({ message }) => message.split(', and')[0])).toEqual([
      'the source of the policy cannot be read',
      'the policy is older than `snapshot.softAge`',
      'the source of the policy cannot be read',
      'the policy is older than `snapshot.hardAge`: nothing is decided by it any more',
      'the source of the policy can be read again',
      'the policy is fresh again',
    ]);
  });
});
