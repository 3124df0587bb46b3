// What admins are shown of the audit log, as JSON Schemas.
import { SCOPE_PATTERN } from '../../engine/index.js';
import { count, nullable, schema, text, textOrNull, texts, whole } from './schema.js';

const textsOrNull = schema({ type: ['array', 'null'], items: text });
const scopes = schema({ type: 'array', items: { type: 'string', pattern: SCOPE_PATTERN } });

const access = schema({
  type: 'object',
  required: ['context', 'family', 'scope', 'target'],
  properties: {
    context: text,
    creates: text,
    family: text,
    reach: { enum: ['lineage', 'exact', 'subtree'] },
    scope: { type: 'string', pattern: SCOPE_PATTERN },
    target: text,
  },
});
const copy = schema({
  type: 'object',
  required: ['destination', 'family', 'source'],
  properties: { destination: text, family: text, moves: { const: true }, source: text },
});
const holder = { credentialScopes: scopes, identities: texts, namespaceRestrictions: textsOrNull } as const;

/** Ids; or how many, with the set of them or without. */
export const LISTED_SCHEMA = schema({
  oneOf: [
    { type: 'object', required: ['ids'], properties: { ids: texts } },
    {
      type: 'object',
      required: ['count'],
      properties: { count: { type: 'integer', minimum: 1 }, ids: false, set: text },
    },
  ],
});

/** An event in a log or in the outbox. Later releases may add members. */
export const EVENT_SCHEMA = schema({
  type: 'object',
  required: ['access', 'actor', 'id', 'kind', 'operation', 'outcome', 'requestId', 'snapshot', 'status', 'time'],
  properties: {
    access: { anyOf: [{ type: 'null' }, access, copy] },
    actor: {
      type: 'object',
      required: ['credentialScopes', 'fingerprint', 'id', 'identities', 'kind', 'namespaceRestrictions'],
      properties: { ...holder, fingerprint: textOrNull, id: text, kind: text },
    },
    address: text,
    cause: text,
    credential: { type: 'object', required: ['actor', 'identities'], properties: { actor: text, identities: texts } },
    grants: texts,
    grantsOmitted: count,
    hash: text,
    held: texts,
    id: text,
    items: count,
    key: text,
    kind: { enum: ['command', 'query', 'refusal', 'authentication', 'admin'] },
    listed: LISTED_SCHEMA,
    log: text,
    lost: {
      type: 'array',
      items: {
        type: 'object',
        required: ['hash', 'log', 'seq'],
        properties: { hash: text, log: text, seq: { type: 'integer', minimum: 1 } },
      },
    },
    namespace: text,
    operation: text,
    outcome: { enum: ['allowed', 'denied', 'failed'] },
    policy: { type: 'object' },
    previous: text,
    recording: {
      type: 'object',
      required: ['queries', 'records'],
      properties: { queries: { enum: ['all', 'denied', 'none'] }, records: { enum: ['set', 'ids', 'none'] } },
    },
    records: texts,
    requestId: text,
    seq: { type: 'integer', minimum: 1 },
    snapshot: textOrNull,
    status: { type: ['integer', 'null'] },
    step: text,
    subject: {
      type: 'object',
      required: ['credentialScopes', 'identities', 'namespaceRestrictions'],
      properties: holder,
    },
    time: text,
    visibility: text,
    vocabulary: text,
  },
});
export const STORED_EVENT_SCHEMA = Object.freeze({
  ...EVENT_SCHEMA,
  required: [...EVENT_SCHEMA.required, 'hash', 'log', 'previous', 'seq'] as const,
});

const event = Object.freeze({
  ...STORED_EVENT_SCHEMA,
  title: 'FoundEvent',
  description:
    'An event as the log has it, with `shown` if a record was asked for that it does not name, and `fault` if it does not verify.',
  properties: {
    ...EVENT_SCHEMA.properties,
    shown: schema({ enum: ['yes', 'maybe'] }),
    fault: schema({ enum: ['edited', 'broken', 'unreadable'] }),
  },
});

export const EVENTS_SCHEMA = Object.freeze({
  title: 'FoundEvents',
  ...whole({
    events: {
      description: 'Newest first, 16 MiB of them at most. Ask for those before them with `until`.',
      type: 'array',
      items: event,
    },
    found: { description: 'How many match, of which `events` has the newest.', ...count },
    searched: { description: 'How many events the log has.', ...count },
    malformed: { description: 'Lines that are not events.', ...count },
    unverified: { description: 'Events among those found that do not verify.', ...count },
    unrecorded: {
      description: 'For a search by record: answers for which it is unknown which records they showed or counted.',
      ...whole({ lists: count, counts: count }),
    },
  }),
});

const head = schema({ type: 'object', required: ['seq', 'hash'], properties: { seq: count, hash: text } });

export const CHAIN_SCHEMA = Object.freeze({
  title: 'LogVerification',
  ...whole({
    ok: { type: 'boolean' },
    events: count,
    logs: { type: 'array', items: whole({ log: text, events: count, head: nullable(head) }) },
    faults: {
      description: 'The first of them; `count` counts all.',
      type: 'array',
      items: {
        type: 'object',
        required: ['log', 'kind', 'text'],
        properties: { log: { type: ['string', 'null'] }, seq: count, kind: text, text },
      },
    },
    count,
    unread: { description: 'Names of archived files, which are not here.', ...texts },
  }),
});
