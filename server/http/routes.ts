// Every route of the API listener. What is not in this list does not exist.
import { type Feed, makeFeed } from '../changes/feed.js';
import { makeExecutor } from '../commands/execute.js';
import { COMMAND_LIMITS } from '../limits/records.js';
import { makeProver, type Prover } from '../policy/open/prover.js';
import { storedSnapshots } from '../policy/store/stored-snapshots.js';
import { makePageTokens } from './page-tokens.js';
import type { Route } from './route.js';
import { type AuthzenSettings, makeAuthzenRoutes } from './routes/authzen.js';
import { batchRoute } from './routes/batch.js';
import { changesRoute } from './routes/changes.js';
import { makeCommandRoutes } from './routes/commands.js';
import { makeAskRoutes } from './routes/ask.js';
import { decide } from './routes/decide.js';
import { withDocuments } from './routes/documents.js';
import { makeQueryRoutes, type QueryRoutesOptions } from './routes/query.js';
import { type HealthOptions, makeHealthRoutes } from './routes/health.js';
import { problemsPage } from './routes/problems.js';
import { makeRecordRoutes } from './routes/records.js';
import { permissions } from './routes/permissions.js';
import { whoami } from './routes/whoami.js';

export interface RoutesOptions extends QueryRoutesOptions, Pick<HealthOptions, 'readiness'> {
  /** How many milliseconds answers are kept under their Idempotency-Keys. Defaults to a day. */
  readonly idempotency?: number;
  /** The feed of changes. Defaults to one of its own, which nobody tells of what others write. */
  readonly feed?: Feed;
  /** Proves what services ask about the policy in force. Defaults to one of its own. */
  readonly prover?: Prover;
  /** Whether reading needs no credential. Defaults to no. */
  readonly isPublic?: boolean;
  /** Defaults to null: nobody is answered in the words of AuthZEN. */
  readonly authzen?: AuthzenSettings | null;
}

export function makeRoutes({ idempotency = COMMAND_LIMITS.idempotency, ...options }: RoutesOptions): readonly Route[] {
  const { prover = makeProver(storedSnapshots(options.db)) } = options;
  const { feed = makeFeed(options) } = options;
  const execute = makeExecutor({ db: options.db, keepFor: idempotency, onWritten: feed.hear });
  const commands = makeCommandRoutes(execute);
  const tokens = makePageTokens(options.cursorKey);
  const listed = [
    ...makeQueryRoutes(options),
    ...makeRecordRoutes(options.db),
    changesRoute(feed),
    ...commands,
    batchRoute(execute, commands),
    whoami,
    permissions,
    decide,
    ...makeAskRoutes({ prover, tokens }),
    ...makeHealthRoutes({ readiness: options.readiness, shows: 'result' }),
    problemsPage,
  ];
  const own = withDocuments(listed, { isPublic: options.isPublic === true });
  // The standard describes these, so the API's description does not.
  const { authzen = null } = options;
  return authzen === null ? own : [...own, ...makeAuthzenRoutes({ ...options, ...authzen, prover, tokens })];
}
