// What a gateway demands of a snapshot that follows another: that it was published later, and by whom. What somebody
// could put there without the right to publish is in source-attacks.test.ts.
import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instantOf, type PublicationStatement } from '../../../engine/index.js';
import { type NewActivation, type Recorded, storedActivations } from '../../../server/policy/store/activations.js';
import { NO_AGE_LIMITS, undecidedBecause } from '../../../server/policy/active/staleness.js';
import { A, B, C, db, follow, type Followed, HOUR, type Made, NOON } from '../../support/followed-policy.js';
import { makeSigner, ruleIn, signedBy, statementOf } from '../../support/publisher.js';
import type { SignedStatement } from '../../../server/policy/open/verify-publication.js';
import { hangOnOpening } from '../../support/hung-files.js';
import { makeFolder } from '../../support/temp-folder.js';

describe('a snapshot that must be published', () => {
  const [ana, ben] = [makeSigner(), makeSigner()];

  const signed = (says: PublicationStatement): SignedStatement => ({
    says,
    envelope: signedBy(says, [ana]),
    signers: [],
  });

  async function published(
    ages = NO_AGE_LIMITS,
  ): Promise<
    Followed & { readonly sign: (statement: PublicationStatement, by?: typeof ana) => void; readonly folder: string }
  > {
    const folder = await makeFolder();
    const rule = ruleIn(folder, [ana]);
    const followed = await follow({ folder, rule, ages, statement: signed(statementOf(A)) });
    const sign = (statement: PublicationStatement, by = ana): void => {
      writeFileSync(`${followed.path}.dsse.json`, signedBy(statement, [by]));
    };
    sign(statementOf(A));
    return { ...followed, sign, folder };
  }

  it('is taken with a statement of a later generation', async () => {
    const { look, put, sign, policies } = await published();
    expect(await look()).toEqual([A.policy.digest, null]);
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current().statement).toMatchObject({ generation: 8, environment: 'production' });
  });

  it('rollback: what was accepted is remembered over a restart', async () => {
    const { look, put, sign } = await published();
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(B.policy.digest);
    // A new process that was given the old file, with its old and genuine statement.
    const kindOf = async (of: Made, fields: Partial<PublicationStatement> = {}): Promise<Recorded['kind']> =>
      (await record(of, { kind: 'activated', statement: signed(statementOf(of, fields)) })).kind;
    expect(await kindOf(A)).toBe('rollback');
    expect(await kindOf(A, { generation: 8 })).toBe('rollback');
    expect(await kindOf(B, { generation: 8 })).toBe('in_force');
    expect(await kindOf(A, { environment: 'staging' })).toBe('recorded');
    expect(await kindOf(A, { generation: 9 })).toBe('recorded');
  });

  it('is refused as a folder, which nobody can sign', async () => {
    const { look, path, policies } = await published();
    rmSync(path);
    execFileSync('cp', ['-r', 'policies', path]);
    expect(await look()).toEqual([A.policy.digest, 'signature.missing']);
    expect(policies.state().refusal?.message).toContain('folder');
  });

  it('may be published again, and stays the same handle', async () => {
    const { look, sign, policies } = await published();
    sign(statementOf(A, { generation: 9, expires: instantOf(NOON + 48 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(policies.current()).toMatchObject({ generation: 2, policy: A.policy, statement: { generation: 9 } });
    expect(policies.current().policy).toBe(A.policy);
  });

  it('key compromise: a key that is taken out of the keyring signs nothing any more', async () => {
    const { look, put, sign, folder } = await published();
    ruleIn(folder, [ben]);
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(A.policy.digest);
    sign(statementOf(B, { generation: 8 }), ben);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('decides nothing once its statement has expired, and decides again when it is published again', async () => {
    const { look, sign, policies, advance, age, lines } = await published();
    const undecided = (): string | null =>
      undecidedBecause(policies.state(), NO_AGE_LIMITS, instantOf(NOON + 25 * HOUR));
    expect(undecided()).toMatch(/^the signed statement of the policy expired at /);
    advance(25 * HOUR);
    expect((await look())[1]).toBe('statement.expired');
    await age.pollNow();
    expect(lines.at(-1)?.message).toContain('nothing is decided');
    sign(statementOf(A, { generation: 8, expires: instantOf(NOON + 72 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(undecided()).toBeNull();
  });

  it('is not waited for where the disk of the keyring hangs, and is in force once that answers', async () => {
    const { activator, folder, policies } = await published();
    const { signal } = new AbortController();
    for (const { policy, bytes } of [B, C])
      await activator.snapshots.put({
        ...{ policy, bytes, labels: 'verified', at: instantOf(NOON) },
        statement: signedBy(statementOf({ policy, bytes }, { generation: 8 }), [ana]),
      });
    await record(B, { kind: 'activated', statement: signed(statementOf(B, { generation: 8 })) });
    const free = hangOnOpening(join(folder, 'keyring.yaml'));
    try {
      const late = { code: 'file.unreadable', message: expect.stringContaining('its disk does not answer') };
      expect(await activator.catchUp('now', signal)).toMatchObject(late);
      const choice = { kind: 'activated', snapshot: C.policy.digest, reason: 'test', askedBy: 'test' } as const;
      await expect(activator.choose(choice)).rejects.toMatchObject({ fault: late });
      expect(policies.current().policy).toBe(A.policy);
    } finally {
      free();
    }
    expect(await activator.catchUp('now', signal)).toBeNull();
    expect(policies.current().policy.digest).toBe(B.policy.digest);
  });
});

function record(of: Made, more: Partial<NewActivation> = {}): Promise<Recorded> {
  const activation = {
    kind: 'offered',
    policy: of.policy,
    statement: null,
    reason: 'changed',
    askedBy: 'test',
  } as const;
  return storedActivations(db).record({ ...activation, at: instantOf(NOON), ...more });
}

describe('generations', () => {
  const generationOf = async (of: Made, more: Partial<NewActivation> = {}): Promise<number | string> => {
    const recorded = await record(of, more);
    return 'generation' in recorded ? recorded.generation : recorded.kind;
  };

  it('go on over restarts, of which one that changes nothing is none', async () => {
    expect(await generationOf(A)).toBe(1);
    expect(await generationOf(A, { reason: 'start' })).toBe(1);
    expect(await generationOf(B)).toBe(2);
    expect(await generationOf(A)).toBe(3);
  });

  it('are those of all gateways on one store, which may learn of a policy at once', async () => {
    await record(A);
    expect(new Set(await Promise.all(Array.from({ length: 12 }, () => generationOf(B))))).toEqual(new Set([2]));
    const mixed = await Promise.all([A, B, C, A, B, C].map((made) => generationOf(made)));
    const rows = await db.knex('activations').select('generation', 'snapshot').orderBy('generation');
    expect(rows.map(({ generation }) => Number(generation))).toEqual(rows.map((_, index) => index + 1));
    expect(Math.max(...mixed.map(Number))).toBe(rows.length);
  });

  it('rise with a rollback, which the source undoes only after it has offered another', async () => {
    await record(A);
    await record(B);
    expect(await generationOf(A, { kind: 'rolled_back' })).toBe(3);
    expect(await generationOf(B)).toBe('held');
    expect(await generationOf(B, { kind: 'activated' })).toBe(4);
    expect(await generationOf(A, { kind: 'rolled_back' })).toBe(5);
    expect(await generationOf(C)).toBe(6);
    expect(await generationOf(B)).toBe(7);
  });

  it('are not made by who looked before another one was', async () => {
    await record(A);
    await record(B);
    expect(await generationOf(C, { after: 1 })).toBe('superseded');
    expect(await generationOf(C, { after: 2 })).toBe(3);
    expect(await generationOf(C, { after: 1 })).toBe(3);
  });
});
