// What a trail makes of the log that it finds in its folder: one that has more than the store has noted, less, or other events.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { ownLog } from '../../../server/audit/own-log.js';
import type { AuditTrail } from '../../../server/audit/trail.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { eventOf, logFiles, readLines, SILENT, trailIn, writerOf } from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

describeOnStores('a log that is continued', (store) => {
  const openIn = (folder: string, log = SILENT): Promise<AuditTrail> => trailIn(folder, store.db, { log });

  /** Three events, the last of which the store has noted, and two that were written before a crash. */
  async function crashed(): Promise<{ readonly folder: string; readonly log: string }> {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    for (let n = 1; n <= 3; n += 1) trail.add(eventOf(n));
    await trail.close();
    const owned = await ownLog(folder);
    const writer = writerOf(folder, owned);
    for (const n of [4, 5]) writer.add(eventOf(n));
    await writer.close();
    await owned.release();
    return { folder, log: owned.log };
  }

  it('may have more than the store has noted', async () => {
    const { folder } = await crashed();
    const trail = await openIn(folder);
    trail.recordOwn('gateway.start');
    await trail.close();
    expect(trail.counts()).toEqual({ written: 1, lost: 0 });
    expect(JSON.parse(readLines(folder).at(-1) ?? '')).toMatchObject({
      kind: 'admin',
      operation: 'gateway.start',
      recording: { queries: 'all', records: 'set' },
    });
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 6 });
  });

  it('is not continued without what the store has noted, nor where its file is gone', async () => {
    const folder = await makeFolder();
    const trail = await openIn(folder);
    for (let n = 1; n <= 3; n += 1) trail.add(eventOf(n));
    await trail.close();
    const lines = readLines(folder);
    const [file = ''] = logFiles(folder);
    writeFileSync(file, `${lines.slice(0, 2).join('\n')}\n`);
    await expect(openIn(folder)).rejects.toMatchObject({ code: 'audit.truncated' });
    rmSync(file);
    await expect(openIn(folder)).rejects.toMatchObject({ code: 'audit.truncated' });
    writeFileSync(file, `${lines.join('\n')}\n`);
    await (await openIn(folder)).close();
    // Whoever moves the folder away begins a new log.
    await (await openIn(await makeFolder())).close();
  });

  it('must have the event that the store has noted', async () => {
    const { folder, log } = await crashed();
    const noted = 'event 3 is not the one that the store has noted';
    const [file = ''] = logFiles(folder);
    writeFileSync(file, `${readLines(folder).slice(0, 2).join('\n')}\n`);
    await expect(openIn(folder)).rejects.toThrow(`the audit log ${log} has lost its end: ${noted}`);
    for (const path of logFiles(folder)) rmSync(path);
    const writer = writerOf(folder, { log });
    for (let n = 11; n <= 15; n += 1) writer.add(eventOf(n));
    await writer.close();
    await expect(openIn(folder)).rejects.toThrow(`the audit log ${log} was rewritten: ${noted}`);
  });

  it('is cut where its last line is incomplete, and says so in an event and in a line', async () => {
    const { folder, log } = await crashed();
    appendFileSync(logFiles(folder).at(-1) ?? '', '{"half');
    const lines: LogLine[] = [];
    const trail = await openIn(folder, keptLog(lines));
    await trail.close();
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: 'an incomplete line at the end of the audit log was cut off',
        log,
        kept: expect.stringMatching(/\.torn$/),
      }),
    ]);
    expect(JSON.parse(readLines(folder).at(-1) ?? '')).toMatchObject({ operation: 'audit.cut', outcome: 'allowed' });
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 6 });
  });
});
