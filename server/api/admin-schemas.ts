// What the admin listener takes and answers, as JSON Schemas: health, status and API keys.
import { SCOPE_PATTERN } from '../../engine/index.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import { digest } from './answer-schemas.js';
import { shapeOf } from './body-shape.js';
import { instant } from './record-schema.js';
import { closed, flag, nullable, schema, text, texts, type TypeOf, whole } from './schema.js';
import { NAME_PATTERN } from './shape-fault.js';
import { SHADOW_SUMMARY } from './shadow-schemas.js';

const said = schema({ title: 'CheckResult', enum: ['ok', 'failed'] });

const labels = schema({
  title: 'Labels',
  description: 'Whether the decision digests that the snapshot states were verified here.',
  enum: ['unverified', 'verified', 'false'],
});

const checks = { type: 'object', additionalProperties: said };

export const HEALTH_SCHEMA = Object.freeze({ title: 'Health', ...whole({ status: said, checks }) });

const kind = schema({ title: 'StoreKind', enum: ['embedded', 'external'] });

export const STATUS_SCHEMA = Object.freeze({
  title: 'Status',
  ...whole({
    version: text,
    startedAt: instant,
    ready: flag,
    checks: { description: 'Those of `/readyz`.', ...checks },
    policy: text,
    snapshot: digest,
    decisions: digest,
    labels,
    generation: { description: 'Rises with each activation.', type: 'integer', minimum: 1 },
    reason: { description: 'Why that activation was made.', type: 'string' },
    source: {
      ...closed(['kind'], {
        kind: { enum: ['folder', 'file', 'directory', 'url', 'git', 'stdin', 'memory', 'store'] },
        path: text,
        url: text,
        repository: text,
        ref: text,
        commit: text,
      }),
    },
    loadedAt: instant,
    issuedAt: nullable(instant),
    statement: {
      description: 'Under which the snapshot was published; null without one. `expiresAt` is `expires`.',
      ...nullable(
        whole({
          generation: { description: 'Of the statement: it rises with each publication.', type: 'integer', minimum: 1 },
          expires: instant,
          expiresAt: instant,
          signers: { ...texts, description: 'The keys that signed it, by their names in the keyring.' },
        }),
      ),
    },
    ageSeconds: { type: 'integer', minimum: 0 },
    stale: { enum: ['no', 'soft', 'hard'] },
    undecided: { description: 'Why the gateway decides nothing; null while it does.', type: ['string', 'null'] },
    store: whole({
      kind,
      ok: flag,
      fault: {
        description:
          'Why it cannot be used, why it takes no writes, or which rights are missing; null if nothing is wrong.',
        type: ['string', 'null'],
      },
      replicas: {
        description: 'Those of `databaseReadUrl`, in its order.',
        type: 'array',
        items: whole({
          address: { description: 'Host and port.', type: 'string' },
          used: { description: 'Whether pages and counts are read from it now.', ...flag },
          ageSeconds: {
            description: 'How old the data of its answers may be; null if unknown.',
            type: ['number', 'null'],
          },
          fault: { enum: ['away', 'primary_away', 'rights', 'pooler', 'not_a_replica', 'other_cluster', null] },
          reason: {
            description: 'What the server, or the connection to it, says about that; null if nothing.',
            type: ['string', 'null'],
          },
        }),
      },
    }),
    audit: {
      description: 'The audit log; null where nothing is recorded.',
      ...nullable(
        closed(['ok', 'lagSeconds', 'fileLagSeconds', 'storeLagSeconds', 'checkpointLagSeconds', 'stuckEvents'], {
          ok: flag,
          lagSeconds: { description: 'The larger of `fileLagSeconds` and `storeLagSeconds`.', type: 'number' },
          fileLagSeconds: { description: 'For how long its files could not be written.', type: 'number' },
          storeLagSeconds: { description: 'For how long events in the store could not be fetched.', type: 'number' },
          checkpointLagSeconds: {
            description: 'For how long checkpoints could not be signed; null without a key for them.',
            type: ['number', 'null'],
          },
          stuckEvents: {
            description: 'How many events in the store another log has claimed and does not take.',
            type: 'integer',
          },
          error: { description: 'Why the files or the store fail; absent while both work.', type: 'string' },
        }),
      ),
    },
    authzen: {
      description:
        'Null unless others are answered in the words of AuthZEN. `vocabulary`: its digest; null: names mean themselves.',
      ...nullable(whole({ vocabulary: nullable(digest) })),
    },
    certificate: {
      description:
        'Of the API; null without one. `clientCaExpiresAt`: of the authority for client certificates that expires first; null without any. `fault`: why clients refuse the certificate now; null if they do not.',
      ...nullable(
        whole({
          expiresAt: instant,
          clientCaExpiresAt: nullable(instant),
          fault: { type: ['string', 'null'] },
        }),
      ),
    },
    tls: {
      description: 'When the certificate of the API expires; null without one.',
      ...nullable(whole({ expires: instant })),
    },
    lastError: nullable(whole({ at: instant, code: text, message: text, problems: texts })),
    shadow: nullable(SHADOW_SUMMARY),
    workers: {
      description: 'How many processes answer requests of the API, and how many should; null if this one does.',
      ...nullable(whole({ size: { type: 'integer', minimum: 1 }, serving: { type: 'integer', minimum: 0 } })),
    },
    peers: {
      description: 'Other gateways that serve from the same store, seen within 15 seconds.',
      type: 'array',
      items: whole({
        gateway: { description: 'A random name of the process.', ...text },
        host: text,
        version: text,
        snapshot: digest,
        generation: { type: 'integer', minimum: 1 },
        startedAt: instant,
        seenAt: instant,
      }),
    },
  }),
});

const WAITING_SCHEMA = Object.freeze({
  title: 'WaitingStatus',
  description: 'Of a gateway that waits for its store at the start.',
  ...whole({
    version: text,
    startedAt: instant,
    ready: { const: false },
    checks: { description: 'Those of `/readyz`.', ...checks },
    waiting: { description: 'Why the store cannot be reached.', ...text },
    store: whole({ kind, ok: { const: false } }),
  }),
});

export const STATUS_ANSWER = Object.freeze({ anyOf: [STATUS_SCHEMA, WAITING_SCHEMA] });

const reason = schema({
  description: 'Why, for people: it is kept with the activation.',
  type: 'string',
  minLength: 1,
  maxLength: 1000,
});

const stored = whole({
  snapshot: digest,
  policy: text,
  decisions: digest,
  bytes: { type: 'integer', minimum: 0 },
  labels,
  state: { description: '`refused`: it carries a false label.', enum: ['active', 'shadow', 'stored', 'refused'] },
  isSigned: { description: 'Whether a signed statement is stored beside it.', ...flag },
  generation: nullable({ description: 'Of its last activation.', type: 'integer', minimum: 1 }),
  reason: nullable({ description: 'Of that activation.', type: 'string' }),
  askedBy: nullable({ description: 'Who requested that activation.', type: 'string' }),
  loadedAt: instant,
});

export const SNAPSHOTS_SCHEMA = whole({ snapshots: { type: 'array', items: { title: 'Snapshot', ...stored } } });

export const ACTIVATED_SCHEMA = Object.freeze({
  title: 'Activated',
  ...whole({ snapshot: digest, generation: { type: 'integer', minimum: 1 } }),
});

export const STORED_SCHEMA = Object.freeze({
  title: 'StoredSnapshot',
  ...whole({
    snapshot: digest,
    decisions: digest,
    generation: nullable({ description: 'Of its last activation.', type: 'integer', minimum: 1 }),
  }),
});

/** The part that is described. The rest is checked when a thread reads it. */
export const UPLOAD_SCHEMA = schema({
  title: 'SnapshotFile',
  description:
    'The bytes of a snapshot file, or `snapshot`, its text as a string, with `statement`, its signed statement (DSSE).',
  type: 'object',
  required: ['snapshot'],
});

const ACTIVATION = schema({ title: 'Activation', type: 'object', properties: { reason }, additionalProperties: false });
const ROLLBACK = schema({
  title: 'Rollback',
  ...closed(['reason'], { to: digest, reason }),
});

export const ACTIVATE_SHAPE = shapeOf(ACTIVATION);
export const ROLLBACK_SHAPE = shapeOf(ROLLBACK);

const scopes = schema({
  type: 'array',
  maxItems: KEY_LIMITS.scopes,
  items: { type: 'string', pattern: SCOPE_PATTERN },
});

const KEY_BODY = schema({
  title: 'NewKey',
  ...closed(['actor'], {
    actor: { description: 'Name of the actor, used in logs and cursors.', type: 'string', minLength: 1 },
    identities: {
      description: 'Whose grants the key uses; none for a key with `admin`, `monitor` or `decide`.',
      type: 'array',
      maxItems: KEY_LIMITS.identities,
      items: {
        type: ['string', 'object'],
        required: ['provider', 'subject'],
        properties: { provider: { type: 'string', pattern: NAME_PATTERN }, subject: text },
        additionalProperties: false,
      },
    },
    scopes: {
      ...scopes,
      description:
        'What the key carries at most. Null or absent: every scope, of families that the policy declares, too.',
      type: ['array', 'null'],
    },
    restrictions: {
      description: 'Namespaces that the key reaches, with everything below. Null or absent: everywhere.',
      type: ['array', 'null'],
      maxItems: KEY_LIMITS.restrictions,
      items: text,
    },
    expires: { description: 'An instant with offset, from which the key is refused.', type: ['string', 'null'] },
    admin: { description: 'A key for this listener alone.', ...flag },
    decide: {
      description: 'A key that asks what others may do, within its scopes and restrictions. It has no identities.',
      ...flag,
    },
    monitor: { description: 'A key for `/metrics` and status on this listener, and nothing else.', ...flag },
  }),
});

/** An absent member means the same as null. */
export type KeyBody = TypeOf<typeof KEY_BODY>;

export const KEY_SHAPE = shapeOf(KEY_BODY);

const keyId = schema({ type: 'string', pattern: '^[0-9a-z]{16}$' });

const SHOWN = Object.freeze({
  id: keyId,
  actor: text,
  identities: texts,
  scopes: nullable(texts),
  restrictions: nullable(texts),
  admin: flag,
  decide: flag,
  monitor: flag,
  status: { enum: ['active', 'expired', 'revoked'] },
  expires: nullable(instant),
  revokedAt: nullable(instant),
  lastUsedAt: nullable(instant),
  createdAt: instant,
  fingerprint: { type: 'string', pattern: '^[0-9a-f]{64}$' },
} as const);

const SHOWN_KEY = Object.freeze({ title: 'Key', ...whole(SHOWN) });

/** A key as the command line, the admin listener and the console show it: everything but its secret. */
export type ShownKey = TypeOf<typeof SHOWN_KEY>;

export const KEYS_SCHEMA = whole({ keys: { type: 'array', items: SHOWN_KEY } });
export const NEW_KEY_SCHEMA = whole({
  ...SHOWN,
  key: {
    description: 'The key itself, shown only this once.',
    type: 'string',
    pattern: '^bwk_[0-9a-z]{16}_[A-Za-z0-9_-]{43}$',
  },
});
export const REVOKED_SCHEMA = whole({ id: keyId, revokedAt: instant });
