// A process that writes to an embedded store until it is told to stop or killed: `node store-writer.js <dataDir>
// <name>`. Prints `opened`, then a number for each row with an acknowledged commit. A line on stdin makes it close and
// leave.
import { openDatabase } from '../../server/db/database.js';
import { toStoreProblem } from '../../server/http/store-problem.js';
import { inTransaction } from '../../server/db/transaction.js';

const [dataDir = '', name = ''] = process.argv.slice(2);
const told = { toStop: false };
process.stdin.once('data', () => {
  told.toStop = true;
  process.stdin.destroy();
});

const database = await openDatabase({ kind: 'embedded', dataDir });
process.stdout.write('opened\n');
await persistently(() =>
  database.knex.raw('create table if not exists acknowledged (writer text, n int, primary key (writer, n))'),
);
for (let n = 1; !told.toStop; n += 1) {
  // a commit whose answer was lost may have happened: the row then stands already
  await persistently(() =>
    inTransaction(database.knex, (trx) => trx('acknowledged').insert({ writer: name, n }).onConflict().ignore()),
  );
  process.stdout.write(`${String(n)}\n`);
}
await database.close();

/** Again for as long as the store is what fails. */
async function persistently(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (toStoreProblem(error) === null) throw error;
    }
  }
}
