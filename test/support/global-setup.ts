// Runs once before all test files and once after them, in jest's own process: it owns the one PostgreSQL of the run, which
// starts when the first test file asks for it.
import { offerPostgres } from './one-postgres.js';

// eslint-disable-next-line no-restricted-syntax -- jest calls the default export
export default async function setUp(): Promise<void> {
  const offered = await offerPostgres();
  Object.assign(globalThis, { tearDownTests: offered.withdraw });
}
