// `bailiwick publish <snapshot>`: makes a snapshot that was verified as a whole, with its statement, the one that
// gateways serve if they share a store or follow a directory.
import type { Command } from 'commander';
import { formatInstant } from '../../../engine/index.js';
import { type CliIo, write, writeJson } from '../io.js';
import { type SettingFlags, storeOf } from '../../config/index.js';
import { configOf, type Format, formatOption, withExamples, withJson, withSettings } from '../options.js';
import { publishToDirectory } from '../publish-to-directory.js';
import { publishToStore } from '../publish-to-store.js';
import { type Publication, readPublication } from '../read-publication.js';
import { escapeText } from '../render/escape.js';
import { asFailure, statementJson } from '../statement-flags.js';

export function definePublish(command: Command, io: CliIo): void {
  command
    .argument('<snapshot>', 'snapshot file; it is verified first')
    .option('--to <folder>', 'directory store, which is made where there is none (default: the store of the gateways)')
    .option('--statement <file>', 'the signed statement (default: `<snapshot>.dsse.json`, if there is one)')
    .addOption(formatOption())
    .action((snapshot: string, options: PublishOptions) => publish(io, snapshot, options));
  withSettings(command, ['config', 'dataDir', 'databaseUrl']);
  withExamples(command, [
    [
      'to every gateway on an external PostgreSQL, at once',
      'DATABASE_URL=postgres://bailiwick@db.example.org/bailiwick bailiwick publish snapshot.json',
    ],
    ['with the statement beside it', 'bailiwick publish snapshot.json --to /srv/policies'],
    ['what gateways follow from then on', 'bailiwick serve --policy-directory /srv/policies'],
  ]);
  withJson(command, [
    '{"policy","snapshot","change":"published"|"unchanged","statement":{…}|null} and "directory" with `--to`, else "generation".',
  ]);
}

interface PublishOptions extends SettingFlags {
  readonly to?: string;
  readonly statement?: string;
  readonly format: Format;
}

/**
 * Throws `CliFailure`: 2 for wrong flags or files, 6 if it may not follow what is there, 8 if it is not intact, 9 for
 * an expired statement.
 */
async function publish(io: CliIo, path: string, options: PublishOptions): Promise<void> {
  const { to } = options;
  const publication = await asFailure(readPublication(io, path, options));
  const { place, change, ...facts } = await (to === undefined
    ? intoStore(io, options, publication)
    : intoDirectory(io, to, publication));
  const { policy, signed } = publication;
  if (options.format === 'json') {
    await writeJson(io, {
      ...facts,
      policy: policy.name,
      snapshot: policy.digest,
      change,
      statement: signed === null ? null : statementJson(signed.statement),
    });
    return;
  }
  const lines = [
    `${change === 'published' ? 'published to' : 'unchanged in'} ${escapeText(place)}`,
    `snapshot  ${policy.digest}`,
    signed === null
      ? `policy    ${policy.name}, without a signed statement`
      : `policy    ${policy.name} for ${signed.statement.environment}, statement generation ${String(signed.statement.generation)}, until ${formatInstant(signed.statement.expires)}`,
  ];
  await write(io.stdout, `${lines.join('\n')}\n`);
}

interface Done {
  /** The name that people know. */
  readonly place: string;
  readonly change: 'published' | 'unchanged';
  readonly directory?: string;
  readonly generation?: number;
}

async function intoDirectory(io: CliIo, directory: string, publication: Publication): Promise<Done> {
  return { place: directory, directory, change: await publishToDirectory(io, directory, publication) };
}

async function intoStore(io: CliIo, options: PublishOptions, publication: Publication): Promise<Done> {
  const config = await configOf(io, options);
  const { change, generation } = await publishToStore(io, config, publication);
  const store = storeOf(config);
  const name = store.kind === 'embedded' ? `the store in ${store.dataDir}` : 'the external PostgreSQL';
  return { place: `${name}, activation ${String(generation)}`, change, generation };
}
