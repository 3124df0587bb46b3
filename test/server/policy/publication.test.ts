// What a gateway asks of a snapshot that follows another: that it was published after it, and by whom. Attacks on update systems that The
// Update Framework describes (arbitrary software, rollback, freeze, mix and match, key compromise) are named in the tests.
import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatPublicKey, instantOf, type PublicationStatement } from '../../../engine/index.js';
import { encodeEnvelope } from '../../../engine/statement/envelope.js';
import { isRollback, storedActivations } from '../../../server/policy/activations.js';
import { NO_AGE_LIMITS, stalenessOf } from '../../../server/policy/staleness.js';
import { makeKeyPair, openPrivatePem, type SigningKey } from '../../../server/signing/ed25519.js';
import { signOnce } from '../../../server/signing/sign-statement.js';
import {
  A,
  activations,
  B,
  C,
  db,
  follow,
  type Followed,
  HOUR,
  type Made,
  make,
  NOON,
} from '../../support/followed-policy.js';
import { makeFolder } from '../../support/temp-folder.js';

describe('a snapshot that must be published', () => {
  const pair = makeKeyPair();
  const other = makeKeyPair();
  const keyOf = ({ privatePem }: { readonly privatePem: string }): SigningKey => {
    const key = openPrivatePem(privatePem);
    if (key === null) throw new Error('no key');
    return key;
  };

  function statementOf(of: Made, fields: Partial<PublicationStatement> = {}): PublicationStatement {
    return {
      snapshot: of.policy.digest,
      policy: of.policy.name,
      environment: 'production',
      generation: 7,
      issued: instantOf(NOON - HOUR),
      expires: instantOf(NOON + 24 * HOUR),
      ...fields,
    };
  }

  async function published(
    ages = NO_AGE_LIMITS,
  ): Promise<
    Followed & { readonly sign: (statement: PublicationStatement, by?: typeof pair) => void; readonly keyring: string }
  > {
    const folder = await makeFolder();
    const keyring = join(folder, 'keyring.yaml');
    writeFileSync(keyring, keyringOf(pair.publicKey));
    const rule = { keyring: { path: keyring, shown: keyring }, environment: 'production' };
    const followed = await follow({ folder, rule, ages, statement: statementOf(A) });
    const sign = (statement: PublicationStatement, by = pair): void => {
      const signed = signOnce(keyOf(by), statement, null);
      if (signed === null) throw new Error('not signed');
      writeFileSync(`${followed.path}.dsse.json`, encodeEnvelope(signed.envelope));
    };
    sign(statementOf(A));
    return { ...followed, sign, keyring };
  }

  const keyringOf = (publicKey: Uint8Array): string =>
    `threshold: 1\nkeys:\n  - name: release\n    publicKey: ${formatPublicKey(publicKey)}\n`;

  it('is taken with a statement of a later generation', async () => {
    const { look, put, sign, policies } = await published();
    expect(await look()).toEqual([A.policy.digest, null]);
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current().statement).toMatchObject({ generation: 8, environment: 'production' });
  });

  it.each([
    ['arbitrary software: nobody has signed', B, null],
    ['arbitrary software: somebody else has signed', B, { by: other, fields: { generation: 8 } }],
    ['arbitrary software: the signature is that of another snapshot', B, { of: A, fields: { generation: 8 } }],
    ['rollback: an older generation', B, { fields: { generation: 6 } }],
    ['rollback: the same generation for something else', B, { fields: { generation: 7 } }],
    ['replay across environments', B, { fields: { generation: 8, environment: 'staging' } }],
    ['freeze: the statement has expired', B, { fields: { generation: 8, expires: instantOf(NOON - 1) } }],
    ['not yet issued', B, { fields: { generation: 8, issued: instantOf(NOON + HOUR) } }],
    ['mix and match: another policy, rightly signed', make('/b', 'elsewhere'), { fields: { generation: 8 } }],
  ] as const)('is refused: %s', async (_, offer, signing) => {
    const { look, put, sign, path, policies } = await published();
    put(offer.bytes);
    if (signing === null) rmSync(`${path}.dsse.json`);
    else sign(statementOf('of' in signing ? signing.of : offer, signing.fields), 'by' in signing ? signing.by : pair);
    const [digest, refused] = await look();
    expect(digest).toBe(A.policy.digest);
    expect(refused).toEqual(expect.any(String));
    expect(policies.current().generation).toBe(1);
  });

  it('rollback: what was accepted is remembered over a restart', async () => {
    const { look, put, sign } = await published();
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(B.policy.digest);
    // A new process that was given the old file, with its old and genuine statement.
    const restarted = await storedActivations(db).accepted(A.policy.name, 'production');
    expect(isRollback(statementOf(A), restarted)).toBe(true);
    expect(isRollback(statementOf(A, { generation: 8 }), restarted)).toBe(true);
    expect(isRollback(statementOf(B, { generation: 8 }), restarted)).toBe(false);
    expect(isRollback(statementOf(A, { generation: 9 }), restarted)).toBe(false);
    expect(await storedActivations(db).accepted(A.policy.name, 'staging')).toBeNull();
  });

  it('is refused as a folder, which nobody can sign', async () => {
    const { look, path, policies } = await published();
    rmSync(path);
    execFileSync('cp', ['-r', 'policies', path]);
    expect(await look()).toEqual([A.policy.digest, 'signature.missing']);
    expect(policies.state().refusal?.message).toContain('folder');
  });

  it('may be published anew, and stays the same handle', async () => {
    const { look, sign, policies } = await published();
    sign(statementOf(A, { generation: 9, expires: instantOf(NOON + 48 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(policies.current()).toMatchObject({ generation: 2, policy: A.policy, statement: { generation: 9 } });
    expect(policies.current().policy).toBe(A.policy);
  });

  it('key compromise: a key that is taken out of the keyring signs nothing any more', async () => {
    const { look, put, sign, keyring } = await published();
    writeFileSync(keyring, keyringOf(other.publicKey));
    put(B.bytes);
    sign(statementOf(B, { generation: 8 }));
    expect((await look())[0]).toBe(A.policy.digest);
    sign(statementOf(B, { generation: 8 }), other);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('decides nothing any more once its statement has expired, and again when it is published anew', async () => {
    const { look, sign, policies, advance, lines } = await published();
    const stale = (): string => stalenessOf(policies.state(), NO_AGE_LIMITS, instantOf(NOON + 25 * HOUR));
    expect(stale()).toBe('hard');
    advance(25 * HOUR);
    expect((await look())[1]).toBe('statement.expired');
    expect(lines.at(-1)?.message).toContain('nothing is decided');
    sign(statementOf(A, { generation: 8, expires: instantOf(NOON + 72 * HOUR) }));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(stale()).toBe('no');
  });
});

describe('generations', () => {
  const at = instantOf(NOON);
  const record = (of: Made, reason = 'changed'): Promise<number> =>
    activations.record({ policy: of.policy, statement: null, reason, at });

  it('go on over restarts, of which one that changes nothing is none', async () => {
    expect(await record(A)).toBe(1);
    expect(await record(A, 'start')).toBe(1);
    expect(await record(B)).toBe(2);
    expect(await record(A)).toBe(3);
  });

  it('are those of all gateways on one store, which may be told of a policy at once', async () => {
    await record(A);
    expect(new Set(await Promise.all(Array.from({ length: 12 }, () => record(B))))).toEqual(new Set([2]));
    const mixed = await Promise.all([A, B, C, A, B, C].map((made) => record(made)));
    const rows = await db.knex('activations').select('generation', 'snapshot').orderBy('generation');
    expect(rows.map(({ generation }) => Number(generation))).toEqual(rows.map((_, index) => index + 1));
    expect(Math.max(...mixed)).toBe(rows.length);
  });
});
