// `bailiwick publish <snapshot>`: makes a snapshot that was verified as a whole, with its statement, the one that
// gateways serve if they share a store or follow a directory.
import { formatInstant, type Policy } from '../../../engine/index.js';
import { eventPolicy } from '../../audit/provenance.js';
import { type SettingFlags, storeOf } from '../../config/index.js';
import { systemClock } from '../../lib/ports.js';
import { storedActivations } from '../../policy/store/activations.js';
import { storedSnapshots } from '../../policy/store/stored-snapshots.js';
import { parseEnvelope, statementAt, statementPathOf } from '../../signing/statement-file.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { type Answer, type CliIo, namedFile } from '../io.js';
import { openStated } from '../open-policy.js';
import { withNamedStore } from '../open-store.js';
import { configOf, formats, STORE_SETTINGS } from '../options.js';
import { type Publication, publishToDirectory } from '../publish-to-directory.js';
import { accountName, makeOperatorRecorder } from '../record-operator.js';
import { linesText } from '../render/text.js';
import { asFailure, requireStatement, statementJson } from '../statement-flags.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<snapshot>': 'snapshot file; it is verified first',
  '--to <folder>': 'directory store, which is created if it does not exist (default: the store of the gateways)',
  '--statement <file>': 'the signed statement (default: `<snapshot>.dsse.json`, if there is one)',
  ...formats(),
});

export const definePublish = verb(TAKES, publish, {
  settings: STORE_SETTINGS,
  examples: {
    'to every gateway on an external PostgreSQL, at once':
      'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick publish snapshot.json',
    'with the statement beside it': 'bailiwick publish snapshot.json --to /srv/policies',
    'a gateway that takes its policy from this directory': 'bailiwick serve --policy-directory /srv/policies',
  },
  json: [
    '{"policy","snapshot","change":"published"|"unchanged","statement":{…}|null} and "directory" with `--to`, else "generation".',
  ],
});

/**
 * Throws `CliFailure`: 2 for wrong flags or files, 6 if it may not follow what is there, 8 if it is not intact, 9 for
 * an expired statement.
 */
async function publish(io: CliIo, { snapshot: path, ...options }: Given<typeof TAKES> & SettingFlags): Promise<Answer> {
  const { to } = options;
  const publication = await asFailure(readPublication(io, path, options));
  const { place, change, ...facts } =
    to === undefined
      ? await intoStore(io, options, publication)
      : { place: to, directory: to, change: await publishToDirectory(io, to, publication) };
  const { policy, signed } = publication;
  const statement = signed === null ? null : statementJson(signed.statement);
  const lines = [
    `${change === 'published' ? 'published to' : 'unchanged in'} ${place}`,
    `snapshot  ${policy.digest}`,
    signed === null
      ? `policy    ${policy.name}, without a signed statement`
      : `policy    ${policy.name} for ${signed.statement.environment}, statement generation ${String(signed.statement.generation)}, until ${formatInstant(signed.statement.expires)}`,
  ];
  return {
    json: () => ({ ...facts, policy: policy.name, snapshot: policy.digest, change, statement }),
    text: () => linesText(lines),
  };
}

/** Throws `CliFailure` and `SigningError`. `statement` is the file that the user named. */
async function readPublication(
  io: CliIo,
  path: string,
  options: { readonly statement?: string },
): Promise<Publication> {
  const { policy, bytes, source } = await openStated(io, path);
  if (source === 'folder') {
    throw usage('a snapshot is published, not a folder', 'compile it first: bailiwick compile <dir> -o snapshot.json');
  }
  const shown = options.statement ?? statementPathOf(path);
  const found = path === '-' && options.statement === undefined ? null : await statementAt(namedFile(io, shown)).read();
  if (found === null && options.statement !== undefined) {
    throw new CliFailure(EXIT.usage, 'file.not_found', `\`${shown}\` does not exist`);
  }
  return { policy, bytes, signed: found === null ? null : aboutThis(policy, found, shown) };
}

/** The gateways judge who has signed it. Here it must be about this snapshot and in force. */
function aboutThis({ name, digest }: Policy, bytes: Uint8Array, shown: string): NonNullable<Publication['signed']> {
  const statement = requireStatement(parseEnvelope(bytes, shown), shown);
  if (statement.snapshot !== digest || statement.policy !== name) {
    const message = `\`${shown}\` is a statement about another snapshot`;
    throw new CliFailure(EXIT.precondition, 'statement.subject', message, { help: 'sign this one first' });
  }
  if (statement.expires > systemClock.now()) return { bytes, statement };
  const message = `the statement \`${shown}\` expired at ${formatInstant(statement.expires)}`;
  throw new CliFailure(EXIT.stale, 'statement.expired', message, { help: 'sign it again with a later expiry' });
}

/** The place has the name that people know. */
interface Stored {
  readonly place: string;
  readonly change: 'published' | 'unchanged';
  readonly generation: number;
}

/**
 * The snapshot once, under its digest, and the activation that all gateways follow. Throws `CliFailure` 6 if the
 * snapshot may not follow what is in force, or if the store cannot be used.
 */
async function intoStore(io: CliIo, options: SettingFlags, { policy, bytes, signed }: Publication): Promise<Stored> {
  const config = await configOf(io, options);
  const named = storeOf(config);
  const store = named.kind === 'embedded' ? `the store in ${named.dataDir}` : 'the external PostgreSQL';
  const done = (change: Stored['change'], generation: number): Stored => ({
    place: `${store}, activation ${String(generation)}`,
    change,
    generation,
  });
  const at = systemClock.now();
  const record = makeOperatorRecorder(at);
  return withNamedStore(io, { config, asItIs: true }, async (db) => {
    const envelope = signed === null ? null : Buffer.from(signed.bytes).toString('utf8');
    // Its labels were checked when it was opened.
    await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: envelope, at });
    const statement = signed === null || envelope === null ? null : { says: signed.statement, envelope, signers: [] };
    const recorded = await storedActivations(db).record(
      { kind: 'offered', policy, statement, reason: 'published', askedBy: `operator ${accountName()}`, at },
      (transaction, generation) =>
        record(transaction, {
          operation: 'snapshot.publish',
          snapshot: policy.digest,
          policy: eventPolicy({ generation, reason: 'published', statement: signed?.statement ?? null }),
        }),
    );
    switch (recorded.kind) {
      case 'recorded':
        return done('published', recorded.generation);
      case 'in_force':
        return done('unchanged', recorded.generation);
      case 'held': {
        const message = `the snapshot was published before, and activation ${String(recorded.newest.generation)} took its place since (${recorded.newest.reason})`;
        const help = `to put it in force again, run \`bailiwick activate ${policy.digest}\` on a gateway`;
        throw new CliFailure(EXIT.precondition, 'snapshot.held', message, { help });
      }
      case 'rollback': {
        const message = `the snapshot is not published: ${recorded.text}`;
        throw new CliFailure(EXIT.precondition, 'snapshot.rollback_refused', message);
      }
      case 'superseded':
        throw new TypeError('a publication was superseded, although none can be');
    }
  });
}
