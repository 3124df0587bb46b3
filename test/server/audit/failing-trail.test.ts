// What becomes of the trail while its log cannot be written, or the store gives it no events.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { ownLog } from '../../../server/audit/own-log.js';
import { type FileLayer, systemFiles } from '../../../server/audit/file-layer.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { makeKeyPair, openPrivatePem, type SigningKey } from '../../../server/signing/ed25519.js';
import { failure, faultyFiles, readLines } from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { describeOnStores } from '../../support/stores.js';
import { stickFile } from '../../support/stuck-file.js';
import { makeFolder } from '../../support/temp-folder.js';
import { REFUSED, trailsOn } from '../../support/trails.js';
import { until } from '../../support/until.js';

/** What the check throws; null if it lets pass. */
function refusalOf(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
}

describeOnStores('a trail that fails', (store) => {
  const { openIn, closeAll, put, ids, untilEmpty } = trailsOn(store);

  it('hands back what it has claimed while its log cannot be written, so that another log has it, once', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    let full = true;
    const lines: LogLine[] = [];
    // A full disk takes a part first.
    const files = faultyFiles((operation) => (full && operation === 'append' ? 600 : full ? failure('ENOSPC') : null));
    const failing = await openIn(one, { files, log: keptLog(lines) });
    await put(1, 2, 3);
    failing.wake();
    await until(() => failing.fault() !== null);
    const healthy = await openIn(other);
    healthy.wake();
    await untilEmpty();
    const message = 'events of commands were handed back, for other gateways to record';
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([{ message, events: 3 }]);
    // It looks by itself meanwhile, and does not say that it can go on.
    await sleep(1.2 * AUDIT_LIMITS.retryDelay);
    expect(lines.filter(({ level }) => level === 'info')).toEqual([]);
    full = false;
    await until(() => failing.fault() === null);
    await put(4);
    await closeAll();
    expect([ids(one), ids(other)].flat().sort()).toEqual(['event1', 'event2', 'event3', 'event4']);
    expect(ids(other).slice(0, 3)).toEqual(['event1', 'event2', 'event3']);
  });

  it('says that its folder was moved, which is no other process, and goes on once it is back', async () => {
    const folder = join(await makeFolder(), 'audit');
    const lines: LogLine[] = [];
    const trail = await openIn(folder, { log: keptLog(lines) });
    renameSync(folder, `${folder}.moved`);
    trail.record(REFUSED);
    await put(1);
    trail.wake();
    await until(() => lines.filter(({ level }) => level === 'error').length === 2);
    for (const { error } of lines) expect(String(error)).toMatch(/the audit folder was moved or removed/);
    renameSync(`${folder}.moved`, folder);
    await untilEmpty();
    const back = lines.filter(({ level }) => level !== 'error');
    const again = { level: 'info', seconds: expect.any(Number) };
    expect(back).toMatchObject([
      { ...again, message: 'the audit log can be written again' },
      { ...again, message: 'events of commands reach the audit log again' },
    ]);
    await closeAll();
    expect(await verifyLogs(folder)).toMatchObject({ ok: true, events: 2 });
  });

  it('L07 refuses commands once the log cannot be written for longer than the lag, queries at once, and neither once it can', async () => {
    const folder = await makeFolder();
    let fails: string | null = 'ENOSPC';
    const files = faultyFiles(() => (fails === null ? null : failure(fails)));
    const trail = await openIn(folder, { files });
    await put(1);
    trail.wake();
    const title = 'The request cannot be recorded now: the files of the audit log cannot be written';
    const unavailable = { code: 'audit.unavailable', status: 503, title };
    await until(() => refusalOf(trail.checkQueries) !== null);
    expect(refusalOf(trail.checkQueries)).toMatchObject(unavailable);
    await until(() => refusalOf(trail.checkCommands) !== null);
    expect(refusalOf(trail.checkCommands)).toMatchObject(unavailable);
    const error = expect.stringContaining('ENOSPC');
    expect([trail.fault(), trail.lags()]).toEqual(['files', { file: expect.any(Number), store: 0, error }]);
    expect(trail.lags().file).toBeGreaterThan(0);
    fails = 'EROFS';
    await until(() => String(trail.lags().error).includes('EROFS'));
    fails = null;
    await untilEmpty();
    await until(() => refusalOf(trail.checkQueries) === null && refusalOf(trail.checkCommands) === null);
    await closeAll();
    expect(ids(folder)).toEqual(['event1']);
  });

  it('tells a store that gives no events from files that cannot be written', async () => {
    const lines: LogLine[] = [];
    const trail = await openIn(await makeFolder(), { log: keptLog(lines) });
    expect([trail.fault(), trail.lags()]).toEqual([null, { file: 0, store: 0 }]);
    await store.db.knex.raw('ALTER TABLE audit_outbox RENAME TO audit_outbox_away');
    try {
      trail.wake();
      await until(() => trail.fault() !== null);
      const error = expect.stringMatching(/audit_outbox|SQLSTATE 42P01/);
      expect([trail.fault(), trail.lags()]).toEqual(['store', { file: 0, store: expect.any(Number), error }]);
      const title = 'The request cannot be recorded now: the store does not give its events to the audit log';
      expect(refusalOf(trail.checkCommands)).toMatchObject({ code: 'audit.unavailable', title });
      expect(refusalOf(trail.checkQueries)).toBeNull();
      expect(lines.map(({ message }) => message)).toEqual([
        'events of commands wait in the store, because it does not give them to the audit log',
      ]);
    } finally {
      await store.db.knex.raw('ALTER TABLE audit_outbox_away RENAME TO audit_outbox');
    }
    await until(() => trail.fault() === null && trail.lags().store === 0);
  });

  it('lets queries go on where the settings say so, and counts what was lost', async () => {
    const folder = await makeFolder();
    let full = true;
    const files = faultyFiles(() => (full ? failure('ENOSPC') : null));
    const lines: LogLine[] = [];
    const trail = await openIn(folder, { files, onFailure: 'continue', log: keptLog(lines) });
    for (let n = 1; n <= 10_007; n += 1) trail.record(REFUSED);
    await sleep(100);
    expect(() => {
      trail.checkQueries();
    }).not.toThrow();
    full = false;
    await until(() => trail.at().head.seq >= 10_000);
    trail.recordOwn('gateway.stop');
    await closeAll();
    const last = readLines(folder)
      .slice(-2)
      .map((line) => JSON.parse(line) as object);
    expect(last).toMatchObject([{ operation: 'audit.lost', items: 7 }, { operation: 'gateway.stop' }]);
    expect((await verifyLogs(folder)).ok).toBe(true);
    const said = lines.filter(({ message }) => /lost/.test(message));
    expect(said).toMatchObject([
      { level: 'error', message: 'events of the audit log are lost, because too many wait to be written' },
      { level: 'warn', events: 7, message: 'the audit log takes events again, and says how many it has lost' },
    ]);
  });

  it('ends in time where the disk does not answer, says what is left, and leaves the log to nobody', async () => {
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
    const settings = { key: signingKey(), witnesses: [] };
    const trail = await openIn(folder, { files, patience: 20, log: keptLog(lines), checkpoints: settings });
    const { log } = trail.at();
    await put(1);
    trail.wake();
    await until(() => refusalOf(trail.checkQueries) !== null);
    await closeAll();
    expect(lines.map(({ message }) => message)).toEqual([
      'the audit log cannot be written',
      'events may be left in the outbox: the next start of this audit log takes them',
      'events of the audit log are not written yet and may be lost',
      'the last checkpoint of the audit log was not signed: the next start signs it',
      'the audit log stays locked until this process is gone, because the disk may still take what was written',
    ]);
    const other = await ownLog(folder);
    expect(other.log).not.toBe(log);
    await other.release();
    isStuck = false;
    await untilEmpty();
    expect(ids(folder)).toEqual(['event1']);
  });

  it.each([
    ['checkpoint', 'the last checkpoint of the audit log was not signed: the next start signs it'],
    ['lock/1', 'the lock of the audit log could not be released: it is free once this process is gone'],
  ])('ends in time where the disk does not answer for its %s', async (name, message) => {
    const folder = await makeFolder();
    const lines: LogLine[] = [];
    const checkpoints = { key: signingKey(), witnesses: [] };
    const trail = await openIn(folder, { patience: 500, log: keptLog(lines), checkpoints });
    trail.record(REFUSED);
    const disk = stickFile(join(folder, `${trail.at().log}.${name}`));
    await closeAll();
    expect(disk.isStuck()).toBe(true);
    disk.free();
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', message, patience: 500 }));
  });
});

function signingKey(): SigningKey {
  const key = openPrivatePem(makeKeyPair().privatePem);
  if (key === null) throw new Error('a key pair without a private key');
  return key;
}
