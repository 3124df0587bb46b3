// `bailiwick publish <snapshot> --to <directory>`: a snapshot that was verified whole, with its statement, becomes what gateways that
// follow the directory serve.
import type { Command } from 'commander';
import { formatInstant } from '../../../engine/index.js';
import { type CliIo, write, writeJson } from '../io.js';
import { type Format, formatOption, requiredOption, withExamples, withJson } from '../options.js';
import { publishToDirectory } from '../publish-to-directory.js';
import { readPublication } from '../read-publication.js';
import { escapeText } from '../render/escape.js';
import { asFailure, statementJson } from '../statement-flags.js';

export function definePublish(command: Command, io: CliIo): void {
  command
    .argument('<snapshot>', 'snapshot file; it is verified first')
    .addOption(requiredOption('--to <folder>', 'directory store, which is made where there is none'))
    .option('--statement <file>', 'the signed statement (default: `<snapshot>.dsse.json`, if there is one)')
    .addOption(formatOption())
    .action((snapshot: string, options: Options) => publish(io, snapshot, options));
  withExamples(command, [
    ['with the statement beside it', 'bailiwick publish snapshot.json --to /srv/policies'],
    ['what gateways follow from then on', 'bailiwick serve --policy-directory /srv/policies'],
  ]);
  withJson(command, [
    '{"directory","policy","snapshot","change":"published"|"unchanged","statement":{…}|null}: the statement as it was signed.',
  ]);
}

interface Options {
  readonly to: string;
  readonly statement?: string;
  readonly format: Format;
}

/** Throws `CliFailure`: 2 wrong flags or files, 6 what may not follow what is there, 8 what is not intact, 9 an expired statement. */
async function publish(io: CliIo, path: string, options: Options): Promise<void> {
  const publication = await asFailure(readPublication(io, path, options));
  const change = await publishToDirectory(io, options.to, publication);
  const { policy, signed } = publication;
  if (options.format === 'json') {
    await writeJson(io, {
      directory: options.to,
      policy: policy.name,
      snapshot: policy.digest,
      change,
      statement: signed === null ? null : statementJson(signed.statement),
    });
    return;
  }
  const lines = [
    `${change === 'published' ? 'published to' : 'unchanged in'} ${escapeText(options.to)}`,
    `snapshot  ${policy.digest}`,
    signed === null
      ? `policy    ${policy.name}, without a signed statement`
      : `policy    ${policy.name} for ${signed.statement.environment}, generation ${String(signed.statement.generation)}, until ${formatInstant(signed.statement.expires)}`,
  ];
  await write(io.stdout, `${lines.join('\n')}\n`);
}
