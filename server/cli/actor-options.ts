// The options by which a verb is told who asks and with what credential (design 5). No engine here: help needs none.
import type { Command } from 'commander';
import { collect, requiredOption } from './options.js';

/** What commander makes of them: repeated flags in their order. */
export interface ActorOptions {
  readonly as: readonly string[];
  readonly credentialScopes?: readonly string[];
  readonly restrict?: readonly string[];
}

export function withActorOptions(command: Command): Command {
  return command
    .addOption(
      requiredOption('--as <identity>', 'who asks, as `provider:subject`; repeat it for several identities').argParser(
        collect,
      ),
    )
    .option('--credential-scopes <scopes>', 'scopes the credential carries (default: all ten; "" for none)', collect)
    .option(
      '--restrict <namespaces>',
      'namespaces the credential is limited to (default: unlimited; "" for none)',
      collect,
    );
}
