// `bailiwick sign <snapshot>`: a signed statement beside a snapshot, or one more signature of it (engine/README.md
// "Publication statements").
import { type Command, Option } from 'commander';
import type { CliIo } from '../io.js';
import { formatOption, withExamples, requiredOption } from '../options.js';
import type { SignOptions } from '../sign-snapshot.js';

export function defineSign(command: Command, io: CliIo): void {
  command
    .argument('<snapshot>', 'snapshot file (`-` is stdin); it is verified whole first')
    .addOption(requiredOption('--key <file>', 'private key of `bailiwick keygen`, readable by its owner alone'))
    .option('--environment <name>', 'where the snapshot may serve, such as `production`')
    .option('--generation <number>', 'rises with each publication')
    .option('--expires <instant>', 'the statement counts until then, as in 2027-06-30T00:00:00Z')
    .option('--issued <instant>', 'when it was issued (default: now, or as in the statement that is signed once more)')
    .addOption(new Option('--at <instant>').hideHelp().conflicts('issued'))
    .addOption(
      new Option('--add <statement>', 'sign this statement as it stands: every field is taken from it').conflicts([
        'environment',
        'generation',
        'expires',
        'issued',
        'at',
        'output',
        'replace',
      ]),
    )
    .option('--replace', 'put the statement in the place of one that says something else, and drop its signatures')
    .option('-o, --output <file>', 'where the statement goes; `-` is stdout (default: `<snapshot>.dsse.json`)')
    .addOption(formatOption())
    .action(async (snapshot: string, options: SignOptions) => {
      await (await import('../sign-snapshot.js')).signSnapshot(io, snapshot, options);
    });
  withExamples(command, [
    [
      'for production, until July',
      'bailiwick sign snapshot.json --key release.key --environment production --generation 7 --expires 2027-07-01T00:00:00Z',
    ],
    [
      'a second signature: the same statement, another key',
      'bailiwick sign snapshot.json --key ana.key --add snapshot.json.dsse.json',
    ],
  ]);
}
