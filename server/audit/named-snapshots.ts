// Whether the snapshots that decided are beside the log, each with the bytes of its digest (docs/audit.md "Verifying").
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { unrestrictedPolicy } from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits/policy.js';
import type { ChainLine } from './chain.js';
import { isKept, pathOfSnapshot } from './snapshots.js';

export interface NamedSnapshots {
  /** Takes the next line of a log. */
  readonly see: (line: ChainLine) => void;
  /** Calls back for each snapshot that is absent or damaged, with the first event that names it. */
  readonly check: (folder: string, onFault: (fault: SnapshotFault) => void) => Promise<void>;
}

interface SnapshotFault {
  readonly log: string;
  readonly seq: number;
  readonly text: string;
}

export function makeNamedSnapshots(): NamedSnapshots {
  const first = new Map<string, Pick<SnapshotFault, 'log' | 'seq'>>();
  // Local mode has no snapshot file: its policy is part of this program.
  const local = unrestrictedPolicy().digest;
  return {
    see: ({ log, seq, value }) => {
      const snapshot: unknown = Reflect.get(value, 'snapshot');
      if (typeof snapshot !== 'string' || snapshot === local || first.has(snapshot) || !hasDecided(value)) return;
      first.set(snapshot, { log, seq });
    },
    check: async (folder, onFault) => {
      for (const [snapshot, { log, seq }] of first) {
        const how = await stateOf(folder, snapshot);
        const path = `snapshots/${snapshot.slice('sha256:'.length)}.json`;
        const text = `event ${String(seq)} names ${path}, which ${how === 'missing' ? 'is missing' : 'was changed: it does not have that digest'}`;
        if (how !== 'intact') onFault({ log, seq, text });
      }
    },
  };
}

/** What an admin stores or publishes decides nothing yet, and need not be kept beside this log. */
function hasDecided(event: object): boolean {
  if (Reflect.get(event, 'kind') !== 'admin') return true;
  const operation: unknown = Reflect.get(event, 'operation');
  return operation === 'gateway.start' || operation === 'policy.activate';
}

async function stateOf(folder: string, digest: string): Promise<'intact' | 'missing' | 'damaged'> {
  const path = pathOfSnapshot(folder, digest);
  if (path === null || !(await isKept(path))) return 'missing';
  if ((await stat(path)).size > POLICY_LIMITS.snapshotBytes) return 'damaged';
  return `sha256:${hash('sha256', await readFile(path), 'hex')}` === digest ? 'intact' : 'damaged';
}
