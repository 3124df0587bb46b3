// `bailiwick keys create|list|revoke`: API keys in the store, also while the gateway runs (docs/credentials.md "API keys").
import { formats, STORE_SETTINGS } from '../options.js';
import { CREATE, REVOKE } from '../takes/keys.js';
import { group, verb } from '../verb.js';

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
