// Follows a policy folder or a snapshot file on this machine. The state of the files tells that there may be something
// new. It is offered once nothing changes any more.
import { stat } from 'node:fs/promises';
import { statementBeside, statementPathOf } from '../../signing/statement-file.js';
import { pathFaultOf, pathRefused, refusal } from '../policy-fault.js';
import { rememberedLooks } from './remembered-looks.js';
import type { Offer, Source } from './source.js';
import { sourceState } from './source-state.js';

/**
 * The present content of the absolute `path` counts as offered. So make the source before that content is opened, and
 * no change is lost. `heard` is called whenever its disk has answered.
 */
export async function makePathSource(path: string, heard?: () => void): Promise<Source> {
  const state = (heard?: () => void): Promise<string> => sourceState([path, statementPathOf(path)], heard);
  let seen = await state(heard);
  const look = rememberedLooks(seen);
  return {
    facts: { path },
    look: async (why, _, heard) => {
      const now = await state(heard);
      return look(why, now, async () => {
        const isSettled = now === seen || why === 'now';
        seen = now;
        return isSettled ? offerAt(path) : null;
      });
    },
  };
}

async function offerAt(path: string): Promise<Offer> {
  const facts = await stat(path).catch((error: unknown) => {
    throw pathRefused(pathFaultOf(error));
  });
  // A pipe may never be written to, and waiting for it would block everything else.
  if (!facts.isDirectory() && !facts.isFile())
    throw refusal('source.unreadable', 'the path is neither a file nor a folder');
  const kind = facts.isDirectory() ? 'folder' : 'file';
  return { content: { kind, path }, statement: statementBeside({ path, shown: path }), from: { kind, path } };
}
