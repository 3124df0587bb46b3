// `bailiwick import <kind> <files…> -o <folder>`: the rules of another tool as a policy, with a list of the rules that were not imported, and a proof.
import { Argument, type Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import type { ImportFlags, ImportKind } from '../import-policy.js';
import type { CliIo } from '../io.js';
import { formatOption, requiredOption, withExamples, withJson } from '../options.js';

const KINDS: readonly ImportKind[] = ['kubernetes', 'github', 'casbin', 'openfga'];

export function defineImport(command: Command, io: CliIo): void {
  command
    .addArgument(new Argument('<kind>', 'whose rules they are').choices(KINDS))
    .argument('<files...>', 'files with rules')
    .addOption(requiredOption('-o, --output <folder>', 'new folder for the policy'))
    .option('--name <name>', 'name of the policy (default: the name of the folder)')
    .option(
      '--exit-code',
      `end with ${String(EXIT.differences)} if a rule was not imported; the policy is written anyway`,
    )
    .addOption(formatOption())
    .action(async (kind: ImportKind, files: readonly string[], options: ImportFlags) => {
      await (await import('../import-policy.js')).importPolicy(io, { kind, files }, options);
    });
  withExamples(command, [['the RBAC of a cluster', 'bailiwick import kubernetes rbac/*.yaml -o policies']]);
  withJson(command, [
    '{"ok","kind","policy","snapshot","folder","files":[path],"counts":{"rules","families","roles","grants"},',
    '"unsaid":[{"file","line","rule","why"}],"notes":[text],"proof":{"questions","agreed","allowed"},"error"?}',
    '`unsaid`: each rule, or part of one, that was not imported. If the two sides disagree, nothing is written,',
    'and "disagreements":[{"question","scope","namespace","identities","source","policy"}] has the first ones.',
  ]);
}
