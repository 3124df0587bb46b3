// What is mutated, and the files of tests that must notice: those that start no child processes, the quick ones that
// notice most first. A file with an entry of its own is not part of its folder.
const STEPS = ['each-step', 'reentry', 'plain-javascript', 'credential-scopes', 'many-holdings'].map(
  (name) => `engine/${name}`,
);
const DECISIONS = [
  ...STEPS,
  'engine/first-instant',
  'engine/visible-difference',
  'engine/conformance',
  'engine/doors',
  'engine/evaluate-properties',
  'engine/table',
];

export const SHARDS = {
  'engine/evaluate': { tests: STEPS },
  'engine/evaluate/open-snapshot.ts': { tests: ['engine/each-step', 'engine/table-file', 'engine/loaded-again'] },
  'engine/evaluate/table-file.ts': { tests: ['engine/table-file'] },
  'engine/evaluate/visible-difference.ts': { tests: ['engine/visible-difference'] },
  'server/query/row-predicate.ts': { tests: ['server/query/row-predicate', 'server/query/statements'] },
  'engine/table': {
    tests: [
      ...['slots', 'steps', 'scope-numbers', 'own-scopes', 'columns', 'cite', 'example', 'kept', 'locate', 'merge'].map(
        (name) => `engine/table/${name}`,
      ),
      ...['engine/table-file', 'engine/first-instant'],
      ...DECISIONS,
    ],
  },
  'server/auth': {
    tests: [
      'server/auth/authenticator',
      'server/auth/shown-key',
      'server/auth/socket-authenticator',
      'server/auth/client-secret',
      'server/auth/resolved-actors',
      'server/auth/authenticators',
      'server/auth/public-keys',
      'server/auth/key-leases',
      'server/auth/api-keys',
      'server/auth/key-authenticator',
      'server/auth/introspection-authenticator',
      'server/auth/key-reader',
      'server/auth/oidc-authenticator',
      'server/auth/revocation-news',
      'server/auth/compact-token',
      'server/auth/admin-actor',
      'server/auth/anonymous',
      'server/auth/local-authenticator',
      'server/auth/places',
      'server/auth/key-text',
      'server/auth/new-key',
      'server/auth/request-actor',
      'server/auth/token-claims',
      'server/auth/claims-at-their-limits',
      'server/auth/revocations',
      'server/auth/signed-tokens',
      'server/auth/issuer-keys',
      'server/auth/introspection',
      'server/auth/certificates',
      'server/audit/event',
      'server/http/resolved-actors',
      'server/auth/keys-read-together',
      'server/auth/credentials',
      'cli/keys',
      'gateway/public-reader',
      'server/http/admin-listener',
    ],
  },
  'engine/snapshot': {
    tests: [
      'engine/snapshot-canonical',
      'engine/snapshot-refusals',
      'engine/below',
      'engine/snapshot',
      'engine/snapshot-fields',
      'engine/checks-form',
      'engine/snapshot-checks',
      'engine/snapshot-windows',
      'engine/snapshot-digests',
      'engine/conformance',
    ],
  },
  'server/commands': {
    tests: [
      ...['records', 'copies', 'moves-and-deletions', 'slots', 'template-words', 'template-changes', 'versions'],
      ...['unique-names', 'mendable-answers', 'blind-writes', 'namespaces', 'batches', 'idempotency'],
    ].map((name) => `server/commands/${name}`),
  },
  'server/audit/archived-files.ts': { tests: ['server/audit/archived-files'] },
  'server/audit/chain.ts': { tests: ['server/audit/chain'] },
  'server/audit/check-chain.ts': { tests: ['server/audit/chain'] },
  'server/audit/checkpoint.ts': { tests: ['server/signing/merkle'] },
  'server/audit/cite.ts': { tests: ['server/audit/cite'] },
  'server/audit/event-key.ts': { tests: ['server/audit/event'] },
  'server/audit/event.ts': { tests: ['server/audit/event'] },
  'server/audit/golomb-set.ts': { tests: ['server/audit/golomb-set'] },
  'server/audit/provenance.ts': { tests: ['server/audit/event'] },
  'server/audit': {
    tests: [
      ...['event', 'outbox', 'writer', 'checkpoints', 'trail', 'log', 'documented'].map(
        (name) => `server/audit/${name}`,
      ),
      ...['audit-query', 'audit-verify', 'audit-archive'].map((name) => `cli/${name}`),
      ...['replay', 'provenance', 'audit-for-admins'].map((name) => `gateway/${name}`),
    ],
  },
};
