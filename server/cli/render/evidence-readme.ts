// The README of an evidence file, for somebody who has neither bailiwick nor its documentation at hand.
import type { Policy } from '../../../engine/index.js';
import type { LoggedActivations } from '../evidence-log.js';

export interface EvidenceFacts {
  readonly policy: Policy;
  /** The version of this program. */
  readonly version: string;
  readonly names: readonly string[];
  readonly missing: readonly string[];
  readonly activations: LoggedActivations;
}

const ABOUT: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/^snapshot\.json$/, 'the policy, as gateways load it. Its name is the SHA-256 of this file'],
  [/^checks\.json$/, 'how many tests and guardrails it was compiled under, with a digest of them, and what it holds'],
  [/^statement\.dsse\.json$/, 'the publication statement: environment, generation, end, and signatures'],
  [/^statement-keys\//, 'the keys that were trusted for the statement, and how many of them had to sign (`threshold`)'],
  [/^attestation\.dsse\.json$/, 'what a verifier signed: tests passed, guardrails held, what changed'],
  [/^attestation-keys\//, 'the keys that were trusted for the attestation'],
  [/^before\.json$/, 'the policy that it replaced, or was compared with'],
  [/^diff\.(?:json|txt)$/, 'who gained and lost which access by the change, exactly'],
  [/^log\/activations\.jsonl$/, 'the events of the audit log that put it in force'],
  [/^log\/[^/]*\.checkpoint$/, 'a signed head of the audit log'],
  [/^log\/[^/]*\.pem$/, 'the key of that head'],
  [/^log\/[^/]*\.tlog-proof$/, 'a proof for each event that it is in the log of that head'],
];

const NONE = Object.freeze({
  log: 'The log has no such event.',
  files: 'The files of the log that were read have no such event.',
});

export function evidenceReadme({ policy, version, names, missing, activations }: EvidenceFacts): string {
  const rows = ABOUT.flatMap(([pattern, text]) => {
    const found = names.filter((name) => pattern.test(name));
    const [first = '', ...others] = found;
    if (found.length === 0) return [];
    return [`- ${others.length === 0 ? first : `${first} and ${String(others.length)} more`}: ${text}`];
  });
  const times = activations.events.map(
    ({ log, seq, time, operation, actor }) =>
      `- ${time}, event ${String(seq)} of the log ${log}: ${operation} by ${actor.id}`,
  );
  return `# Evidence about the policy ${policy.name}

Snapshot \`${policy.digest}\`, decisions \`${policy.decisions}\`.
Gathered by bailiwick ${version}.

## What is here

${rows.join('\n')}
- check.py: checks it, see below

## When it was put in force

${times.length === 0 ? NONE[activations.unread.length === 0 ? 'log' : 'files'] : times.join('\n')}

## What is missing

${missing.length === 0 ? 'Nothing.' : missing.map((what) => `- ${what}`).join('\n')}

## How to check it

The snapshot has the digest that it is named by:

    sha256sum snapshot.json

Everything else, with Python 3 and \`openssl\` and without bailiwick:

    python3 check.py

It checks the signatures of the statement and of the attestation, that both are about this snapshot, that diff.json is the difference that
was attested, that the head of the log is signed, and that each event leads to that head. It ends with 0 if everything is here and true, with 6
if what is here is true and something is missing, which it lists, and with 1 if anything is false. It does not check this page and diff.txt, which
are for people: \`bailiwick diff before.json snapshot.json\` prints diff.txt again. Take check.py itself from somebody you trust, or read it.
It trusts the keys that are in this file, and prints the ids of those that signed. So compare them with those that you got from somebody you trust,
for example with

    openssl pkey -pubin -in <key>.pem -outform DER | tail -c 32 | sha256sum

which prints the key's id. The statement and the attestation are in-toto statements in DSSE envelopes, the heads and proofs of the log are those of
C2SP (tlog-checkpoint, tlog-proof), so other programs check them, too.
`;
}
