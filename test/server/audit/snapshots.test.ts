// Snapshots beside the log: what is kept, read again and sent on, and what is none of it.
import { hash } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { unrestrictedPolicy } from '../../../engine/index.js';
import type { EventParts } from '../../../server/audit/event.js';
import { keepSnapshot, keptPart, keptSize, pathOfSnapshot, readSnapshot } from '../../../server/audit/snapshots.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { eventOf, LOG, writerOf } from '../../support/audit-log.js';
import { snapshotOf } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';

const { bytes, policy } = snapshotOf([[{ provider: 'orcid', subject: 'ada' }, '/labs', ['resource:read']]]);
const { digest } = policy;
const OTHER = `sha256:${'0'.repeat(64)}`;
const NAMES = [`${digest}0`, ` ${digest}`, digest.slice(0, -1), digest.toUpperCase(), `sha256:../${'0'.repeat(61)}`];

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await makeFolder();
  path = join(folder, 'snapshots', `${digest.slice(7)}.json`);
});

describe('a snapshot beside the log', () => {
  it('is named after its digest, and nothing else has a place', async () => {
    expect(pathOfSnapshot(folder, digest)).toBe(path);
    for (const name of NAMES) {
      expect(pathOfSnapshot(folder, name)).toBeNull();
      await expect(keepSnapshot(folder, name, bytes)).rejects.toThrow('not the digest of a snapshot');
      expect(await readSnapshot(folder, name)).toEqual({ kind: 'missing' });
      expect([await keptSize(folder, name), await keptPart(folder, name, { at: 0, length: 1 })]).toEqual([null, null]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is written once, for its owner alone, and takes drafts of a crash away', async () => {
    mkdirSync(join(folder, 'snapshots'));
    const draft = join(folder, 'snapshots', `.other.json.${'0'.repeat(12)}.tmp`);
    writeFileSync(draft, 'half');
    utimesSync(draft, 0, 0);
    await keepSnapshot(folder, digest, bytes);
    expect(readdirSync(join(folder, 'snapshots'))).toEqual([basename(path)]);
    expect(readFileSync(path)).toEqual(Buffer.from(bytes));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { ino } = statSync(path);
    await keepSnapshot(folder, digest, bytes);
    expect(statSync(path).ino).toBe(ino);
    const anew = await makeFolder();
    await keepSnapshot(anew, digest, bytes);
    expect(statSync(join(anew, 'snapshots')).mode & 0o777).toBe(0o700);
  });

  it('is read as the policy that it is; one that was changed, replaced or grew too large is damaged', async () => {
    expect(await readSnapshot(folder, digest)).toEqual({ kind: 'missing' });
    await keepSnapshot(folder, digest, bytes);
    expect(await readSnapshot(folder, digest)).toMatchObject({ kind: 'read', policy: { digest } });
    await keepSnapshot(folder, OTHER, bytes);
    expect(await readSnapshot(folder, OTHER)).toEqual({ kind: 'damaged' });
    appendFileSync(path, ' ');
    expect(await readSnapshot(folder, digest)).toEqual({ kind: 'damaged' });
    truncateSync(path, POLICY_LIMITS.snapshotBytes + 1);
    expect(await readSnapshot(folder, digest)).toEqual({ kind: 'damaged' });
    expect(await keptSize(folder, digest)).toBeNull();
    truncateSync(path, POLICY_LIMITS.snapshotBytes);
    expect(await keptSize(folder, digest)).toBe(POLICY_LIMITS.snapshotBytes);
  });

  it('has a size and parts, and no part that goes beyond its end', async () => {
    expect(await keptSize(folder, digest)).toBeNull();
    expect(await keptPart(folder, digest, { at: 0, length: 1 })).toBeNull();
    await keepSnapshot(folder, digest, bytes);
    expect(await keptSize(folder, digest)).toBe(bytes.length);
    expect(await keptPart(folder, digest, { at: 3, length: 9 })).toEqual(Buffer.from(bytes.subarray(3, 12)));
    expect(await keptPart(folder, digest, { at: bytes.length - 1, length: 2 })).toBeNull();
    const open = readdirSync('/dev/fd').length;
    for (let n = 0; n < 20; n += 1) await keptPart(folder, digest, { at: 0, length: 1 });
    expect(readdirSync('/dev/fd').length).toBeLessThan(open + 20);
  });

  it('is not missing where only its folder cannot be read', async () => {
    writeFileSync(join(folder, 'snapshots'), '');
    await expect(readSnapshot(folder, digest)).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});

describe('a log that names snapshots', () => {
  const start: Partial<EventParts> = { kind: 'admin', operation: 'gateway.start', outcome: 'allowed' };
  const found = async (events: readonly Partial<EventParts>[]): Promise<readonly unknown[]> => {
    const writer = writerOf(folder);
    for (const [n, parts] of events.entries()) writer.add(eventOf(n, parts));
    await writer.close();
    return (await verifyLogs(folder)).faults;
  };
  const fault = (seq: number, name: string, how: string): object => ({
    ...{ log: LOG, seq, kind: 'snapshot' },
    text: `event ${String(seq)} names snapshots/${name.slice(7)}.json, which ${how}`,
  });

  it('needs each that decided, and names the first event of each that is missing', async () => {
    const [one, two] = [`sha256:${'1'.repeat(64)}`, `sha256:${'2'.repeat(64)}`];
    const more: Partial<EventParts> = { kind: 'admin', outcome: 'allowed' };
    expect(
      await found([
        { ...more, operation: 'snapshot.publish', snapshot: one },
        { ...more, operation: 'policy.refuse', snapshot: one },
        { ...start, snapshot: unrestrictedPolicy().digest },
        { ...start, snapshot: OTHER },
        { snapshot: OTHER },
        { ...more, operation: 'policy.activate', snapshot: two },
        { snapshot: one },
        {},
      ]),
    ).toEqual([fault(4, OTHER, 'is missing'), fault(6, two, 'is missing'), fault(7, one, 'is missing')]);
    const writer = writerOf((folder = await makeFolder()));
    writer.add({ ...eventOf(1), snapshot: 'a digest of none' });
    await writer.close();
    expect((await verifyLogs(folder)).faults).toEqual([fault(1, 'a digest of none', 'is missing')]);
  });

  it('has no fault where they are there to the byte, and one where a byte was changed or many were added', async () => {
    await keepSnapshot(folder, digest, bytes);
    expect(await found([{ ...start, snapshot: digest }])).toEqual([]);
    const changed = fault(1, digest, 'was changed: it does not have that digest');
    writeFileSync(path, Buffer.from(bytes).fill(0x20, 5, 6));
    expect((await verifyLogs(folder)).faults).toEqual([changed]);
    for (const more of [0, 1]) {
      folder = await makeFolder();
      mkdirSync(join(folder, 'snapshots'));
      const size = POLICY_LIMITS.snapshotBytes + more;
      const large = `sha256:${hash('sha256', Buffer.alloc(size), 'hex')}`;
      writeFileSync(pathOfSnapshot(folder, large) ?? '', '');
      truncateSync(pathOfSnapshot(folder, large) ?? '', size);
      expect(await found([{ ...start, snapshot: large }])).toHaveLength(more);
    }
  });
});
