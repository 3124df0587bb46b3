// Every route of the API listener. What is not in this list does not exist.
import { makeExecutor } from '../commands/execute.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import type { Route } from './route.js';
import { batchRoute } from './routes/batch.js';
import { makeCommandRoutes } from './routes/commands.js';
import { withDocuments } from './routes/documents.js';
import { makeQueryRoutes, type QueryRoutesOptions } from './routes/query.js';
import { problemsPage } from './routes/problems.js';
import { makeRecordRoutes } from './routes/records.js';
import { permissions } from './routes/permissions.js';
import { whoami } from './routes/whoami.js';

export interface RoutesOptions extends QueryRoutesOptions {
  /** How many milliseconds answers are kept under their Idempotency-Keys. Defaults to a day. */
  readonly idempotency?: number;
}

export function makeRoutes({ idempotency = COMMAND_LIMITS.idempotency, ...options }: RoutesOptions): readonly Route[] {
  const execute = makeExecutor({ db: options.db, keepFor: idempotency });
  const commands = makeCommandRoutes(execute);
  return withDocuments([
    ...makeQueryRoutes(options),
    ...makeRecordRoutes(options.db),
    ...commands,
    batchRoute(execute, commands),
    whoami,
    permissions,
    problemsPage,
  ]);
}
