// Warnings of the process as lines of the log: of Node, and of what has no log at hand, such as the embedded store. Node
// prints them as text.
import type { Logger } from '../lib/ports.js';

/** Until the result is called. */
export function logWarnings(log: Logger): () => void {
  const usual = process.listeners('warning');
  const say = (warning: Error & { readonly code?: unknown }): void => {
    log.warn({ warning: warning.name, code: warning.code }, warning.message);
  };
  process.removeAllListeners('warning').on('warning', say);
  return () => {
    process.off('warning', say);
    for (const listener of usual) process.on('warning', listener);
  };
}
