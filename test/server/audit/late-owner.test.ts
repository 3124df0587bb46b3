// What an owner has written who had lost its log: none of the log's events, whoever looks which events the log has.
import { expect, it } from '@jest/globals';
import { findLeft } from '../../../server/audit/drainer.js';
import { claimEvents, recordInTransaction } from '../../../server/audit/outbox.js';
import { ownLog } from '../../../server/audit/own-log.js';
import { eventOf, writerOf } from '../../support/audit-log.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';

describeOnStores('events of commands', (store) => {
  it('are left if only an owner has written them who had lost the log, before and after the next one writes', async () => {
    const { db } = store;
    const folder = await makeFolder();
    const owned = await ownLog(folder);
    const { log } = owned;
    await db.write((transaction) => recordInTransaction(transaction, [eventOf(1), eventOf(2), eventOf(3)]));
    const [first, ...others] = await claimEvents(db, { log, after: 0, most: 10 });
    const writer = writerOf(folder, owned);
    if (first !== undefined) writer.add(first.event);
    await writer.sync();
    const head = writer.head();
    const next = writerOf(folder, { ...owned, head });
    for (const { event } of others) writer.add(event);
    await writer.close();
    const left = async (end: number | null): Promise<readonly string[]> =>
      (await findLeft({ db, folder, log, end })).map(({ event }) => event.id);
    expect(await left(head.seq)).toEqual(['event2', 'event3']);
    next.add(eventOf(4));
    await next.close();
    expect(await left(null)).toEqual(['event2', 'event3']);
    await owned.release();
  });
});
