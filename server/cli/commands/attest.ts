// `bailiwick attest <policy>`: checks a policy folder once more and signs what was found, so that somebody who trusts the key
// need not repeat it (docs/evidence.md).
import { createHash } from 'node:crypto';
import { encodeEnvelope, type Instant, keyIdOf, type Policy } from '../../../engine/index.js';
import {
  type Attestation,
  type AttestedDiff,
  encodeAttestation,
  passed,
  type Property,
  type Signer,
} from '../../signing/attestation.js';
import { readSigningKey } from '../../signing/key-file.js';
import { signOnce } from '../../signing/sign-statement.js';
import { programVersion } from '../../lib/version.js';
import { compareOpened } from '../compare-policies.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { writeWhole } from '../files.js';
import { type Answer, type CliIo, jsonParts, namedFile, pathOf, pathsOf } from '../io.js';
import { type OpenedPolicy, openStated } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { cellsJson, diffJson } from '../render/diff.js';
import { linesText } from '../render/text.js';
import { asFailure, requirePublished } from '../statement-flags.js';
import { readKeyring } from '../../signing/keyring-file.js';
import { requiredStatement } from '../../signing/statement-file.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, or `<revision>:<path>` in git',
  '--key <file>': required('private key of the attester, from `bailiwick keygen`'),
  '--base <policy>': 'earlier policy: the statement then says what differs from it',
  '--statement <file>': 'publication statement of the snapshot: says who signed it; needs --keyring',
  '--keyring <file>': 'trusted public keys for --statement',
  '--at <instant>': 'time that the statement names, and at which --statement must be in force (default: now)',
  '-o, --output <file>': 'file for the attestation (default: stdout)',
  ...formats(),
});

export const defineAttest = verb(TAKES, attest, {
  examples: {
    'that this commit passed its checks, and what it changes':
      'bailiwick attest policies --base main:policies --key ci.key -o policy.svr.json',
    'that it is signed, too':
      'bailiwick attest policies --key ci.key --statement snapshot.json.dsse.json --keyring keyring.yaml -o policy.svr.json',
    'to check it': 'bailiwick check-attestation policy.svr.json --keyring ci-keyring.yaml --snapshot snapshot.json',
  },
  json: ['{"snapshot","decisions","keyId","properties":[text],"attestation":{DSSE}}'],
});

/** Throws `CliFailure`: 3, 4, 5 as `check`; 8 or 9 if the statement does not count. Nothing is signed then. */
async function attest(io: CliIo, { policy: path, output, ...options }: Given<typeof TAKES>): Promise<Answer> {
  if ((options.statement === undefined) !== (options.keyring === undefined))
    throw usage('`--statement` and `--keyring` belong together', 'without a keyring no signature is trusted');
  const at = instantOption(options.at);
  const key = await asFailure(readSigningKey(namedFile(io, options.key)));
  const opened = await openStated(io, path);
  const { policy, set } = opened;
  if (set === null || policy.checks === null) {
    const help = 'name the folder that it was compiled from, or `<revision>:<folder>`';
    throw usage(`\`${path}\` is a snapshot, and its tests and guardrails can be checked in a folder only`, help);
  }
  const compared = options.base === undefined ? null : await compareWith(io, options.base, opened);
  const signers = await signersOf(io, policy, { ...options, at });
  const { guardrails, tests } = policy.checks;
  const [names, ids] = [set.tests.map(({ name }) => name), set.guardrails.map(({ id }) => id)];
  const attestation: Attestation = {
    policy: policy.name,
    snapshot: policy.digest,
    decisions: policy.decisions,
    at,
    version: programVersion(),
    properties: [
      'BAILIWICK_POLICY_VALID',
      'BAILIWICK_TESTS_PASSED',
      'BAILIWICK_GUARDRAILS_HELD',
      ...(compared?.properties ?? []),
      ...(signers === null ? [] : (['BAILIWICK_SIGNED'] as const)),
    ],
    tests: passed(tests, names),
    guardrails: passed(guardrails, ids),
    ...(compared === null ? {} : { compared: compared.facts }),
    ...(signers === null ? {} : { signers }),
  };
  const signed = signOnce(key, encodeAttestation(attestation), null);
  if (signed === null) throw new CliFailure(EXIT.unexpected, 'attestation', 'it cannot be signed');
  const text = encodeEnvelope(signed.envelope);
  if (output !== undefined) {
    const inputs = pathsOf(io, [path, options.key, options.base, options.statement, options.keyring]);
    await writeWhole(pathOf(io, output), Buffer.from(`${text}\n`), { shown: output, inputs });
  }
  const facts = { snapshot: policy.digest, decisions: policy.decisions, keyId: keyIdOf(key.publicKey) };
  const { properties } = attestation;
  const envelope: unknown = JSON.parse(text);
  return {
    json: () => ({ ...facts, properties, attestation: envelope }),
    text: () =>
      output === undefined
        ? `${text}\n`
        : linesText([`snapshot  ${policy.digest}`, ...properties.map((one) => `  ${one}`)]),
  };
}

interface Difference {
  readonly facts: AttestedDiff;
  readonly properties: readonly Property[];
}

async function compareWith(io: CliIo, base: string, opened: OpenedPolicy): Promise<Difference> {
  const { report, stated, givesAccess, isWeaker } = compareOpened(io, await openStated(io, base, 'study'), opened);
  const digest = createHash('sha256');
  for (const part of jsonParts(diffJson(report, stated))) digest.update(part);
  return {
    facts: {
      ...stated.old,
      cells: cellsJson(report.cells),
      rows: { gained: report.gained.length, lost: report.lost.length },
      diff: digest.digest('hex'),
    },
    properties: [
      'BAILIWICK_COMPARED',
      ...(report.equal ? (['BAILIWICK_SAME_DECISIONS'] as const) : []),
      ...(givesAccess ? [] : (['BAILIWICK_NO_NEW_ACCESS'] as const)),
      ...(isWeaker ? [] : (['BAILIWICK_NO_WEAKER_CHECKS'] as const)),
    ],
  };
}

/** Null if no statement was named. Throws `CliFailure` if it does not count for this policy. */
async function signersOf(
  io: CliIo,
  policy: Policy,
  { statement, keyring, at }: Pick<Given<typeof TAKES>, 'statement' | 'keyring'> & { readonly at: Instant },
): Promise<readonly Signer[] | null> {
  if (statement === undefined || keyring === undefined) return null;
  const ring = await asFailure(readKeyring(namedFile(io, keyring)));
  const file = requiredStatement(namedFile(io, statement));
  const expected = { keyring: ring, at, environment: null, minimumGeneration: null };
  const { signatures } = await requirePublished(policy, file, expected);
  return signatures.flatMap(({ ok, keyId, name }) => (ok && keyId !== null ? [{ keyId, name: name ?? '' }] : []));
}
