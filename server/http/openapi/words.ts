// What an API's description says about the things that routes have in common: kinds of access, parts of a path,
// headers.
import type { JsonSchema } from '../../api/schema.js';
import { namespacePath } from '../../api/record-schema.js';
import type { AnswerHeader, NamedHeader, Route } from '../route.js';

interface Kind {
  /** The heading under which such routes are listed. */
  readonly tag: string;
  readonly about: string;
}

export const ACCESS: Readonly<Record<Route['access'], Kind>> = Object.freeze({
  visibility: {
    tag: 'Reading',
    about: 'Decided before anything is read. The answer holds what the actor may see and nothing else.',
  },
  record: {
    tag: 'Reading',
    about:
      'Decided at the namespace of the record. A record that the actor may not read gets the answer of one that does not exist.',
  },
  command: { tag: 'Writing', about: 'Decided in the transaction that writes.' },
  self: { tag: 'The actor', about: 'Every actor may ask this about itself.' },
  ask: {
    tag: 'Asking about others',
    about: 'For keys with the right to ask. Outside the scopes and restrictions of the key every answer is no.',
  },
  health: { tag: 'Health', about: 'Needs no credential and no `Host`; HEAD is answered, too.' },
  public: { tag: 'Documents', about: 'Needs no credential and says the same to everybody.' },
  status: {
    tag: 'Administration',
    about:
      'Needs no credential on a listener that only its own machine reaches; else an admin key or one for monitoring, or the admin socket.',
  },
  admin: { tag: 'Administration', about: 'Needs an admin key, or comes through the admin socket.' },
});

/** In the order in which they are shown. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = Object.freeze([
  { name: 'Reading', description: 'Records that the actor may see.' },
  { name: 'Writing', description: 'Changes. Each is decided and recorded before it is answered.' },
  { name: 'The actor', description: 'Who the caller is to the gateway, and what that actor may do.' },
  { name: 'Asking about others', description: 'What the policy says about others, for services that ask.' },
  { name: 'Administration', description: 'Policies, state and keys of a gateway, on its admin listener.' },
  { name: 'Health', description: 'Whether the gateway can do its work, for supervisors and load balancers.' },
  { name: 'Documents', description: 'This description.' },
]);

interface Word {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example: string;
}

const text: JsonSchema = Object.freeze({ type: 'string' });

/** The open parts of paths. */
export const PATH_PARTS: ReadonlyMap<string, Word> = new Map([
  [
    'id',
    {
      description: 'The id of the record or of the key, or the digest of the snapshot.',
      schema: { type: 'string', pattern: '^[^/]+$' },
      example: '01900000-0000-7000-8000-000000000000',
    },
  ],
  [
    'path',
    {
      description: 'The path of a namespace, with the slash that it begins with. Slashes may be encoded as `%2F`.',
      schema: namespacePath,
      example: '/beamlines/amx',
    },
  ],
]);

export const REQUEST_HEADERS: Readonly<Record<NamedHeader, Word & { readonly name: string }>> = Object.freeze({
  'if-match': {
    name: 'If-Match',
    description: 'The `ETag` of the revision that is to be changed.',
    schema: { type: 'string', pattern: String.raw`^"[\x21\x23-\x7e]*"$` },
    example: '"1"',
  },
  'idempotency-key': {
    name: 'Idempotency-Key',
    description: 'Repeating a request with the same key returns the first answer.',
    schema: { type: 'string', pattern: String.raw`^[\x21-\x7e]{1,255}$` },
    example: '5f2c1d3e',
  },
  'if-none-match': {
    name: 'If-None-Match',
    description: 'With `*` the record is only created: one that is already there is left alone (412).',
    schema: { const: '*' },
    example: '*',
  },
});

export const IF_NONE_MATCH: Word & { readonly name: string } = Object.freeze({
  name: 'If-None-Match',
  description:
    'The `ETag` of the revision that you have. If it is still the last one, the answer is 304 without a body.',
  schema: text,
  example: '"1"',
});

export const REQUEST_ID: Word = Object.freeze({
  description: 'You may send an id for the request; it is repeated in the answer and in the log.',
  schema: { type: 'string' },
  example: 'nightly-export-17',
});

type Named =
  | AnswerHeader
  | 'Bailiwick-Snapshot'
  | 'X-Request-Id'
  | 'RateLimit'
  | 'RateLimit-Policy'
  | 'Retry-After'
  | 'WWW-Authenticate';

export const ANSWER_HEADERS: Readonly<Record<Named, Word>> = Object.freeze({
  'Bailiwick-Snapshot': {
    description: 'The digest of the policy under which the request was answered.',
    schema: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
    example: `sha256:${'0'.repeat(64)}`,
  },
  'X-Request-Id': {
    description: 'The id of the request: yours if you sent one.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    example: 'nightly-export-17',
  },
  RateLimit: { description: 'What is left of a quota, where there is one.', schema: text, example: '"actor";r=0;t=1' },
  'RateLimit-Policy': {
    description: 'The quotas: so many requests (`q`) in so many seconds (`w`).',
    schema: text,
    example: '"actor";q=50;w=1',
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string', pattern: '^[0-9]+$' }, example: '1' },
  'WWW-Authenticate': {
    description: 'The kind of credential that is needed, as RFC 6750 writes it.',
    schema: text,
    example: 'Bearer realm="bailiwick"',
  },
  ETag: {
    description: 'The revision of the record.',
    schema: { type: 'string', pattern: '^"[0-9]+"$' },
    example: '"1"',
  },
  'Idempotency-Replayed': {
    description: 'Whether this is the answer to an earlier request with the same key.',
    schema: { enum: ['true'] },
    example: 'true',
  },
  Location: {
    description: 'The URL of the new record.',
    schema: { type: 'string', pattern: '^/' },
    example: '/api/v1/resources/01900000-0000-7000-8000-000000000000',
  },
});

export const ALWAYS: readonly Named[] = Object.freeze(['Bailiwick-Snapshot', 'X-Request-Id']);
export const WHERE_LIMITED: readonly Named[] = Object.freeze(['RateLimit', 'RateLimit-Policy']);

/** Headers of refusals, by status. */
export const REFUSAL_HEADERS: ReadonlyMap<number, readonly Named[]> = new Map([
  [401, ['WWW-Authenticate']],
  // For anonymous callers: a credential may give access.
  [403, ['WWW-Authenticate']],
  [404, ['WWW-Authenticate']],
  [429, ['Retry-After']],
  [503, ['Retry-After']],
]);
