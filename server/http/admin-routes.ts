// Every route of the admin listener and of the gateway's Unix socket. What is not in this list does not exist there.
import type { Route } from './route.js';
import { withDocuments } from './routes/documents.js';
import { makeHealthRoutes } from './routes/health.js';
import { type KeyRoutesOptions, makeKeyRoutes } from './routes/keys.js';
import { makeMetricsRoute, type MetricsOptions } from './routes/metrics.js';
import { problemsPage } from './routes/problems.js';
import { makeShadowRoutes, type ShadowRoutesOptions } from './routes/shadow.js';
import { makeSnapshotRoutes, type SnapshotRoutesOptions } from './routes/snapshots.js';
import { makeUploadRoute, type UploadRouteOptions } from './routes/upload.js';
import { makeStatusRoute, type StatusOptions } from './routes/status.js';

export type AdminRoutesOptions = KeyRoutesOptions &
  SnapshotRoutesOptions &
  ShadowRoutesOptions &
  UploadRouteOptions &
  StatusOptions &
  MetricsOptions;

export function makeAdminRoutes(options: AdminRoutesOptions): readonly Route[] {
  const { readiness } = options;
  return withDocuments([
    ...makeHealthRoutes({ readiness, shows: 'checks' }),
    makeStatusRoute(options),
    makeMetricsRoute(options),
    ...makeSnapshotRoutes(options),
    makeUploadRoute(options),
    ...makeShadowRoutes(options),
    ...makeKeyRoutes(options),
    problemsPage,
  ]);
}
