// The writer on a file layer that fails: events reach the disk once that is possible, in one chain, and none is
// duplicated.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { verifyLogs } from '../../../server/audit/verify.js';
import { type FileLayer, systemFiles } from '../../../server/audit/file-layer.js';
import { eventOf, failure, faultyFiles, LOG, logFiles, readLines, writerOf } from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

const seqs = (folder: string): readonly number[] =>
  readLines(folder).map((line) => (JSON.parse(line) as { readonly seq: number }).seq);

describe('the writer', () => {
  it('has an event on the disk within a tenth of a second, without being asked', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    const times: number[] = [];
    for (let seq = 1; seq <= 5; seq += 1) {
      writer.add(eventOf(seq));
      const begun = performance.now();
      await until(() => writer.head().seq === seq);
      times.push(performance.now() - begun);
    }
    // The time of this machine's disk aside, a group waits 25 ms.
    expect(Math.min(...times)).toBeLessThan(100);
    expect(seqs(folder)).toEqual([1, 2, 3, 4, 5]);
    await writer.close();
  });

  it('writes many in few groups, in the order in which they were given', async () => {
    const folder = await makeFolder();
    let syncs = 0;
    const writer = writerOf(folder, {
      files: faultyFiles((operation) => {
        if (operation === 'sync') syncs += 1;
        return null;
      }),
    });
    for (let n = 1; n <= 500; n += 1) writer.add(eventOf(n));
    await writer.sync();
    expect(syncs).toBeLessThan(5);
    expect(seqs(folder)).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
    await writer.close();
  });

  it('goes on trying for a caller who asks again at once after a failure', async () => {
    const folder = await makeFolder();
    let failures = 2;
    const writer = writerOf(folder, {
      retryDelay: 5,
      files: faultyFiles((operation) => {
        if (operation !== 'append' || failures === 0) return null;
        failures -= 1;
        return failure('EIO');
      }),
    });
    const ask = (): Promise<void> => writer.sync().catch(ask);
    writer.add(eventOf(1));
    await ask();
    expect(seqs(folder)).toEqual([1]);
    await writer.close();
  });

  it('waits for what was added before, and not for what is added all the time', async () => {
    const folder = await makeFolder();
    let added = 1;
    const writer = writerOf(folder, {
      files: faultyFiles((operation) => {
        if (operation === 'sync' && added < 1_000) {
          added += 1;
          writer.add(eventOf(added));
        }
        return null;
      }),
    });
    writer.add(eventOf(1));
    await writer.sync();
    expect(added).toBeLessThan(5);
    await writer.close();
    expect(writer.head().seq).toBe(1_000);
  });

  it('has recovered with the first group that is written, although others follow', async () => {
    const folder = await makeFolder();
    let added = 1;
    let failures = 1;
    const whileWriting: boolean[] = [];
    const writer = writerOf(folder, {
      files: faultyFiles((operation) => {
        if (operation === 'append' && failures > 0) {
          failures -= 1;
          return failure('EIO');
        }
        if (operation === 'append' && added < 10) {
          whileWriting.push(writer.failingSince() === null);
          added += 1;
          writer.add(eventOf(added));
        }
        return null;
      }),
    });
    writer.add(eventOf(1));
    await expect(writer.sync()).rejects.toMatchObject({ code: 'EIO' });
    await until(() => writer.head().seq === 10);
    expect(whileWriting).toEqual([false, ...Array.from({ length: 8 }, () => true)]);
    await writer.close();
  });

  it('L07 writes on without a restart once a full disk has room, and loses nothing', async () => {
    const folder = await makeFolder();
    let room = 1_500;
    const files = faultyFiles((operation) => {
      if (operation !== 'append') return null;
      if (room === 0) return failure('ENOSPC');
      // A full disk takes a part first, without an error.
      const taken = room;
      room = 0;
      return taken;
    });
    const writer = writerOf(folder, { files });
    for (let n = 1; n <= 10; n += 1) writer.add(eventOf(n));
    await expect(writer.sync()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(writer.failingSince()).not.toBeNull();
    expect(writer.head().seq).toBe(0);
    room = 1_000_000;
    writer.add(eventOf(11));
    await until(() => writer.head().seq === 11);
    expect(writer.failingSince()).toBeNull();
    await writer.close();
    expect(await verifyLogs(folder, { heads: [writer.head()] })).toMatchObject({ ok: true, events: 11 });
  });

  it.each(['EIO', 'EBADF', 'EROFS', 'EDQUOT'])(
    'L08 leaves the file after a write that failed with %s',
    async (code) => {
      const folder = await makeFolder();
      let fails = false;
      const writer = writerOf(folder, {
        files: faultyFiles((operation) => (fails && operation === 'append' ? failure(code) : null)),
      });
      writer.add(eventOf(1));
      await writer.sync();
      fails = true;
      writer.add(eventOf(2));
      await expect(writer.sync()).rejects.toMatchObject({ code });
      fails = false;
      await until(() => writer.head().seq === 2);
      await writer.close();
      expect(logFiles(folder)).toHaveLength(2);
      expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
    },
  );

  it('L08 writes again what an fsync failed for, into a new file, and believes nothing of the old one', async () => {
    const folder = await makeFolder();
    let fails = false;
    const writer = writerOf(folder, {
      files: faultyFiles((operation) => {
        if (!fails || operation !== 'sync') return null;
        fails = false;
        return failure('EIO');
      }),
    });
    writer.add(eventOf(1));
    await writer.sync();
    fails = true;
    writer.add(eventOf(2));
    await expect(writer.sync()).rejects.toMatchObject({ code: 'EIO' });
    await until(() => writer.head().seq === 2);
    await writer.close();
    expect(logFiles(folder)).toHaveLength(2);
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
  });

  it.each([
    [
      'removed',
      (file: string) => {
        rmSync(file);
      },
    ],
    [
      'moved',
      (file: string) => {
        renameSync(file, `${file}.away`);
      },
    ],
    [
      'removed with its folder',
      (file: string) => {
        rmSync(dirname(file), { recursive: true });
      },
    ],
  ])('L08 fails where its file is %s underneath, and does not go on as if it were there', async (_, act) => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    writer.add(eventOf(1));
    await writer.sync();
    act(logFiles(folder)[0] ?? '');
    writer.add(eventOf(2));
    await expect(writer.sync()).rejects.toThrow('moved or removed');
    await sleep(50);
    await expect(writer.sync()).rejects.toThrow();
    expect([writer.failingSince() === null, writer.head().seq]).toEqual([false, 1]);
    await writer.close();
  });

  it('goes on where its file was put back as a copy, and not where another one is in its place', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    writer.add(eventOf(1));
    await writer.sync();
    const [file = ''] = logFiles(folder);
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    writeFileSync(file, text.replaceAll('event1', 'event7'));
    writer.add(eventOf(2));
    await expect(writer.sync()).rejects.toThrow('moved or removed');
    writeFileSync(file, text);
    await writer.sync();
    await writer.close();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
  });

  it('fails once another process has taken over the log', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder, { isOwner: () => Promise.resolve(false) });
    writer.add(eventOf(1));
    await expect(writer.sync()).rejects.toThrow('taken over the log');
    await writer.close();
    expect(logFiles(folder)).toEqual([]);
  });

  it('counts nothing as written that the disk took after another process had taken over the log', async () => {
    let isOwner = true;
    const files = faultyFiles((operation) => {
      if (operation === 'sync') isOwner = false;
      return null;
    });
    const writer = writerOf(await makeFolder(), { files, isOwner: () => Promise.resolve(isOwner) });
    writer.add(eventOf(1));
    await expect(writer.sync()).rejects.toThrow('taken over the log');
    // The head would be noted in the store, against that of the new owner.
    expect([writer.head().seq, writer.failingSince() === null]).toEqual([0, false]);
    await writer.close();
  });

  it('fails while the disk neither takes nor refuses what it is given, and goes on once it does', async () => {
    const folder = await makeFolder();
    const lines: LogLine[] = [];
    let isStuck = true;
    const files: FileLayer = {
      ...systemFiles,
      create: async (path) => {
        const file = await systemFiles.create(path);
        return { ...file, sync: () => until(() => !isStuck).then(file.sync) };
      },
    };
    const writer = writerOf(folder, { files, patience: 20, logger: keptLog(lines) });
    const begun = performance.now();
    writer.add(eventOf(1));
    await until(() => writer.failingSince() !== null);
    // From when it began to write: others count from here, too.
    expect(performance.now() - (writer.failingSince() ?? 0)).toBeGreaterThan(20);
    expect(writer.failingSince()).toBeGreaterThan(begun);
    isStuck = false;
    await writer.sync();
    expect([writer.failingSince(), writer.head().seq]).toEqual([null, 1]);
    expect(lines.map(({ message }) => message)).toEqual([
      'the audit log cannot be written',
      'the audit log can be written again',
    ]);
    await writer.close();
  });

  it('fails while the disk does not even say whose the log is', async () => {
    let isStuck = true;
    const isOwner = (): Promise<boolean> => until(() => !isStuck).then(() => true);
    const folder = await makeFolder();
    const writer = writerOf(folder, { isOwner, patience: 20 });
    writer.add(eventOf(1));
    await until(() => writer.failingSince() !== null);
    isStuck = false;
    await until(() => writer.head().seq === 1);
    expect(writer.failingSince()).toBeNull();
    await writer.close();
  });

  it('takes nothing once it is closed, and writes nothing more', async () => {
    const folder = await makeFolder();
    let fails = true;
    const files = faultyFiles(() => (fails ? failure('EIO') : null));
    const writer = writerOf(folder, { files, retryDelay: 1 });
    writer.add(eventOf(1));
    expect(await writer.close()).toBe(true);
    fails = false;
    expect(writer.add(eventOf(2))).toBe(false);
    await expect(writer.sync()).rejects.toThrow('closed');
    await sleep(20);
    expect(logFiles(folder)).toEqual([]);
  });

  it('has each event once, whatever making its line throws', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder, { retryDelay: 1 });
    let faults = 2;
    const fragile = Object.defineProperty({ ...eventOf(2) }, 'status', {
      enumerable: true,
      get: () => {
        if (faults > 0) throw new Error(`not yet: ${String((faults -= 1))}`);
        return 400;
      },
    });
    for (const event of [eventOf(1), fragile, eventOf(3)]) writer.add(event);
    await expect(writer.sync()).rejects.toThrow('not yet');
    await until(() => writer.head().seq === 3);
    await writer.close();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 3 });
    expect(readLines(folder).map((line) => (JSON.parse(line) as { readonly id: string }).id)).toEqual([
      'event1',
      'event2',
      'event3',
    ]);
  });

  it('ends all the same where the disk neither takes nor refuses, and says what is lost', async () => {
    const lines: LogLine[] = [];
    let isStuck = true;
    const files: FileLayer = {
      ...systemFiles,
      create: async (path) => {
        const file = await systemFiles.create(path);
        return { ...file, sync: () => until(() => !isStuck).then(file.sync) };
      },
    };
    const writer = writerOf(await makeFolder(), { files, patience: 20, logger: keptLog(lines) });
    writer.add(eventOf(1));
    await until(() => writer.failingSince() !== null);
    expect(await writer.close()).toBe(false);
    expect(lines.at(-1)).toMatchObject({ level: 'error', events: 1, log: LOG });
    isStuck = false;
    await until(() => writer.head().seq === 1);
  });

  it('says how many events are lost where it ends while it fails', async () => {
    const lines: LogLine[] = [];
    const writer = writerOf(await makeFolder(), {
      files: faultyFiles(() => failure('ENOSPC')),
      logger: keptLog(lines),
    });
    for (let n = 1; n <= 3; n += 1) writer.add(eventOf(n));
    await writer.close();
    expect(lines.at(-1)).toMatchObject({ level: 'error', events: 3, log: LOG });
  });

  it('takes ten thousand events while it fails, and says that it takes no more', async () => {
    const folder = await makeFolder();
    let fails = true;
    const writer = writerOf(folder, { files: faultyFiles(() => (fails ? failure('EIO') : null)) });
    for (let n = 1; n <= 10_000; n += 1) expect(writer.add(eventOf(n))).toBe(true);
    expect(writer.add(eventOf(10_001))).toBe(false);
    await expect(writer.sync()).rejects.toMatchObject({ code: 'EIO' });
    fails = false;
    await writer.sync();
    await writer.close();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 10_000 });
  });

  it('goes through the failure of each operation in turn, whichever it is, and loses nothing', async () => {
    for (let failing = 1; failing <= 24; failing += 1) {
      const folder = await makeFolder();
      let operations = 0;
      const writer = writerOf(folder, {
        fileBytes: 1_000,
        retryDelay: 1,
        files: faultyFiles(() => ((operations += 1) === failing ? failure('EIO') : null)),
      });
      for (let n = 1; n <= 9; n += 1) {
        writer.add(eventOf(n));
        await writer.sync().catch(() => undefined);
      }
      await until(() => writer.head().seq === 9);
      await writer.close();
      expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 9 });
    }
  });
});
