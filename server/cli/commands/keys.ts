// `bailiwick keys create|list|revoke`: API keys in the store, also while the gateway runs (docs/credentials.md "API keys").
import { formats, STORE_SETTINGS } from '../options.js';
import { excluding, group, repeated, required, takes, verb } from '../verb.js';

/** What only a key for data has. */
const OF_DATA = ['identity', 'scope', 'scopeNone', 'restrict', 'restrictNone'];

const CREATE = takes({
  '--actor <id>': required('name of the actor, used in logs and cursors'),
  '--identity <provider:subject>': {
    ...required(
      'identity whose grants the key uses; repeat for more (optional with --person; not with --admin, --monitor or --decide)',
      'admin',
      'monitor',
      'decide',
      'person',
    ),
    repeated: true,
  },
  '--person <name>': excluding(
    'person of the policy whose identities the key has; needs `--policy`',
    'admin',
    'monitor',
    'decide',
  ),
  '--credential-scopes, --scope <scope>': repeated(
    'scopes that the key carries, also of families of the policy, such as `invoice:approve`; repeat, or join with commas (default: every scope)',
  ),
  '--scope-none': excluding('the key carries no scope at all', 'scope'),
  '--restrict <namespace>': repeated(
    'namespaces that the key is limited to, with those below; repeat, or join with commas (default: unlimited)',
  ),
  '--restrict-none': excluding('the key reaches no namespace at all', 'restrict'),
  '--expires <instant>': 'time from which the key is no longer valid, as in 2027-06-30T00:00:00Z',
  '--admin': excluding(
    'make an admin key: it opens only the admin listener, and takes no identities, scopes or namespaces',
    ...OF_DATA,
    'monitor',
  ),
  '--monitor': excluding(
    'make a key for monitoring: it opens `/metrics` and the status of the admin listener, and nothing else',
    ...OF_DATA,
  ),
  '--decide': excluding(
    'make a key that asks what others may do, within its scopes and namespaces; it has no identities',
    'identity',
    'admin',
    'monitor',
  ),
  '--policy <path>':
    'policy to check the identities against: an unknown identity is a warning; identities of different people, or identities that exclude each other, are refused',
  ...formats(),
});

const create = verb(CREATE, async (io, given) => (await import('../manage-keys.js')).createKeyCommand(io, given), {
  description: 'create a key and print it once; only its hash is stored',
  settings: STORE_SETTINGS,
  examples: {
    'everything that the grants of one person allow':
      'bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097',
    'narrowed: two scopes, one lab, until July':
      'bailiwick keys create --actor ci --identity github:ci-bot --credential-scopes resource:read,resource-template:read --restrict /labs/optics --expires 2027-07-01T00:00:00Z',
    'for Prometheus, on an admin listener beyond loopback': 'bailiwick keys create --actor prometheus --monitor',
    'for a service that asks what others may do in one lab':
      'bailiwick keys create --actor portal --decide --credential-scopes resource:read --restrict /labs/optics',
    'into a variable: the key alone is on stdout':
      'KEY=$(bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097)',
  },
});

const LIST = formats();

const list = verb(LIST, async (io, given) => (await import('../manage-keys.js')).listKeysCommand(io, given), {
  description: 'list all keys, oldest first, without secrets',
  settings: STORE_SETTINGS,
  examples: {
    'keys that were never used': "bailiwick keys list --format json | jq '.keys[] | select(.lastUsedAt == null)'",
  },
});

const REVOKE = takes({ '<key-id>': 'as `keys list` shows it: the part between `bwk_` and the next `_`', ...formats() });

const revoke = verb(REVOKE, async (io, given) => (await import('../manage-keys.js')).revokeKeyCommand(io, given), {
  description: 'revoke a key: the next request with it is refused',
  settings: STORE_SETTINGS,
  examples: { 'one key': 'bailiwick keys revoke 4h7t2m9xk3q8w5zc' },
});

export const defineKeys = group({
  verbs: { create, list, revoke },
  examples: {
    'a key that may read resources in one lab, until July 2027':
      'bailiwick keys create --actor ana --identity orcid:0000-0002-1825-0097 --credential-scopes resource:read --restrict /labs/optics --expires 2027-07-01T00:00:00Z',
    'all keys': 'bailiwick keys list',
    'revoke one': 'bailiwick keys revoke 4h7t2m9xk3q8w5zc',
  },
});
