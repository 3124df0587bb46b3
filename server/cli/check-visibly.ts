// `checkPolicy` as verbs run it: the folder as the user named it, and on a terminal what is being done, while it is.
import { type CheckReport, type CheckRequest, checkPolicy } from './check-policy.js';
import { type CliIo, pathOf } from './io.js';
import { startProgress } from './render/progress.js';

export async function checkVisibly(
  io: CliIo,
  dir: string,
  options: Pick<CheckRequest, 'lint' | 'onlyTests'> = {},
): Promise<CheckReport> {
  const progress = startProgress(io);
  try {
    return await checkPolicy({ folder: pathOf(io, dir), shown: dir, onPhase: progress.phase, ...options });
  } finally {
    progress.done();
  }
}
