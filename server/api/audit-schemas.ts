// What admins are shown of the audit log, as JSON Schemas.
import { nullable, schema, whole } from './schema.js';

const text = schema({ type: 'string' });
const texts = schema({ type: 'array', items: text });
const count = schema({ type: 'integer', minimum: 0 });

const event = schema({
  title: 'FoundEvent',
  description:
    'An event as the log has it, with `shown` if a record was asked for that it does not name, and `fault` if it does not verify.',
  type: 'object',
  required: ['seq', 'log', 'time', 'kind', 'operation', 'outcome', 'requestId', 'actor', 'access', 'snapshot'],
  properties: {
    seq: { type: 'integer', minimum: 1 },
    log: text,
    time: text,
    kind: { enum: ['command', 'query', 'refusal', 'authentication', 'admin'] },
    operation: text,
    outcome: { enum: ['allowed', 'denied', 'failed'] },
    status: { type: ['integer', 'null'] },
    requestId: text,
    actor: {
      type: 'object',
      required: ['id', 'kind', 'fingerprint', 'identities', 'credentialScopes', 'namespaceRestrictions'],
      properties: {
        id: text,
        kind: text,
        fingerprint: { type: ['string', 'null'] },
        identities: texts,
        credentialScopes: texts,
        namespaceRestrictions: { type: ['array', 'null'], items: text },
      },
    },
    access: nullable({
      type: 'object',
      properties: {
        scope: text,
        family: text,
        reach: text,
        context: text,
        target: text,
        creates: text,
        source: text,
        destination: text,
      },
    }),
    step: text,
    cause: text,
    grants: texts,
    items: count,
    records: texts,
    snapshot: { type: ['string', 'null'] },
    hash: text,
    shown: { enum: ['yes', 'maybe'] },
    fault: { enum: ['edited', 'broken', 'unreadable'] },
  },
});

export const EVENTS_SCHEMA = Object.freeze({
  title: 'FoundEvents',
  ...whole({
    events: { description: 'Newest first.', type: 'array', items: event },
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
