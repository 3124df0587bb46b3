// The shape of an event in a log and in the outbox, as JSON Schema. Readers of both validate against it. Later releases
// may add members.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { EVENT_SCHEMA, LISTED_SCHEMA, STORED_EVENT_SCHEMA } from '../api/audit-schemas.js';
import type { AccessAsked, AuditEvent, CopyAsked } from './event.js';
import { compileOnce, OURS } from '../json/compile-once.js';
import type { Listed } from './listed.js';

/**
 * An event as a log holds it. Its strings may hold anything, so paths and names are parsed again before they are used.
 */
export type StoredEvent = Omit<AuditEvent, 'access' | 'operation'> & {
  readonly access: AccessAsked | CopyAsked | null;
  readonly operation: string;
  readonly hash: string;
  readonly log: string;
  readonly previous: string;
  readonly seq: number;
};

const ajv = new Ajv2020({ ...OURS, strictTypes: false, allErrors: false });

export const isListed = compileOnce<Listed>(ajv, LISTED_SCHEMA);
/** Accepts the JSON of an event from `makeEvent`. */
export const isEvent = compileOnce<AuditEvent>(ajv, EVENT_SCHEMA);
export const isStoredEvent = compileOnce<StoredEvent>(ajv, STORED_EVENT_SCHEMA);
