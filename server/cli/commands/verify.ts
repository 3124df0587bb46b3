// `bailiwick verify <snapshot>`: whether a snapshot is whole, and with a keyring whether it was published (design 4).
import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { formatOption, withExamples, withJson } from '../options.js';
import type { VerifyOptions } from '../verify-snapshot.js';

export function defineVerify(command: Command, io: CliIo): void {
  command
    .argument(
      '<snapshot>',
      'snapshot file (`-` is stdin); with --keyring and --statement also the policy folder that it should come from',
    )
    .option('--keyring <file>', 'public keys to believe, and how many of them are needed')
    .option('--statement <file>', 'the signed statement (default: `<snapshot>.dsse.json`)')
    .option('--environment <name>', 'it must be for this environment')
    .option('--minimum-generation <number>', 'it must be of this generation or a later one')
    .option('--at <instant>', 'it must be in force then, as in 2027-01-01T00:00:00Z (default: now)')
    .addOption(formatOption())
    .action(async (snapshot: string, options: VerifyOptions) => {
      await (await import('../verify-snapshot.js')).verifySnapshot(io, snapshot, options);
    });
  withExamples(command, [
    ['is the file whole?', 'bailiwick verify snapshot.json'],
    [
      'may it serve in production?',
      'bailiwick verify snapshot.json --keyring keyring.yaml --environment production --minimum-generation 7',
    ],
    [
      'is what serves what was reviewed? The folder must compile to the very bytes that were signed',
      'bailiwick verify policies --keyring keyring.yaml --statement snapshot.json.dsse.json',
    ],
  ]);
  withJson(command, [
    '{"ok","policy","snapshot","decisions","signatures":[{"keyId","name","ok","reason"?}],"statement"?,',
    '"threshold"?,"faults"?:[{"code","message"}],"error"?}: threshold and faults with --keyring only, error is the first fault.',
    'Of a file that is no whole snapshot: "ok", "signatures", "file", "sha256", "error". What cannot be judged is not ok.',
  ]);
}
