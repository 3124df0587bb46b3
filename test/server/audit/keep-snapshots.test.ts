// Snapshots that are kept beside the log, on a disk that fails or does not answer.
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { keepSnapshots } from '../../../server/audit/keep-snapshots.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { until } from '../../support/until.js';

const BYTES = Buffer.from('snapshot');
let lines: LogLine[];
beforeEach(() => {
  lines = [];
});

describe('a snapshot that decides', () => {
  it('is kept at once, one after the other, without a word', async () => {
    const done: unknown[] = [];
    const keeper = keepSnapshots(async (digest, bytes) => {
      done.push([digest, bytes]);
      await sleep(5);
      done.push(digest);
    }, keptLog(lines));
    await Promise.all([keeper.keep('one', BYTES), keeper.keep('two', BYTES)]);
    expect(done).toEqual([['one', BYTES], 'one', ['two', BYTES], 'two']);
    expect([await keeper.close(), lines]).toEqual([true, []]);
  });

  it('is tried again until it is kept: the log says both, each once', async () => {
    const disk = { tries: 0, isFull: true };
    const keeper = keepSnapshots(() => {
      disk.tries += 1;
      return disk.tries < 3 ? Promise.reject(new Error('full')) : Promise.resolve();
    }, keptLog(lines));
    await keeper.keep('one', BYTES);
    expect([disk.tries, lines]).toEqual([
      1,
      [
        {
          level: 'error',
          snapshot: 'one',
          error: new Error('full'),
          message: expect.stringMatching(/could not be kept .* tried again until it is kept$/),
        },
      ],
    ]);
    await until(() => lines.length > 1);
    expect([disk.tries, lines.slice(1)]).toEqual([
      3,
      [{ level: 'info', snapshot: 'one', message: expect.stringContaining('is kept beside the audit log now') }],
    ]);
  });

  it('is not tried again after the end, which waits for what was begun, but not for ever', async () => {
    let tries = 0;
    const failing = keepSnapshots(() => {
      tries += 1;
      return Promise.reject(new Error('full'));
    }, keptLog([]));
    const kept = failing.keep('one', BYTES);
    expect(await failing.close()).toBe(true);
    await kept;
    const hung = keepSnapshots(() => new Promise(() => undefined), keptLog(lines));
    expect(await Promise.all([hung.keep('two', BYTES), hung.close()])).toEqual([undefined, false]);
    expect(lines).toEqual([
      { level: 'error', snapshot: 'two', message: expect.stringMatching(/^the disk has not taken a snapshot/) },
    ]);
    expect(tries).toBe(1);
  });
});
