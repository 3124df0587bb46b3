// Policies as folders, and logs of what actors asked of them, for tests of what looks back at decisions.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compilePolicy, readPolicy } from '../../engine/compiler.js';
import { type Instant, loadSnapshot, type Policy, resolveActor } from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { cite } from '../../server/audit/cite.js';
import { type AccessAsked, type CopyAsked, eventActor, type EventParts } from '../../server/audit/event.js';
import { keepSnapshot } from '../../server/audit/snapshots.js';
import { actorOf } from '../../server/auth/request-actor.js';
import { eventOf, writerOf } from './audit-log.js';
import { pathOf } from './gateway.js';
import { makeFolder } from './temp-folder.js';

export interface Made {
  readonly policy: Policy;
  readonly bytes: Uint8Array;
  readonly set: PolicySet;
}

export function madeOf(files: Readonly<Record<string, string>>): Made {
  const { policy: set, diagnostics } = readPolicy(
    Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })),
  );
  if (set === null) throw new Error(JSON.stringify(diagnostics));
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return { set, policy: loaded.policy, bytes: compiled.snapshot.bytes };
}

export async function writePolicy(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder();
  mkdirSync(join(folder, 'teams'));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

export interface Done {
  readonly who: readonly string[];
  readonly access: AccessAsked | CopyAsked;
  readonly at: Instant;
  readonly restrictions?: readonly string[];
}

/** A log of what these actors asked, decided by the policy, as a gateway records it. */
export async function writeLog(
  { policy, bytes }: Omit<Made, 'set'>,
  all: readonly Done[],
  more: readonly Partial<EventParts>[] = [],
): Promise<string> {
  const folder = await makeFolder();
  await keepSnapshot(folder, policy.digest, bytes);
  const writer = writerOf(folder);
  let n = 0;
  for (const { who, access, at, restrictions } of all) {
    const identities = who.map((text) => ({
      provider: text.slice(0, text.indexOf(':')),
      subject: text.slice(text.indexOf(':') + 1),
    }));
    const paths = restrictions === undefined ? null : restrictions.map(pathOf);
    const actor = actorOf('key', {
      id: who.join(),
      identities,
      scopes: null,
      restrictions: paths,
      credentialFingerprint: 'a'.repeat(64),
    });
    const { decision, ...cited } = cite({ access, resolved: resolveActor(policy, actor) }, at);
    const isAllowed = decision.decision === 'allow';
    writer.add(
      eventOf((n += 1), {
        ...{
          at,
          access,
          decision,
          actor: eventActor(actor, policy),
          snapshot: policy.digest,
          operation: 'resource.read',
        },
        ...{
          kind: isAllowed ? 'query' : 'refusal',
          outcome: isAllowed ? 'allowed' : 'denied',
          status: isAllowed ? 200 : 403,
        },
        ...cited,
      }),
    );
  }
  for (const parts of more) writer.add(eventOf((n += 1), parts));
  await writer.close();
  return folder;
}
