// The trail beside a store whose answers are lost: what was asked may have been done or not, and each event is in one log, once.
import { afterEach, expect, it } from '@jest/globals';
import { recordInTransaction } from '../../../server/audit/outbox.js';
import type { AuditTrail, TrailOptions } from '../../../server/audit/trail.js';
import { verifyLogs } from '../../../server/audit/verify.js';
import type { Database } from '../../../server/db/database.js';
import { type Fragment, sql } from '../../../server/db/sql.js';
import { eventOf, failure, faultyFiles, readLines, trailIn } from '../../support/audit-log.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { describeOnStores } from '../../support/stores.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

/** Of the statements of the outbox. */
const CLAIM = 'UPDATE audit_outbox AS o SET log';
const RELEASE = 'SET log = NULL';
const WAITING = sql`SELECT 1 FROM audit_outbox LIMIT ${1}::integer`;

/** Whether a statement is done, and whether its answer comes. */
type Fate = 'done' | 'done and lost' | 'not done';

describeOnStores('a trail whose store loses answers', (store) => {
  const open: AuditTrail[] = [];
  afterEach(async () => {
    for (const trail of open.splice(0)) await trail.close();
    await store.db.knex.raw('DELETE FROM audit_outbox');
  });

  function losing(fateOf: (text: string) => Fate): Database {
    const rows: Database['rows'] = async <Row>(statement: Fragment) => {
      const fate = fateOf(statement.text);
      if (fate === 'not done') throw new Error('the store was not reached');
      const found = await store.db.rows<Row>(statement);
      if (fate === 'done and lost') throw new Error('the answer was lost');
      return found;
    };
    return { ...store.db, rows };
  }

  async function openIn(folder: string, options: Partial<TrailOptions> = {}): Promise<AuditTrail> {
    const trail = await trailIn(folder, store.db, options);
    open.push(trail);
    return trail;
  }

  const put = (...numbers: readonly number[]): Promise<void> =>
    store.db.write((transaction) =>
      recordInTransaction(
        transaction,
        numbers.map((n) => eventOf(n)),
      ),
    );
  const untilEmpty = (): Promise<void> =>
    until(async () => (await store.db.rows(WAITING)).length === 0, 'the outbox to be empty');
  const ids = (folder: string): readonly string[] =>
    readLines(folder).map((line) => (JSON.parse(line) as { readonly id: string }).id);

  it('carries what it has claimed although it was not told so', async () => {
    const folder = await makeFolder();
    let lost = 0;
    const db = losing((text) => (text.includes(CLAIM) && (lost += 1) === 1 ? 'done and lost' : 'done'));
    const trail = await openIn(folder, { db });
    await put(1, 2);
    trail.wake();
    await untilEmpty();
    await trail.close();
    expect([lost > 1, ids(folder)]).toEqual([true, ['event1', 'event2']]);
  });

  it('removes what it has appended although it was not told so', async () => {
    const folder = await makeFolder();
    let removals = 0;
    const db = losing((text) => {
      if (!text.includes('DELETE')) return 'done';
      removals += 1;
      return removals === 1 ? 'not done' : removals === 2 ? 'done and lost' : 'done';
    });
    const trail = await openIn(folder, { db });
    await put(1, 2);
    trail.wake();
    await until(() => removals > 2);
    await trail.close();
    expect(ids(folder)).toEqual(['event1', 'event2']);
  });

  it.each(['not done', 'done and lost'] as const)(
    'leaves to another log what it has handed back, although the answer was lost (%s)',
    async (fate) => {
      const [one, other] = [await makeFolder(), await makeFolder()];
      let isFull = true;
      const files = faultyFiles((operation) => (isFull && operation === 'append' ? failure('ENOSPC') : null));
      const lines: LogLine[] = [];
      let releases = 0;
      const db = losing((text) => (text.includes(RELEASE) && (releases += 1) === 1 ? fate : 'done'));
      const failing = await openIn(one, { db, files, log: keptLog(lines) });
      await put(1, 2);
      failing.wake();
      await until(() => lines.some(({ message }) => message.includes('could not be handed back to the store yet')));
      const healthy = await openIn(other);
      healthy.wake();
      if (fate === 'done and lost') await untilEmpty();
      isFull = false;
      await until(() => failing.fault() === null);
      await untilEmpty();
      await put(3);
      failing.wake();
      await untilEmpty();
      for (const trail of open.splice(0)) await trail.close();
      expect([ids(one), ids(other)].flat().sort()).toEqual(['event1', 'event2', 'event3']);
      // The third is for whichever comes first.
      if (fate === 'done and lost') expect(ids(other).slice(0, 2)).toEqual(['event1', 'event2']);
    },
  );

  it('has each event once beside others, whatever is lost and whatever their disks do', async () => {
    const folders = [await makeFolder(), await makeFolder(), await makeFolder()];
    let isBad = false;
    let turn = 0;
    const next = (): number => (turn = (Math.imul(turn, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
    const fate = (): Fate => (!isBad || next() < 0.5 ? 'done' : next() < 0.5 ? 'done and lost' : 'not done');
    for (const folder of folders)
      await openIn(folder, {
        db: losing(fate),
        files: faultyFiles(() => (isBad && next() < 0.3 ? failure('EIO') : null)),
      });
    isBad = true;
    const events = Array.from({ length: 60 }, (_, index) => index + 1);
    for (const n of events) {
      await put(n);
      for (const trail of open) trail.wake();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    isBad = false;
    for (const trail of open) trail.wake();
    await untilEmpty();
    for (const trail of open.splice(0)) await trail.close();
    const all = folders.flatMap(ids);
    expect(all.sort()).toEqual(events.map((n) => `event${String(n)}`).sort());
    // One of them may have come to nothing.
    for (const folder of folders.filter((one) => ids(one).length > 0))
      expect(await verifyLogs(folder)).toMatchObject({ faults: [] });
  });
});
