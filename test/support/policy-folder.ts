// A policy folder read as it stands on the disk, where a test needs one that is there.
import { type FolderReading, readFolder } from '../../server/policy/read-folder.js';

/** `folder` is absolute. */
export async function readPolicyFolder(folder: string): Promise<FolderReading> {
  const result = await readFolder(folder);
  if (result.kind === 'path') throw new Error(`${folder}: ${result.fault.kind}`);
  return result;
}
