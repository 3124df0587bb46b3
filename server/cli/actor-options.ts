// The options by which a verb is told who asks and with what credential (design 5). No engine here: help needs none.
import type { Command } from 'commander';

/** What commander makes of them: repeated flags in their order. */
export interface ActorOptions {
  readonly as: readonly string[];
  readonly credentialScopes?: readonly string[];
  readonly restrict?: readonly string[];
}

export function withActorOptions(command: Command): Command {
  return command
    .requiredOption('--as <identity>', 'who asks, as `provider:subject`; repeat it for several identities', collect)
    .option(
      '--credential-scopes <scopes>',
      'the scopes that the credential carries (default: all ten); an empty text is none',
      collect,
    )
    .option(
      '--restrict <namespaces>',
      'the namespaces that the credential is restricted to (default: not at all); an empty text is to none',
      collect,
    );
}

/** For flags that may be repeated. */
function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
