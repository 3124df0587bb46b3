// A writer that cannot write: what it gives back, and what it does not touch once the log is another one's.
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ownLog } from '../../../server/audit/own-log.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { eventOf, failure, faultyFiles, logFiles, readLines, writerOf } from '../../support/audit-log.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

describe('a writer that cannot write', () => {
  it('gives back what is not on the disk, and finds out by itself that the disk takes events again', async () => {
    const folder = await makeFolder();
    let full = true;
    const files = faultyFiles((operation) => (full && operation === 'sync' ? failure('ENOSPC') : null));
    const writer = writerOf(folder, { files });
    const [one, two, three] = [eventOf(1), eventOf(2), eventOf(3)];
    for (const event of [one, two, three]) writer.add(event);
    await expect(writer.sync()).rejects.toMatchObject({ code: 'ENOSPC' });
    // The file that could not be synced could not be cut back either.
    expect(writer.takeBack(new Set([one, two])).size).toBe(0);
    full = false;
    await until(() => writer.failingSince() === null);
    full = true;
    const four = eventOf(4);
    writer.add(four);
    await expect(writer.sync()).rejects.toThrow();
    full = false;
    expect(writer.takeBack(new Set([three])).size).toBe(0);
    await until(() => writer.failingSince() === null);
    expect(readLines(folder)).toHaveLength(4);
    await writer.close();
  });

  it('gives back events that a full disk has not taken, and is well again without any', async () => {
    const folder = await makeFolder();
    let full = true;
    const files = faultyFiles((operation) => (full && operation === 'append' ? failure('ENOSPC') : null));
    const writer = writerOf(folder, { files });
    const [one, two] = [eventOf(1), eventOf(2)];
    writer.add(one);
    writer.add(two);
    await expect(writer.sync()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect([...writer.takeBack(new Set([one, two]))]).toEqual([one, two]);
    await sleep(30);
    expect(writer.failingSince()).not.toBeNull();
    full = false;
    await until(() => writer.failingSince() === null);
    writer.add(eventOf(3));
    await writer.sync();
    await writer.close();
    expect(readLines(folder)).toHaveLength(1);
    expect(await verifyLogs(folder, { heads: [writer.head()] })).toMatchObject({ ok: true, events: 1 });
  });

  it('leaves the log intact while it finds out whether the disk takes events again, and if it crashes then', async () => {
    const folder = await makeFolder();
    let full = false;
    let free: () => void = () => undefined;
    let disk = Promise.resolve();
    const layer = faultyFiles((operation) => (full && operation === 'append' ? failure('ENOSPC') : null));
    const create: typeof layer.create = async (path) => {
      const file = await layer.create(path);
      return { ...file, sync: () => disk.then(file.sync) };
    };
    const writer = writerOf(folder, { files: { ...layer, create } });
    writer.add(eventOf(1));
    await writer.sync();
    const size = (): number => logFiles(folder).reduce((sum, file) => sum + statSync(file).size, 0);
    const before = size();
    full = true;
    const two = eventOf(2);
    writer.add(two);
    await expect(writer.sync()).rejects.toMatchObject({ code: 'ENOSPC' });
    writer.takeBack(new Set([two]));
    disk = new Promise<void>((resolve) => (free = resolve));
    full = false;
    await until(() => size() > before);
    expect((await verifyLogs(folder)).faults).toEqual([]);
    const copy = await makeFolder();
    cpSync(folder, copy, { recursive: true });
    free();
    await until(() => writer.failingSince() === null);
    expect(size()).toBe(before);
    await writer.close();
    const owned = await ownLog(copy);
    expect(owned.torn).toBeNull();
    await owned.release();
  });

  it('touches no file of the next owner, whenever it lost the log', async () => {
    const folder = await makeFolder();
    let hasFailed = false;
    const old = writerOf(folder, {
      fileBytes: 1,
      // It writes when it is told to, and not of its own accord while the next one writes.
      retryDelay: 60_000,
      files: faultyFiles((operation) => {
        if (operation !== 'create' || hasFailed) return null;
        hasFailed = true;
        return failure('EIO');
      }),
    });
    old.add(eventOf(1));
    await expect(old.sync()).rejects.toMatchObject({ code: 'EIO' });
    const next = writerOf(folder);
    next.add(eventOf(2));
    await next.sync();
    // It still believes that the log is its own.
    await old.sync().catch(() => undefined);
    next.add(eventOf(3));
    await expect(next.sync()).rejects.toThrow('moved or removed');
    await old.close();
    await next.close();
    const all = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(all.join('').match(/event[12]/g)).toEqual(['event1', 'event2']);
  });
});
