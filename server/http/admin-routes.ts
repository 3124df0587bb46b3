// Every route of the admin listener and of the gateway's Unix socket. What is not in this list does not exist there.
import type { Route } from './route.js';
import { type AuditRoutesOptions, makeAuditRoutes } from './routes/audit.js';
import { makeConsoleRoute } from './routes/console.js';
import { withDocuments } from './routes/documents.js';
import { makeHealthRoutes } from './routes/health.js';
import { type KeyRoutesOptions, makeKeyRoutes } from './routes/keys.js';
import { makeMetricsRoute, type MetricsOptions } from './routes/metrics.js';
import { problemsPage } from './routes/problems.js';
import { makeShadowRoutes, type ShadowRoutesOptions } from './routes/shadow.js';
import { makeSnapshotFileRoute, type SnapshotFileOptions } from './routes/snapshot-file.js';
import { makeSnapshotRoutes, type SnapshotRoutesOptions } from './routes/snapshots.js';
import { makeUploadRoute, type UploadRouteOptions } from './routes/upload.js';
import { makeStatusRoute, type StatusOptions } from './routes/status.js';

export type AdminRoutesOptions = KeyRoutesOptions &
  SnapshotRoutesOptions &
  ShadowRoutesOptions &
  UploadRouteOptions &
  SnapshotFileOptions &
  AuditRoutesOptions &
  StatusOptions &
  MetricsOptions & {
    /** Whether the console is one of them. */
    readonly hasConsole: boolean;
  };

export function makeAdminRoutes(options: AdminRoutesOptions): readonly Route[] {
  const { readiness } = options;
  return withDocuments([
    ...makeHealthRoutes({ readiness, shows: 'checks' }),
    makeStatusRoute(options),
    makeMetricsRoute(options),
    ...makeSnapshotRoutes(options),
    makeUploadRoute(options),
    makeSnapshotFileRoute(options),
    ...makeShadowRoutes(options),
    ...makeKeyRoutes(options),
    ...makeAuditRoutes(options),
    ...(options.hasConsole ? [makeConsoleRoute('key')] : []),
    problemsPage,
  ]);
}
