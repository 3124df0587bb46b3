// A policy folder as it is on the disk, for tests that need one to exist.
import { type FolderReading, readFolder } from '../../server/policy/open/read-folder.js';

/** `folder` is absolute. */
export async function readPolicyFolder(folder: string): Promise<FolderReading> {
  const result = await readFolder(folder);
  if (result.kind === 'path') throw new Error(`${folder}: ${result.fault.kind}`);
  return result;
}
