// `bailiwick check-attestation <file>`: whether enough trusted keys have signed an attestation, what it is about, and what it
// states (docs/evidence.md). It takes the result of any verifier that writes in-toto's SVR predicate.
import { formatInstant, judgeEnvelope } from '../../../engine/index.js';
import { readVerificationResult, type VerificationResult } from '../../signing/attestation.js';
import { verifyEd25519 } from '../../signing/ed25519.js';
import { readKeyring } from '../../signing/keyring-file.js';
import { readStatementFile } from '../../signing/statement-file.js';
import { CliFailure, EXIT } from '../exit.js';
import { type Answer, type CliIo, namedFile } from '../io.js';
import { openPolicy } from '../open-policy.js';
import { formats } from '../options.js';
import { linesText } from '../render/text.js';
import { asFailure } from '../statement-flags.js';
import { type Given, repeated, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<file>': 'attestation of `bailiwick attest`',
  '--keyring <file>': required('file with the trusted public keys and how many of them are needed'),
  '--snapshot <policy>': 'snapshot that the attestation must be about: a file or a digest',
  '--require <property>': repeated('property that the attestation must state; may be repeated'),
  ...formats(),
});

export const defineCheckAttestation = verb(TAKES, check, {
  examples: {
    'whether this snapshot passed its guardrails and gives nobody new access':
      'bailiwick check-attestation policy.svr.json --keyring ci-keyring.yaml --snapshot snapshot.json --require BAILIWICK_GUARDRAILS_HELD --require BAILIWICK_NO_NEW_ACCESS',
  },
  json: ['{"ok":true,"subjects":[digest],"verifier","at","properties":[text],"signers":[{"keyId","name"}]}'],
});

/** Throws `CliFailure`: 8 if it is not signed or about something else, 6 if it does not state what is required. */
async function check(io: CliIo, { file, keyring, snapshot, require = [] }: Given<typeof TAKES>): Promise<Answer> {
  const ring = await asFailure(readKeyring(namedFile(io, keyring)));
  const envelope = await asFailure(readStatementFile(namedFile(io, file)));
  const { signatures, fault } = judgeEnvelope(envelope, { keyring: ring, verify: verifyEd25519 });
  if (fault !== null) throw refused(fault.code, `\`${file}\` does not count: ${fault.message}`, { signatures });
  const result = readVerificationResult(envelope.payload);
  if (result === null)
    throw refused('attestation.malformed', `\`${file}\` is signed, and is not an attestation of verified properties`);
  const about = snapshot === undefined ? null : await digestOf(io, snapshot);
  if (about !== null && !result.subjects.includes(about)) {
    const subjects = { subjects: result.subjects, snapshot: about };
    throw refused('attestation.subject', `\`${file}\` is about another snapshot than ${about}`, subjects);
  }
  const missing = require.filter((property) => !result.properties.includes(property));
  if (missing.length > 0) {
    const message = `\`${file}\` does not state ${missing.join(', ')}`;
    throw new CliFailure(EXIT.precondition, 'attestation.property', message, {
      help: `it states ${result.properties.join(', ')}`,
      report: { properties: result.properties },
    });
  }
  const signers = signatures.flatMap(({ ok, keyId, name }) => (ok ? [{ keyId, name }] : []));
  const names = signers.map(({ keyId, name }) => name ?? keyId ?? '');
  return {
    json: () => ({ ok: true, ...result, at: formatInstant(result.at), signers }),
    text: () => textOf(result, names),
  };
}

/** A digest stands for itself, so that no file is needed. */
async function digestOf(io: CliIo, snapshot: string): Promise<string> {
  if (/^sha256:[0-9a-f]{64}$/.test(snapshot)) return snapshot;
  return (await openPolicy(io, snapshot, 'study')).policy.digest;
}

function refused(code: string, message: string, report: object = {}): CliFailure {
  return new CliFailure(EXIT.integrity, code, message, { report });
}

function textOf({ subjects, verifier, at, properties }: VerificationResult, signers: readonly string[]): string {
  return linesText([
    ...subjects.map((subject) => `snapshot  ${subject}`),
    `verified  by ${verifier} at ${formatInstant(at)}`,
    `signed    by ${signers.join(', ')}`,
    ...properties.map((property) => `  ${property}`),
  ]);
}
