// Every route of the API listener. What is not in this list does not exist.
import type { Route } from './route.js';
import { withDocuments } from './routes/documents.js';
import { makeQueryRoutes, type QueryRoutesOptions } from './routes/query.js';
import { problemsPage } from './routes/problems.js';
import { makeRecordRoutes } from './routes/records.js';
import { whoami } from './routes/whoami.js';

export function makeRoutes(options: QueryRoutesOptions): readonly Route[] {
  return withDocuments([...makeQueryRoutes(options), ...makeRecordRoutes(options.db), whoami, problemsPage]);
}
