// What is mutated, and the files of tests that must notice: those that start no child processes, the quick ones that
// notice most first.
const DECISIONS = [
  'engine/reentry',
  'engine/plain-javascript',
  'engine/credential-scopes',
  'engine/first-instant',
  'engine/delegation',
  'engine/visible-difference',
  'engine/many-holdings',
  'engine/conformance',
];

export const SHARDS = {
  'engine/evaluate': { tests: DECISIONS },
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
      'server/auth/key-reader',
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
