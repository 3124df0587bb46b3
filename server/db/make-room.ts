// Room on a connection for what it is about to prepare (statement-names.ts).
import type { Connection } from './connection.js';
import { makePreparedNames, type NamedText, type PreparedNames } from './statement-names.js';

const preparedOn = new WeakMap<Connection, PreparedNames>();

/**
 * Has the server forget what an idle connection has not used for longest, in one go with the statement that takes its room: to be
 * called right before that.
 */
export function makeRoom(connection: Connection, statement: NamedText): void {
  if (statement.name === '') return;
  const prepared = preparedOn.get(connection) ?? makePreparedNames();
  preparedOn.set(connection, prepared);
  const driver = connection.connection;
  for (const name of prepared(statement)) {
    driver.close({ type: 'S', name });
    Reflect.deleteProperty(driver.parsedStatements, name);
  }
}
