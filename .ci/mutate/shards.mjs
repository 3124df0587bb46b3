// What is mutated, and the files of tests that must notice: those that start no child processes, the quick ones that
// notice most first.
const DECISIONS = [
  'engine/conformance',
  'engine/delegation',
  'engine/table',
  'engine/reentry',
  'engine/scope-patterns',
  'engine/evaluate-properties',
];

export const SHARDS = {
  'engine/evaluate': { tests: [...DECISIONS, 'engine/plain-javascript', 'engine/first-instant'] },
  'server/query/row-predicate.ts': { tests: ['server/query/row-predicate', 'server/query/statements'] },
  'engine/table': { tests: [...DECISIONS, 'engine/table-hashes', 'engine/first-instant'] },
  'server/auth': {
    tests: [
      'server/auth/places',
      'server/auth/key-text',
      'server/auth/request-actor',
      'server/auth/token-claims',
      'server/auth/revocations',
      'server/auth/signed-tokens',
      'server/auth/issuer-keys',
      'server/auth/introspection',
      'server/auth/certificates',
      'server/auth/credentials',
    ],
  },
  'engine/snapshot': {
    tests: [
      'engine/snapshot-canonical',
      'engine/below',
      'engine/snapshot',
      'engine/snapshot-fields',
      'engine/snapshot-checks',
      'engine/snapshot-windows',
      'engine/snapshot-digests',
      'engine/conformance',
    ],
  },
  'server/commands': {
    tests: ['records', 'copies', 'namespaces', 'batches', 'idempotency'].map((name) => `server/commands/${name}`),
  },
  'server/audit': {
    tests: ['event', 'outbox', 'writer', 'checkpoints', 'trail', 'log'].map((name) => `server/audit/${name}`),
  },
};
