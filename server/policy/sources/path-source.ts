// Follows a policy folder or a snapshot file on this machine. The state of the files tells that there may be something
// new. It is offered once nothing changes any more.
import { stat } from 'node:fs/promises';
import { statementBeside, statementPathOf } from '../../signing/statement-file.js';
import { pathFaultOf } from '../path-fault.js';
import { faultOfPath, oneLine, type PolicyFault } from '../policy-fault.js';
import type { Found, Source } from './source.js';
import { sourceState } from './source-state.js';

/**
 * The present content of the absolute `path` counts as offered. So make the source before that content is opened, and
 * no change is lost.
 */
export async function makePathSource(path: string): Promise<Source> {
  const state = (): Promise<string> => sourceState([path, statementPathOf(path)]);
  let seen = await state();
  let last: { readonly state: string; readonly fault: PolicyFault | null } = { state: seen, fault: null };
  return {
    facts: { path },
    look: async (why) => {
      const now = await state();
      if (why === 'poll' && now === last.state) {
        return last.fault === null ? { kind: 'same' } : { kind: 'fault', fault: last.fault };
      }
      const isSettled = now === seen || why === 'hurry';
      seen = now;
      if (!isSettled) return { kind: 'unsettled' };
      const found = await offerAt(path);
      last = { state: now, fault: found.kind === 'fault' ? found.fault : null };
      return found;
    },
  };
}

async function offerAt(path: string): Promise<Found> {
  const kind = await kindAt(path);
  if (typeof kind !== 'string') return { kind: 'fault', fault: kind };
  const statement = statementBeside({ path, shown: path });
  return { kind: 'offer', offer: { content: { kind, path }, statement, from: { kind, path } } };
}

async function kindAt(path: string): Promise<'folder' | 'file' | PolicyFault> {
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) return 'folder';
    // A pipe may never be written to, and waiting for it would block everything else.
    return facts.isFile() ? 'file' : oneLine('source.unreadable', 'the path is neither a file nor a folder');
  } catch (error) {
    return faultOfPath(pathFaultOf(error));
  }
}
