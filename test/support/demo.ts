// What `make run` serves, in this process: the policy and the records that ship, with a key of Ines, the lead scientist of a beamline.
import { createReadStream } from 'node:fs';
import { compilePolicy, readPolicy } from '../../engine/compiler.js';
import { instantOf, loadSnapshot, type Policy } from '../../engine/index.js';
import { readLines } from '../../server/cli/files.js';
import { LOAD_LIMITS } from '../../server/limits/records.js';
import { loadDataset } from '../../server/load/load-dataset.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { openGateway, type TestGateway, type TestGatewayOptions } from './gateway.js';
import { readPolicyFolder } from './policy-folder.js';
import { fromRoot } from './root.js';

export interface Demo extends TestGateway {
  readonly url: string;
  readonly inesKey: string;
}

export const INES = [
  { provider: 'orcid', subject: '0000-0000-1042-6318' },
  { provider: 'badge', subject: 'b-11240' },
] as const;

export async function openDemo(options: TestGatewayOptions = {}): Promise<Demo> {
  const { bytes, policy } = await demoSnapshot();
  const open = await openGateway({ mode: { kind: 'serve', policy }, ...options });
  const at = instantOf(Date.now());
  // Questions about others are answered from the stored snapshot.
  await storedSnapshots(open.db).put({ policy, bytes, labels: 'verified', statement: null, at });
  const lines = readLines(createReadStream(fromRoot('fixtures/records/facility.jsonl')), LOAD_LIMITS.lineBytes);
  const report = await loadDataset(open.db, lines, { onConflict: 'report', now: at });
  if (report.faults.length > 0) throw new Error('the records of the demo are refused');
  const { text } = await open.key({ actor: 'ines', identities: INES });
  return { ...open, url: open.gateway.url, inesKey: text };
}

export async function demoSnapshot(): Promise<{ readonly bytes: Uint8Array; readonly policy: Policy }> {
  const { policy } = readPolicy((await readPolicyFolder(fromRoot('policies'))).files);
  const compiled = policy === null ? null : compilePolicy(policy);
  const bytes = compiled?.ok === true ? compiled.snapshot.bytes : null;
  const loaded = bytes === null ? null : loadSnapshot(bytes);
  if (bytes === null || loaded?.ok !== true) throw new Error('the policy that ships is refused');
  return { bytes, policy: loaded.policy };
}
