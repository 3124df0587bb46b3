// An offer becomes a policy that may be served, or one line that says why not: opened in a thread of its own and verified whole, and
// published by those who have to have signed it, after what they published before.
import type { Policy, PublicationStatement } from '../../engine/index.js';
import type { Clock } from '../ports.js';
import { readKeyring } from '../signing/keyring-file.js';
import type { NamedFile } from '../signing/named-file.js';
import { SigningError } from '../signing/signing-error.js';
import { type Activations, isRollback, rollbackText } from './activations.js';
import { oneLine, type PolicyFault } from './policy-fault.js';
import { openInThread } from './snapshot-thread.js';
import type { Offer } from './sources/source.js';
import { verifyPublication } from './verify-publication.js';

/** Who must have published what is served, and for what. The keyring is read with each offer, so that keys can be replaced. */
export interface PublicationRule {
  readonly keyring: NamedFile;
  readonly environment: string | null;
}

export interface Judge {
  /** Null: nobody has to have signed. */
  readonly rule: PublicationRule | null;
  /** Of the policy: a signature for another one says nothing. */
  readonly name: string;
  readonly activations: Pick<Activations, 'accepted'>;
  readonly clock: Clock;
}

export type Verified =
  | {
      readonly kind: 'verified';
      readonly policy: Policy;
      /** The snapshot's exact bytes. */
      readonly bytes: Uint8Array;
      readonly statement: PublicationStatement | null;
    }
  | Refused;

interface Refused {
  readonly kind: 'refused';
  readonly fault: PolicyFault;
}

/** Rejects where the store fails, and once `signal` is aborted. */
export async function verifyOffer(offer: Offer, judge: Judge, signal: AbortSignal): Promise<Verified> {
  const { rule } = judge;
  if (rule !== null && offer.content.kind === 'folder') {
    return refused(oneLine('signature.missing', 'a folder cannot be signed: serve a snapshot'));
  }
  const opened = await openInThread(offer.content, signal);
  if (opened.kind === 'refused') return opened;
  const { policy, bytes } = opened;
  if (rule === null) return { kind: 'verified', policy, bytes, statement: null };
  const statement = await statementOf(policy, offer, { ...judge, rule });
  return 'kind' in statement ? statement : { kind: 'verified', policy, bytes, statement };
}

async function statementOf(
  policy: Policy,
  offer: Offer,
  { rule, name, activations, clock }: Judge & { readonly rule: PublicationRule },
): Promise<PublicationStatement | Refused> {
  if (policy.name !== name)
    return refused(oneLine('snapshot.policy', `it is another policy, called \`${policy.name}\``));
  try {
    const keyring = await readKeyring(rule.keyring);
    const expected = { keyring, at: clock.now(), environment: rule.environment, minimumGeneration: null };
    const { statement, faults } = await verifyPublication(policy, offer.statement, expected);
    const [first] = faults;
    if (first !== undefined) return refused({ ...first, problems: faults.slice(1).map(({ message }) => message) });
    if (statement === null) return refused(oneLine('signature.missing', 'it has no statement that can be read'));
    const accepted = await activations.accepted(policy.name, statement.environment);
    if (!isRollback(statement, accepted)) return statement;
    return refused(oneLine('snapshot.rollback_refused', rollbackText(statement, accepted)));
  } catch (error) {
    if (!(error instanceof SigningError)) throw error;
    return refused({ code: error.code, message: error.message, problems: error.faults });
  }
}

function refused(fault: PolicyFault): Refused {
  return { kind: 'refused', fault };
}
