// A loaded policy keeps what decisions read. What only proofs read is read again from the snapshot once its memory was needed, and a
// proof never notices.
import { describe, expect, it } from '@jest/globals';
import { compilePolicy, explain, readPolicy, whatCan, whoCan } from '../../engine/compiler.js';
import { instantOf, loadSnapshot, namespaceDigests, type Policy, verifyDecisions } from '../../engine/index.js';
import { openSnapshot } from '../../engine/evaluate/open-snapshot.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import { collectGarbage } from '../support/collect-garbage.js';
import { FULL } from './full-policy.js';
import { pathOf } from './oracle/worlds.js';
import { bytesOf } from './table-world.js';

const GRANTS = 2000;
/** No decision reads it. */
const REASON = 'long '.repeat(190).trim();
const AT = instantOf(0);
const FIRST = { provider: 'orcid', subject: 'p0' };

function snapshotBytes(): Uint8Array {
  const grants = Array.from(
    { length: GRANTS },
    (_, i) =>
      `  - { id: g${String(i)}, identity: "orcid:p${String(i)}", namespace: /n${String(i)}, scopes: [resource:read], reason: "${String(i)} ${REASON}" }`,
  );
  const { policy: set, diagnostics } = readPolicy([
    { path: 'policy.yaml', bytes: Buffer.from('bailiwick: 1\nname: long\nproviders: { orcid: {} }\n') },
    { path: 'grants.yaml', bytes: Buffer.from(`grants:\n${grants.join('\n')}\n`) },
  ]);
  if (set === null) throw new Error(JSON.stringify(diagnostics.slice(0, 3)));
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('it compiles');
  return compiled.snapshot.bytes;
}

/** Returns once everything that nothing refers to is gone: what a weak reference was asked for lives until the job ends. */
async function collectAll(): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collectGarbage();
  }
}

function load(bytes: Uint8Array): Policy {
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return loaded.policy;
}

function proofs(policy: Policy): unknown {
  const asked = { scope: 'resource:read', namespace: pathOf('/n0'), at: AT } as const;
  return {
    labels: verifyDecisions(policy),
    digests: namespaceDigests(policy),
    who: whoCan(policy, asked),
    what: whatCan(policy, { identities: [FIRST], at: AT }),
    why: explain(policy, {
      identities: [FIRST],
      credentialScopes: null,
      namespaceRestrictions: null,
      scope: 'resource:write',
      context: '/n0',
      target: '/n0',
      at: AT,
    }),
  };
}

describe('a policy that was loaded to decide', () => {
  const bytes = snapshotBytes();

  it('keeps in the heap less than its texts', async () => {
    load(bytes);
    await collectAll();
    const before = process.memoryUsage().heapUsed;
    const policy = load(bytes);
    await collectAll();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((GRANTS * REASON.length) / 4);
    expect(policy.counts.grants).toBe(GRANTS);
  });

  it('proves the same after the memory was needed', async () => {
    const policy = load(bytes);
    await collectAll();
    const fresh = proofs(load(bytes));
    expect(proofs(policy)).toEqual(fresh);
    await collectAll();
    expect(proofs(policy)).toEqual(fresh);
  });

  it('proves the same after the caller has written over the bytes', async () => {
    const own = new Uint8Array(bytes);
    const policy = load(own);
    own.fill(0);
    await collectAll();
    expect(verifyDecisions(policy)).toBeNull();
    expect(proofs(policy)).toEqual(proofs(load(bytes)));
  });

  it('reads the bytes once more, and not for each proof', async () => {
    let reads = 0;
    const opened = openSnapshot(bytesOf(FULL), (own) => {
      reads += 1;
      return decodeSnapshot(own);
    });
    if (!opened.ok) throw new Error(opened.fault.message);
    const prove = (): number => {
      for (let proof = 0; proof < 3; proof += 1) verifyDecisions(opened.policy);
      return reads;
    };
    expect(prove()).toBe(1);
    await collectAll();
    expect(prove()).toBe(2);
  });

  it.each([
    ['what is no snapshot', new Uint8Array(bytesOf(FULL).length)],
    ['another snapshot', bytesOf({ ...FULL, name: `${FULL.name.slice(0, -1)}x` })],
  ])('proves nothing by %s, if somebody else wrote to its bytes while they were read', async (_, other) => {
    const shared = bytesOf(FULL);
    const opened = openSnapshot(shared, (own) => {
      const decoded = decodeSnapshot(own);
      shared.set(other);
      return decoded;
    });
    if (!opened.ok) throw new Error(opened.fault.message);
    await collectAll();
    expect(() => verifyDecisions(opened.policy)).toThrow('the bytes of a snapshot were written to while it was loaded');
  });

  it('is none of bytes that are no snapshot', () => {
    expect(loadSnapshot(new Uint8Array(10)).ok).toBe(false);
  });
});
