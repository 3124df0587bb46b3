// What `keys create` and `keys revoke` take.
import { formats } from '../options.js';
import { excluding, repeated, required, takes } from '../verb.js';

/** What only a key for data has. */
const OF_DATA = ['identity', 'scope', 'scopeNone', 'restrict', 'restrictNone'];

export const CREATE = takes({
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

export const REVOKE = takes({
  '<key-id>': 'as `keys list` shows it: the part between `bwk_` and the next `_`',
  ...formats(),
});
