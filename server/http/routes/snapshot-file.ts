// GET /admin/v1/snapshots/{digest}: the bytes of a snapshot, from the store or from beside the audit log, so that a past
// decision can be looked at under its own policy.
import { keptPart, keptSize } from '../../audit/snapshots.js';
import { STORED_LIMITS } from '../../limits/policy.js';
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
  /** Each part is read when the one before has been taken, so nobody who reads slowly keeps more than one. */
  const find = async (digest: string): Promise<Found | null> => {
    const stored = await snapshots.find(digest);
    const bytes = stored?.bytes ?? (auditFolder === null ? null : await keptSize(auditFolder, digest));
    if (bytes === null) return null;
    const read = async (part: number): Promise<Uint8Array | null> => {
      const found = stored === null ? null : await snapshots.readPart(stored, part);
      if (found !== null || auditFolder === null) return found;
      const at = part * STORED_LIMITS.partBytes;
      return keptPart(auditFolder, digest, { at, length: Math.min(STORED_LIMITS.partBytes, bytes - at) });
    };
    return { bytes, read };
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
      const found = digest === null || !DIGEST.test(digest) ? null : await find(digest);
      // Before anything is promised: a snapshot that is lost is lost from its first part on.
      if (found === null || (await found.read(0)) === null) throw new ApiProblem('snapshot.not_found');
      const { bytes, read } = found;
      return {
        status: 200,
        bytes,
        pour: async ({ send }) => {
          for (let part = 0; part * STORED_LIMITS.partBytes < bytes; part += 1) {
            const piece = await read(part);
            if (piece === null) throw new Error(`part ${String(part)} of a snapshot is missing or damaged`);
            await send(piece);
          }
        },
      };
    },
  };
}

interface Found {
  readonly bytes: number;
  /** Null if the part is missing or damaged. */
  readonly read: (part: number) => Promise<Uint8Array | null>;
}
