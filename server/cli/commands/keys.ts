// `bailiwick keys create|list|revoke`: API keys in the store, also while the gateway runs (docs/credentials.md "API keys").
import { type Command, Option } from 'commander';
import type { CliIo } from '../io.js';
import type { KeyFlags, KeysOptions } from '../manage-keys.js';
import { collect, formatOption, requiredOption, RuledOption, withExamples, withStore } from '../options.js';

export function defineKeys(command: Command, io: CliIo): void {
  defineCreate(command, io);
  defineList(command, io);
  defineRevoke(command, io);
  withExamples(command, [
    [
      'a key that may read resources in one lab, until July 2027',
      'bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097 --credential-scopes resource:read --restrict /labs/optics --expires 2027-07-01T00:00:00Z',
    ],
    ['all keys', 'bailiwick keys list'],
    ['revoke one', 'bailiwick keys revoke 4h7t2m9xk3q8w5zc'],
  ]);
}

function defineCreate(keys: Command, io: CliIo): void {
  const command = keys
    .command('create')
    .description('create a key and print it once; only its hash is stored')
    .addOption(requiredOption('--actor <id>', 'name of the actor, used in logs and cursors'))
    .addOption(
      requiredOption(
        '--identity <provider:subject>',
        'identity whose grants the key uses; repeat for more (optional with --person; not with --admin, --monitor or --decide)',
        'admin',
        'monitor',
        'decide',
        'person',
      ).argParser(collect),
    )
    .addOption(
      new RuledOption(
        '--person <name>',
        'person of the policy whose identities the key has; needs `--policy`',
      ).excluding('admin', 'monitor', 'decide'),
    )
    .addOption(
      new Option(
        '--credential-scopes, --scope <scope>',
        'scopes that the key carries, also of families of the policy, such as `invoice:approve`; repeat, or join with commas (default: every scope)',
      ).argParser(collect),
    )
    .addOption(new RuledOption('--scope-none', 'the key carries no scope at all').excluding('scope'))
    .addOption(
      new Option(
        '--restrict <namespace>',
        'namespaces that the key is limited to, with those below; repeat, or join with commas (default: unlimited)',
      ).argParser(collect),
    )
    .addOption(new RuledOption('--restrict-none', 'the key reaches no namespace at all').excluding('restrict'))
    .option('--expires <instant>', 'time from which the key is no longer valid, as in 2027-06-30T00:00:00Z')
    .addOption(
      new RuledOption(
        '--admin',
        'make an admin key: it opens only the admin listener, and takes no identities, scopes or namespaces',
      ).excluding('identity', 'scope', 'scopeNone', 'restrict', 'restrictNone', 'monitor'),
    )
    .addOption(
      new RuledOption(
        '--monitor',
        'make a key for monitoring: it opens `/metrics` and the status of the admin listener, and nothing else',
      ).excluding('identity', 'scope', 'scopeNone', 'restrict', 'restrictNone'),
    )
    .addOption(
      new RuledOption(
        '--decide',
        'make a key that asks what others may do, within its scopes and namespaces; it has no identities',
      ).excluding('identity', 'admin', 'monitor'),
    )
    .option(
      '--policy <path>',
      'policy to check the identities against: an unknown identity is a warning; identities of different people, or identities that exclude each other, are refused',
    )
    .addOption(formatOption())
    .action(async (options: KeysOptions & KeyFlags) => {
      await (await import('../manage-keys.js')).createKeyCommand(io, options);
    });
  withStore(command);
  withExamples(command, [
    [
      'everything that the grants of one person allow',
      'bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097',
    ],
    [
      'narrowed: two scopes, one lab, until July',
      'bailiwick keys create --actor ci --identity github:ci-bot --credential-scopes resource:read,resource-template:read --restrict /labs/optics --expires 2027-07-01T00:00:00Z',
    ],
    ['for Prometheus, on an admin listener beyond loopback', 'bailiwick keys create --actor prometheus --monitor'],
    [
      'for a service that asks what others may do in one lab',
      'bailiwick keys create --actor portal --decide --credential-scopes resource:read --restrict /labs/optics',
    ],
    [
      'into a variable: the key alone is on stdout',
      'KEY=$(bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097)',
    ],
  ]);
}

function defineList(keys: Command, io: CliIo): void {
  const command = keys
    .command('list')
    .description('list all keys, oldest first, without secrets')
    .addOption(formatOption())
    .action(async (options: KeysOptions) => {
      await (await import('../manage-keys.js')).listKeysCommand(io, options);
    });
  withStore(command);
  withExamples(command, [
    ['keys that were never used', "bailiwick keys list --format json | jq '.keys[] | select(.lastUsedAt == null)'"],
  ]);
}

function defineRevoke(keys: Command, io: CliIo): void {
  const command = keys
    .command('revoke')
    .description('revoke a key: the next request with it is refused')
    .argument('<key-id>', 'as `keys list` shows it: the part between `bwk_` and the next `_`')
    .addOption(formatOption())
    .action(async (id: string, options: KeysOptions) => {
      await (await import('../manage-keys.js')).revokeKeyCommand(io, id, options);
    });
  withStore(command);
  withExamples(command, [['one key', 'bailiwick keys revoke 4h7t2m9xk3q8w5zc']]);
}
