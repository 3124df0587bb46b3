// Whoever may write to the place that policies come from, or stands on the way to it, changes nothing that is decided. The attacks are
// those that The Update Framework names, tried on every kind of source.
import { describe, expect, it } from '@jest/globals';
import { instantOf, type PublicationStatement } from '../../../engine/index.js';
import { A, B, follow, type Followed, HOUR, type Made, make, NOON } from '../../support/followed-policy.js';
import { type PublishedSource, SOURCE_KINDS } from '../../support/published-sources.js';
import { makeSigner, ruleIn, signedBy, type Signer, statementOf } from '../../support/publisher.js';
import { makeFolder } from '../../support/temp-folder.js';

const [ANA, BEN, EVE] = [makeSigner(), makeSigner(), makeSigner()];
const ELSEWHERE = make('/b', 'elsewhere');

interface Attack {
  readonly puts: Made;
  /** About what the statement is; about what is put unless given. Null: there is none. */
  readonly about?: Made | null;
  readonly fields?: Partial<PublicationStatement>;
  /** Ana and Ben unless given. */
  readonly by?: readonly Signer[];
  readonly code: string;
}

const NEXT = { generation: 8 };
const ATTACKS: readonly (readonly [name: string, attack: Attack])[] = [
  ['arbitrary software: nobody has signed', { puts: B, about: null, code: 'signature.missing' }],
  ['wrong key', { puts: B, fields: NEXT, by: [EVE, EVE], code: 'signature.threshold' }],
  ['threshold: one of two has signed', { puts: B, fields: NEXT, by: [ANA], code: 'signature.threshold' }],
  ['threshold: one has signed twice', { puts: B, fields: NEXT, by: [ANA, ANA], code: 'signature.threshold' }],
  ['rollback: an older generation', { puts: B, fields: { generation: 6 }, code: 'snapshot.rollback_refused' }],
  ['rollback: the same generation for something else', { puts: B, code: 'snapshot.rollback_refused' }],
  [
    'fast forward: a generation that is no number of ours',
    { puts: B, fields: { generation: Number.MAX_SAFE_INTEGER }, code: 'statement.malformed' },
  ],
  [
    'replay across environments',
    { puts: B, fields: { ...NEXT, environment: 'staging' }, code: 'statement.environment' },
  ],
  [
    'freeze: the statement has expired',
    { puts: B, fields: { ...NEXT, expires: instantOf(NOON - 1) }, code: 'statement.expired' },
  ],
  [
    'not yet issued',
    { puts: B, fields: { ...NEXT, issued: instantOf(NOON + HOUR) }, code: 'statement.not_yet_issued' },
  ],
  [
    'mix and match: a newer statement with another snapshot',
    { puts: B, about: A, fields: NEXT, code: 'statement.subject' },
  ],
  ['mix and match: another policy, rightly signed', { puts: ELSEWHERE, fields: NEXT, code: 'snapshot.policy' }],
];

describe.each(SOURCE_KINDS)('%s', (_, open) => {
  async function published(): Promise<Omit<Followed, 'put'> & PublishedSource> {
    const opened = await open(A, signedBy(statementOf(A), [ANA, BEN]));
    const rule = ruleIn(await makeFolder(), [ANA, BEN], 2);
    const statement = { says: statementOf(A), envelope: signedBy(statementOf(A), [ANA, BEN]), signers: [] };
    return { ...(await follow({ rule, statement, source: opened.source })), ...opened };
  }

  it('is followed: what was published after is served', async () => {
    const { look, put, policies, activator } = await published();
    await put(B, signedBy(statementOf(B, NEXT), [ANA, BEN]));
    expect(await look()).toEqual([B.policy.digest, null]);
    expect(policies.current()).toMatchObject({ generation: 2, statement: NEXT });
    expect(await activator.activations.accepted('followed', 'production')).toMatchObject(NEXT);
  });

  it.each(ATTACKS)('is not taken in by %s', async (_name, { puts, about = puts, fields, by = [ANA, BEN], code }) => {
    const { look, put, policies } = await published();
    await put(puts, about === null ? null : signedBy(statementOf(about, fields), by));
    expect(await look()).toEqual([A.policy.digest, code]);
    expect(policies.current().generation).toBe(1);
  });
});
