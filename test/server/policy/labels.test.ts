// Labels of a snapshot that a gateway serves: worked out in a thread, known to the state, an alarm where they are false. And a policy
// that was loaded in a thread decides as one that was loaded here.
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { decide, loadSnapshot, LOCAL_ACTOR, instantOf, type Policy } from '../../../engine/index.js';
import { type Active, makeActivePolicy } from '../../../server/policy/active-policy.js';
import { checkLabels } from '../../../server/policy/check-labels.js';
import { loadInThread, type verifyInThread } from '../../../server/policy/snapshot-thread.js';
import type { Logger } from '../../../server/ports.js';
import { compile, FULL } from '../../engine/full-policy.js';
import { pathOf } from '../../engine/oracle/worlds.js';

const NOW = instantOf(0);
const { bytes, text } = compile(FULL);

function mislabelled(): Uint8Array {
  const body = text.slice(text.indexOf('"snapshot":') + '"snapshot":'.length, -1);
  const changed = body.replace(/"decisions":"sha256:[0-9a-f]{64}"/, `"decisions":"sha256:${'0'.repeat(64)}"`);
  const digest = createHash('sha256').update(changed).digest('hex');
  return new TextEncoder().encode(`{"seal":"sha256:${digest}","snapshot":${changed}}`);
}

function open(result: Awaited<ReturnType<typeof loadInThread>>): Policy {
  if (!result.ok) throw new Error(result.fault.message);
  return result.policy;
}

async function check(
  file: Uint8Array,
  verify?: typeof verifyInThread,
): Promise<{ readonly labels: string; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const log = { error: (_: object, line: string) => lines.push(line) } as unknown as Logger;
  const policies = makeActivePolicy(
    { policy: open(loadSnapshot(file)), labels: 'unverified' },
    { clock: { now: () => NOW }, log },
  );
  const active: Active = policies.current();
  expect(active.labels).toBe('unverified');
  await checkLabels(active, file, { policies, log, ...(verify === undefined ? {} : { verify }) });
  expect(policies.state().history[active.generation]?.labels).toBe(policies.current().labels);
  return { labels: policies.current().labels, lines };
}

describe('the labels of a snapshot that is served', () => {
  it('are verified after it has begun to serve', async () => {
    expect(await check(bytes)).toEqual({ labels: 'verified', lines: [] });
  });

  it('are an alarm where they are false, and the policy goes on deciding', async () => {
    const { labels, lines } = await check(mislabelled());
    expect(labels).toBe('false');
    expect(lines).toEqual([expect.stringContaining('false label')]);
  });

  it('stay unverified where they could not be checked', async () => {
    const { labels, lines } = await check(bytes, () => Promise.reject(new Error('no thread')));
    expect([labels, lines.length]).toEqual(['unverified', 1]);
  });
});

describe('loading in a thread', () => {
  it('gives the policy that loading here gives', async () => {
    const here = open(loadSnapshot(bytes));
    const there = open(await loadInThread(bytes));
    expect({ ...there }).toEqual({ ...here });
    for (const { principal, namespace, notBefore } of FULL.grants) {
      const identities =
        principal.kind === 'identity'
          ? [principal.identity]
          : FULL.roles.flatMap(({ members }) =>
              members.flatMap((member) => (member.kind === 'identity' ? [member.identity] : [])),
            );
      for (const target of [namespace, pathOf('/elsewhere')]) {
        const input = {
          actor: { ...LOCAL_ACTOR, kind: 'request', identities },
          request: { kind: 'access', scope: 'resource:read', context: target, target },
          at: notBefore ?? NOW,
        } as const;
        expect(decide(there, input)).toEqual(decide(here, input));
      }
    }
  });

  it('says what is wrong with a file as loading here does', async () => {
    const damaged = bytes.slice(0, -9);
    expect(await loadInThread(damaged)).toEqual(loadSnapshot(damaged));
  });
});
