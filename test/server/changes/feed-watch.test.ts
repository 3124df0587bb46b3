// What the log says while the feed cannot go on: once why, without a stack if that is the store, and once that it goes on.
import { expect, it } from '@jest/globals';
import { watchFeed } from '../../../server/changes/feed-watch.js';
import type { Database } from '../../../server/db/database.js';
import { StoreError } from '../../../server/db/failures.js';
import { CHANGES_LIMITS } from '../../../server/limits/changes.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { describeOnStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

describeOnStores('the watch of the feed', (store) => {
  it('says once that it waits for the store, once what else is wrong, and that it goes on', async () => {
    const lines: LogLine[] = [];
    let failure: Error | null = null;
    let looks = 0;
    const rows: Database['rows'] = (statement) => {
      looks += 1;
      return failure === null ? store.db.rows(statement) : Promise.reject(failure);
    };
    const watch = watchFeed({ ...store.db, rows }, CHANGES_LIMITS);
    let unfollow = watch.follow(() => undefined);
    const stop = watch.start({ log: keptLog(lines) });
    const lookTwice = async (): Promise<void> => {
      const before = looks;
      await until(() => looks >= before + 2);
    };
    try {
      await lookTwice();
      expect(lines).toEqual([]);
      failure = new StoreError('store.read_only', 'the store takes no writes');
      await lookTwice();
      // With nobody who follows, most looks are left out, and those say nothing.
      unfollow();
      const before = looks;
      await until(() => looks > before);
      expect(lines).toHaveLength(1);
      unfollow = watch.follow(() => undefined);
      failure = null;
      await until(() => lines.length > 1);
      failure = new TypeError('a fault of ours');
      await lookTwice();
      await lookTwice();
      const { length } = lines;
      failure = null;
      await until(() => lines.length > length);
    } finally {
      unfollow();
      await stop();
    }
    const seconds = expect.any(Number);
    expect(lines).toEqual([
      {
        ...{ level: 'warn', code: 'store.read_only', reason: 'the store takes no writes' },
        message: 'the feed of changes waits for the store',
      },
      { level: 'info', seconds, message: 'the feed of changes goes on again' },
      { level: 'warn', error: expect.any(TypeError), message: 'the feed of changes has stopped' },
      { level: 'info', seconds, message: 'the feed of changes goes on again' },
    ]);
  });

  it('says that it goes on only once it has, also while nobody follows', async () => {
    const lines: LogLine[] = [];
    let isAway = true;
    let looks = 0;
    const rows: Database['rows'] = (statement) => {
      looks += 1;
      return isAway ? Promise.reject(new StoreError('store.unreachable', 'away')) : store.db.rows(statement);
    };
    const stop = watchFeed({ ...store.db, rows }, CHANGES_LIMITS).start({ log: keptLog(lines) });
    try {
      await until(() => looks > 1);
      isAway = false;
      await until(() => lines.length > 1);
    } finally {
      await stop();
    }
    expect([lines.map(({ level }) => level), looks > 2]).toEqual([['warn', 'info'], true]);
  });
});
