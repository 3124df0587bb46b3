// The program that makes the first database in an empty folder, then ends. This takes three times the memory that
// serving takes, and only the end of a process gives all of it back. Errors go to stderr.
import { writeSync } from 'node:fs';
import { reasonOf } from '../failures.js';
import { openEngine } from './engine.js';

function fail(error: unknown): never {
  writeSync(2, reasonOf(error));
  process.exit(1);
}

const [folder] = process.argv.slice(2);
try {
  if (folder === undefined) throw new RangeError('no folder was given');
  const engine = await openEngine({ folder, onBroken: fail });
  await engine.close();
} catch (error) {
  fail(error);
}
