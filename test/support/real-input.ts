// Real input that this repository does not hold: the owners of a large public repository as a policy, and its proposals as
// records. Where it is not beside the repository, tests say so and do without.
import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fromRoot } from './root.js';
import { makeFolder } from './temp-folder.js';

const FOLDER = fromRoot('../shared/data/kubernetes-enhancements');

export const REAL_RECORDS = join(FOLDER, 'dataset.jsonl');
export const hasRealInput = existsSync(FOLDER);
if (!hasRealInput) process.stderr.write('the real input is not on this machine: it is not tried\n');

/** A copy of the policy with the name that the refusal of its hidden file asks for. */
export async function realPolicyFolder(): Promise<string> {
  const folder = await makeFolder();
  cpSync(join(FOLDER, 'policy'), folder, { recursive: true });
  renameSync(join(folder, 'grants/.githooks.yaml'), join(folder, 'grants/githooks.yaml'));
  return folder;
}
