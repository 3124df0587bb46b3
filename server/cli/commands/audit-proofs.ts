// `bailiwick audit checkpoint|prove|check-proof`: signed heads of the log, and proofs of single events (docs/proofs.md).
import { type Command } from 'commander';
import { FOLDER, LOG_SETTINGS } from '../audit-log.js';
import type { CliIo } from '../io.js';
import { formatOption, requiredOption, withExamples, withJson, withSettings } from '../options.js';
import type { CheckpointFlags, CheckProofFlags, ProveFlags } from '../prove-audit.js';

export function defineProofs(audit: Command, io: CliIo): void {
  defineCheckpoint(audit, io);
  defineProve(audit, io);
  defineCheckProof(audit, io);
}

function withLog(command: Command): Command {
  return command
    .option('--key <file>', 'private key of `keygen` (default: `audit.signingKey` of the settings)')
    .option('--log <log>', 'which log, if the folder has several')
    .option('--archive <folder>', 'where older files were moved to')
    .option('-o, --output <file>', 'file to write (default: stdout)');
}

function defineCheckpoint(audit: Command, io: CliIo): void {
  const command = audit
    .command('checkpoint')
    .description('sign the number of events in the log and their hash: keep the result where it cannot be changed')
    .argument('[folder]', FOLDER);
  withLog(command)
    .addOption(formatOption())
    .action(async (folder: string | undefined, options: CheckpointFlags) => {
      await (await import('../prove-audit.js')).checkpointCommand(io, folder, options);
    });
  withSettings(command, LOG_SETTINGS);
  withExamples(command, [
    ['a checkpoint to keep', 'bailiwick audit checkpoint --key audit.key -o monday.checkpoint'],
    [
      'whether the log only grew since',
      'bailiwick audit verify --checkpoint monday.checkpoint --public-key audit.key.pub',
    ],
  ]);
  withJson(command, ['{"log", "size", "root", "verifierKey", "checkpoint"}']);
}

function defineProve(audit: Command, io: CliIo): void {
  const command = audit
    .command('prove')
    .description('write a proof that one event is in the log; checking it needs no other event')
    .argument('<seq>', 'number of the event')
    .argument('[folder]', FOLDER);
  withLog(command)
    .option('--checkpoint <file>', 'checkpoint that was signed before (default: a new one)')
    .addOption(formatOption())
    .action(async (seq: string, folder: string | undefined, options: ProveFlags) => {
      await (await import('../prove-audit.js')).proveCommand(io, { seq, given: folder }, options);
    });
  withSettings(command, LOG_SETTINGS);
  withExamples(command, [
    ['event 1204, for an auditor', 'bailiwick audit prove 1204 --key audit.key -o 1204.tlog-proof'],
    [
      'in a checkpoint that the auditor has',
      'bailiwick audit prove 1204 --checkpoint monday.checkpoint -o 1204.tlog-proof',
    ],
  ]);
  withJson(command, ['{"log", "seq", "size", "proof"}']);
}

function defineCheckProof(audit: Command, io: CliIo): void {
  const command = audit
    .command('check-proof')
    .description('check a proof without the log, and print its event; exit with 8 if it proves nothing')
    .argument('<file>', 'the proof')
    .addOption(requiredOption('--public-key <file>', 'public key of the log, as `keygen` wrote it with `.pub`'))
    .addOption(formatOption())
    .action(async (file: string, options: CheckProofFlags) => {
      await (await import('../prove-audit.js')).checkProofCommand(io, file, options);
    });
  withExamples(command, [
    ['the event of a proof', 'bailiwick audit check-proof 1204.tlog-proof --public-key audit.key.pub'],
  ]);
  withJson(command, ['{"ok": true, "log", "size", "event"}']);
}
