// Something that happens between two statements of a request.
import type { Database } from '../../server/db/database.js';

/** Does `work` once the next statement that begins like this has been answered. Returns what ends that. */
export function afterRead(db: Database, statement: string, work: () => Promise<unknown>): () => void {
  const { read } = db;
  let isDone = false;
  Object.assign(db, {
    read: async (...parameters: Parameters<typeof read>) => {
      const rows = await read(...parameters);
      if (!isDone && parameters[0].text.startsWith(statement)) {
        isDone = true;
        await work();
      }
      return rows;
    },
  });
  return () => {
    Object.assign(db, { read });
  };
}
