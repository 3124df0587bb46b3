// A PostgreSQL of the bench's own, in a temporary folder that is removed however the bench ends.
import { startPostgres } from '../../dist/test/support/postgres.js';
import { factsOf, print, writeOut } from '../rows.mjs';

const EXIT_INTERRUPTED = 130;

/** Where none is installed, the rows say so and nothing is measured. */
export async function withServer(settings, configured, measure) {
  const server = await startPostgres(configured);
  if (server === null) {
    print(`bench-${settings.name} needs PostgreSQL, and none is installed here`);
    writeOut(settings.out, { ...factsOf(settings), left: 'no PostgreSQL is installed here', rows: [] });
    return;
  }
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      interrupted = true;
      void server.stop().finally(() => process.exit(EXIT_INTERRUPTED));
    });
  }
  try {
    await measure(server);
  } catch (error) {
    // Of a server that is being stopped nothing else is to be expected.
    if (!interrupted) throw error;
  } finally {
    await server.stop();
  }
}
