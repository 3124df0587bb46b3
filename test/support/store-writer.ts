// A process that writes to an embedded store until it is told to stop or killed: `node store-writer.js <dataDir> <name>`.
// Prints `opened`, then a number for each row whose commit was acknowledged; on a line on stdin it closes and leaves.
import { openDatabase } from '../../server/db/database.js';
import { toStoreProblem } from '../../server/db/problems.js';
import { inTransaction } from '../../server/db/transaction.js';

const [dataDir = '', name = ''] = process.argv.slice(2);
const told = { toStop: false };
process.stdin.once('data', () => {
  told.toStop = true;
  process.stdin.destroy();
});

const database = await openDatabase({ kind: 'embedded', dataDir });
process.stdout.write('opened\n');
await database.knex
  .raw('create table if not exists acknowledged (writer text, n int, primary key (writer, n))')
  .catch(ignoreRace);
for (let n = 1; !told.toStop; n += 1) {
  try {
    await inTransaction(database.knex, async (trx) => {
      // a commit whose answer was lost may have happened: the row then stands already
      await trx('acknowledged').insert({ writer: name, n }).onConflict().ignore();
    });
    process.stdout.write(`${String(n)}\n`);
  } catch (error) {
    if (toStoreProblem(error) === null) throw error;
    process.stdout.write('refused\n');
    n -= 1;
  }
}
await database.close();

/** Two that create a table at once: one of them may be told that it exists. */
function ignoreRace(error: unknown): void {
  if (!String(error).includes('already exists')) throw error;
}
