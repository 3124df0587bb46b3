// `bailiwick replay`: repeats every recorded decision, on its own snapshot and on another policy (docs/audit.md
// "Replaying").
import type { Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import type { CliIo } from '../io.js';
import { formatOption, withExamples, withJson, withSettings } from '../options.js';
import type { ReplayFlags } from '../replay-log.js';
import { withSearch } from './audit.js';

export function defineReplay(command: Command, io: CliIo): void {
  withSearch(command)
    .option('--against <policy>', 'also decide by this policy folder or snapshot, and list what it would change')
    .option('--exit-code', `end with ${String(EXIT.differences)} if that changes anything`)
    .addOption(formatOption())
    .action(async (folder: string | undefined, options: ReplayFlags) => {
      await (await import('../replay-log.js')).replayCommand(io, folder, options);
    });
  withSettings(command, ['config', 'dataDir']);
  withExamples(command, [
    ['whether each decision is what its snapshot gives', 'bailiwick replay'],
    [
      'what a new policy would have changed in September',
      'bailiwick replay --against policies --since 2026-09-01T00:00:00Z',
    ],
    [
      'the people who would lose something',
      `bailiwick replay --against policies | awk '/becomes deny/ { print $2 }' | sort -u`,
    ],
  ]);
  withJson(command, [
    'one line for each event: {"log", "seq", "recorded", "own", "against"?, "reason"?}, each of the three null or',
    '{"decision": "allow" | "deny", "step"?, "cause"?, "grants"?, "grantsOmitted"?, "visibility"?}.',
    '`reason` says why a decision was not repeated: authentication, undecided, snapshot_missing, snapshot_damaged, malformed.',
  ]);
}
