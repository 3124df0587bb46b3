// GET /admin/v1/snapshots/{digest}: the bytes of a snapshot, from the store or from beside the audit log, so that a past
// decision can be looked at under its own policy.
import { keptBytes } from '../../audit/snapshots.js';
import type { Activator } from '../../policy/active/activator.js';
import { ApiProblem } from '../../problem.js';
import { pathTemplate } from '../path-template.js';
import type { AdminRoute } from '../route.js';

export interface SnapshotFileOptions {
  readonly activator: Pick<Activator, 'snapshots'>;
  /** The folder of the audit log; null if nothing is recorded. */
  readonly auditFolder: string | null;
}

const PATH = '/admin/v1/snapshots/{id}';
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export function makeSnapshotFileRoute({ activator, auditFolder }: SnapshotFileOptions): AdminRoute {
  const { snapshots } = activator;
  const find = async (digest: string): Promise<Uint8Array | null> => {
    const stored = await snapshots.find(digest);
    const parts = stored === null ? null : await snapshots.read(stored);
    if (parts !== null) return Buffer.concat(parts);
    return auditFolder === null ? null : keptBytes(auditFolder, digest);
  };
  return {
    method: 'GET',
    path: PATH,
    access: 'admin',
    operationId: 'getSnapshot',
    summary: 'Get a snapshot file; whoever reads it checks its digest',
    example: `sha256:${'0'.repeat(64)}`,
    input: {},
    problems: ['snapshot.not_found'],
    output: { 200: { type: 'application/json', schema: { type: 'object' } } },
    run: async ({ path }) => {
      const digest = pathTemplate(PATH).partOf(path);
      const bytes = digest === null || !DIGEST.test(digest) ? null : await find(digest);
      if (bytes === null) throw new ApiProblem('snapshot.not_found');
      return { status: 200, json: Buffer.from(bytes).toString('utf8') };
    },
  };
}
