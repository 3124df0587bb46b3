// What `evidence` does: it gathers, verifies and packs. A part that is absent is listed as missing; a part that is false, such as
// a statement that nobody trusted signed, stops everything.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { zipSync } from 'fflate';
import {
  decodeStatement,
  type Instant,
  instantOf,
  judgeEnvelope,
  type Keyring,
  keyIdOf,
  type Policy,
} from '../../engine/index.js';
import { isKept, pathOfSnapshot } from '../audit/snapshots.js';
import { readVerificationResult, type VerificationResult } from '../signing/attestation.js';
import { verifyEd25519 } from '../signing/ed25519.js';
import { readKeyring } from '../signing/keyring-file.js';
import { parseEnvelope, requiredStatement, statementAt, statementPathOf } from '../signing/statement-file.js';
import { programVersion } from '../lib/version.js';
import { compareOpened } from './compare-policies.js';
import {
  type Bundle,
  type EvidenceFlags,
  findActivations,
  type LoggedActivations,
  pemOf,
  proveActivations,
} from './evidence-log.js';
import { CliFailure, EXIT, usage } from './exit.js';
import { writeWhole } from './files.js';
import { type Answer, type CliIo, jsonParts, namedFile, pathOf, pathsOf } from './io.js';
import { type OpenedPolicy, openStated } from './open-policy.js';
import { folderOf } from './audit-log.js';
import { signingKeyPath } from './prove-audit.js';
import { diffJson, renderDiff } from './render/diff.js';
import { type EvidenceFacts, evidenceReadme } from './render/evidence-readme.js';
import { plain } from './render/terminal.js';
import { count, linesText } from './render/text.js';
import { asFailure, requirePublished } from './statement-flags.js';

/** Throws `CliFailure`: 2 for a wrong flag or file, 8 for anything that is not what it claims to be. */
export async function evidenceCommand(io: CliIo, flags: EvidenceFlags): Promise<Answer> {
  const { snapshot: named } = flags;
  const files = new Map<string, Uint8Array>();
  const missing: string[] = [];
  const bundle: Bundle = {
    add: (name, bytes) => void files.set(name, typeof bytes === 'string' ? Buffer.from(bytes) : bytes),
    missing: (what) => void missing.push(what),
  };
  const folder = await folderOf(io, flags.log, { flags });
  const opened = await openStated(io, await pathOfPolicy(named, folder), 'study');
  const { policy } = opened;
  if (opened.source === 'folder') throw usage(`\`${named}\` is a folder`, 'name a snapshot file, or its digest');
  bundle.add('snapshot.json', opened.bytes);
  bundle.add('checks.json', checksText(policy));
  await addStatement(io, bundle, policy, flags);
  const attested = await addAttestation(io, bundle, policy, flags);
  const archive = flags.archive === undefined ? null : pathOf(io, flags.archive);
  const activations = await findActivations({ folder, archive }, policy.digest);
  await addDifference(io, bundle, { opened, folder, flags, activations, attested });
  await proveActivations(io, bundle, { activations, folder, archive, flags });
  const facts: EvidenceFacts = { policy, version: programVersion(), names: [...files.keys()], missing, activations };
  bundle.add('README.md', evidenceReadme(facts));
  bundle.add('check.py', await readFile(new URL('../../../server/docs/check-evidence.py', import.meta.url)));
  const { output, statement = statementPathOf(named), attestation, base, checkpoint, publicKey } = flags;
  const key = (await signingKeyPath(io, flags)) ?? undefined;
  const given = [named, statement, attestation, base, checkpoint, key, publicKey];
  const inputs = pathsOf(io, [...given, flags.statementKeyring, flags.attestationKeyring, folder, flags.archive]);
  await writeWhole(pathOf(io, output), pack(files), { shown: output, inputs, mode: 0o600 });
  if (missing.length > 0) io.setStatus(EXIT.precondition);
  const listed = [...files].map(([name, bytes]) => ({ name, sha256: hash('sha256', bytes, 'hex') }));
  const found = count(activations.events.length, 'activation');
  const ok = missing.length === 0;
  const error = ok ? undefined : { code: 'evidence.missing', message: `missing: ${missing.join('; ')}` };
  const said = { ok, file: output, snapshot: policy.digest, files: listed, missing };
  const wrote = `wrote ${output}: ${count(files.size, 'file')}, ${found}`;
  return {
    json: () => ({ ...said, activations: activations.events.length, error }),
    text: () => linesText([...missing.map((what) => `missing: ${what}`), wrote]),
  };
}

/** The same bytes for the same files, so that two people can compare what they made. ZIP knows no time before 1980. */
function pack(files: ReadonlyMap<string, Uint8Array>): Uint8Array {
  return zipSync(Object.fromEntries(files), { mtime: new Date(1980, 0, 1), level: 9 });
}

async function pathOfPolicy(named: string, folder: string): Promise<string> {
  if (!named.startsWith('sha256:')) return named;
  const path = pathOfSnapshot(folder, named);
  if (path === null) throw usage(`\`${named}\` is not a digest`, 'it is `sha256:` and 64 hex digits');
  if (await isKept(path)) return path;
  const message = `\`${folder}\` does not keep the snapshot ${named}`;
  throw new CliFailure(EXIT.usage, 'snapshot.absent', message, { help: 'name its file instead' });
}

function checksText({ name, format, digest, decisions, counts, checks }: Policy): string {
  return `${JSON.stringify({ policy: name, format, snapshot: digest, decisions, counts, checks }, null, 2)}\n`;
}

async function addStatement(io: CliIo, bundle: Bundle, policy: Policy, flags: EvidenceFlags): Promise<void> {
  const beside = flags.snapshot.startsWith('sha256:') ? null : statementPathOf(flags.snapshot);
  const shown = flags.statement ?? beside;
  const bytes = shown === null ? null : await bytesOf(io, shown, { optional: flags.statement === undefined });
  if (shown === null || bytes === null) {
    bundle.missing('the publication statement: name it with --statement');
    return;
  }
  const ring = await ringOf(io, flags.statementKeyring);
  if (ring === null) {
    bundle.missing('who signed the statement: name the trusted keys with --statement-keyring');
    return;
  }
  // Evidence is about the past, so a statement that has expired since is as good as it was: it is judged when it was issued.
  const statement = { shown, read: () => Promise.resolve(bytes) };
  const asked = { keyring: ring, at: issuedOf(bytes, shown), environment: null, minimumGeneration: null };
  await requirePublished(policy, statement, asked);
  bundle.add('statement.dsse.json', bytes);
  addKeys(bundle, 'statement-keys', ring);
}

/** Of a statement that nobody has verified yet. */
function issuedOf(bytes: Uint8Array, shown: string): Instant {
  return decodeStatement(parseEnvelope(bytes, shown).payload)?.issued ?? instantOf(0);
}

/** What it states; null if there is none. */
async function addAttestation(
  io: CliIo,
  bundle: Bundle,
  policy: Policy,
  flags: EvidenceFlags,
): Promise<VerificationResult | null> {
  const { attestation: shown, attestationKeyring, statementKeyring } = flags;
  if (shown === undefined) {
    bundle.missing(
      'the attestation of its tests and guardrails: make one with `bailiwick attest`, name it with --attestation',
    );
    return null;
  }
  const bytes = await bytesOf(io, shown, { optional: false });
  const ring = await ringOf(io, attestationKeyring ?? statementKeyring);
  if (ring === null || bytes === null) {
    bundle.missing('who signed the attestation: name the trusted keys with --attestation-keyring');
    return null;
  }
  const envelope = await asFailure(Promise.resolve().then(() => parseEnvelope(bytes, shown)));
  const { fault } = judgeEnvelope(envelope, { keyring: ring, verify: verifyEd25519 });
  const result = fault === null ? readVerificationResult(envelope.payload) : null;
  const message =
    fault?.message ??
    (result === null
      ? 'it is not an attestation of verified properties'
      : result.subjects.includes(policy.digest)
        ? null
        : 'it is about another snapshot');
  if (message !== null)
    throw new CliFailure(EXIT.integrity, fault?.code ?? 'attestation.subject', `\`${shown}\`: ${message}`);
  bundle.add('attestation.dsse.json', bytes);
  addKeys(bundle, 'attestation-keys', ring);
  return result;
}

/** The keys as PEM files, which `openssl` reads, and how many of them must have signed. */
function addKeys(bundle: Bundle, folder: string, { keys, threshold }: Keyring): void {
  bundle.add(`${folder}/threshold`, `${String(threshold)}\n`);
  for (const { publicKey } of keys)
    bundle.add(`${folder}/${keyIdOf(publicKey).replace('sha256:', '')}.pem`, pemOf(publicKey));
}

interface Difference {
  readonly opened: OpenedPolicy;
  readonly folder: string;
  readonly flags: EvidenceFlags;
  readonly activations: LoggedActivations;
  readonly attested: VerificationResult | null;
}

async function addDifference(
  io: CliIo,
  bundle: Bundle,
  { opened, folder, flags, activations, attested }: Difference,
): Promise<void> {
  const before = await openBefore(io, bundle, { folder, flags, activations });
  if (before === null) return;
  const { report, stated } = compareOpened(io, before, opened);
  bundle.add('before.json', before.bytes);
  bundle.add('diff.json', Buffer.concat(Array.from(jsonParts(diffJson(report, stated)), (part) => Buffer.from(part))));
  bundle.add('diff.txt', renderDiff(report, stated, plain));
  if (attested === null || attested.compared === before.policy.digest) return;
  const other = attested.compared === null ? 'with no policy' : `with ${attested.compared}`;
  bundle.missing(
    `who signed what it changed: the attestation compares it ${other}, and before.json is ${before.policy.digest}; make one with \`bailiwick attest --base\`, or name the other policy with --base`,
  );
}

/** The policy that was named, or the one that the log says was in force before; null if there is none to compare with. */
async function openBefore(
  io: CliIo,
  bundle: Bundle,
  { folder, flags, activations: { before } }: Pick<Difference, 'folder' | 'flags' | 'activations'>,
): Promise<OpenedPolicy | null> {
  if (flags.base !== undefined) return openStated(io, await pathOfPolicy(flags.base, folder), 'study');
  const kept = before === null ? null : pathOfSnapshot(folder, before);
  if (kept !== null && (await isKept(kept))) return openStated(io, kept, 'study');
  if (before !== null)
    bundle.missing(
      `what it changed: the log does not keep ${before}, which was in force before; name a policy with --base`,
    );
  return null;
}

async function ringOf(io: CliIo, shown: string | undefined): Promise<Keyring | null> {
  return shown === undefined ? null : asFailure(readKeyring(namedFile(io, shown)));
}

/** Null if it may be absent and is. */
async function bytesOf(
  io: CliIo,
  shown: string,
  { optional }: { readonly optional: boolean },
): Promise<Uint8Array | null> {
  const file = namedFile(io, shown);
  return asFailure((optional ? statementAt(file) : requiredStatement(file)).read());
}
