// /admin/v1/keys: make, list and revoke API keys, with the rules and the messages of `bailiwick keys`. A change of a
// key is recorded in the transaction that makes it.
import { formatIdentity, formatInstant } from '../../../engine/index.js';
import { KEY_SHAPE, type KeyBody, KEYS_SCHEMA, NEW_KEY_SCHEMA, REVOKED_SCHEMA } from '../../api/admin-schemas.js';
import { eventCredential } from '../../audit/event-key.js';
import type { AnonymousSettings } from '../../auth/anonymous.js';
import { type ApiKey, createKey, listKeys, type RevokedKey, revokeKey } from '../../auth/api-keys.js';
import type { Fingerprinter } from '../../auth/fingerprint.js';
import { isKeyId } from '../../auth/key-text.js';
import { type KeyFault, type KeyRequest, readNewKey } from '../../auth/new-key.js';
import { showKey } from '../../auth/shown-key.js';
import type { Database } from '../../db/database.js';
import type { Writing } from '../../db/writing.js';
import { mapInTurns } from '../../lib/in-turns.js';
import type { IdSource } from '../../lib/ports.js';
import { ApiProblem, type InputFault } from '../../problem.js';
import { pathTemplate } from '../path-template.js';
import { type AdminRoute, jsonBody } from '../route.js';
import { actRecorder } from './record-act.js';

export interface KeyRoutesOptions {
  readonly db: Database;
  readonly fingerprint: Fingerprinter;
  readonly nextId: IdSource;
  /** Who reads without a credential. Defaults to nobody. */
  readonly anonymous?: AnonymousSettings | null;
}

const BODY = jsonBody(KEY_SHAPE, {
  ...{ actor: 'ana', identities: ['orcid:0000-0002-1825-0097'], scopes: ['resource:read'], restrictions: null },
});

const REVOKE = '/admin/v1/keys/{id}/revoke';

export function makeKeyRoutes({ db, fingerprint, nextId, anonymous }: KeyRoutesOptions): readonly AdminRoute[] {
  const record = actRecorder(nextId);
  const list: AdminRoute = {
    method: 'GET',
    path: '/admin/v1/keys',
    access: 'admin',
    operationId: 'listKeys',
    summary: 'List all API keys, without their secrets',
    input: {},
    output: { 200: { type: 'application/json', schema: KEYS_SCHEMA } },
    run: async ({ at, gone }) => {
      const show = (key: ApiKey): string => JSON.stringify(showKey(key, at, fingerprint));
      const keys = await mapInTurns(await listKeys(db), show, gone);
      return { status: 200, json: `{"keys":[${keys.join()}]}` };
    },
  };
  const create: AdminRoute = {
    method: 'POST',
    path: '/admin/v1/keys',
    access: 'admin',
    operationId: 'createKey',
    summary: 'Make an API key; its secret is shown in this answer alone',
    input: { body: BODY },
    output: { 201: { type: 'application/json', schema: NEW_KEY_SCHEMA } },
    run: async (call) => {
      const read = readNewKey(requestOf(KEY_SHAPE.asRead(call.body)), call.at, anonymous);
      if (!read.ok) throw new ApiProblem('request.schema', { errors: read.faults.map(errorOf) });
      const { text, key } = await db.write(async (writing) => {
        const made = await createKey(writing, read.key, call.at);
        const credential = eventCredential(made.key);
        await record(writing, call, { operation: 'key.create', key: made.key.id, status: 201, credential });
        return made;
      });
      const { id, ...shown } = showKey(key, call.at, fingerprint);
      return { status: 201, json: JSON.stringify({ id, key: text, ...shown }) };
    },
  };
  const revoke: AdminRoute = {
    method: 'POST',
    path: REVOKE,
    access: 'admin',
    operationId: 'revokeKey',
    summary: 'End an API key: the next request with it is refused by every gateway',
    input: {},
    problems: ['key.not_found'],
    output: { 200: { type: 'application/json', schema: REVOKED_SCHEMA } },
    run: async (call) => {
      const id = pathTemplate(REVOKE).partOf(call.path);
      if (id === null || !isKeyId(id)) throw new ApiProblem('key.not_found');
      const beside = (writing: Writing, { key }: RevokedKey): Promise<void> => {
        const credential = key === null ? {} : { credential: eventCredential(key) };
        return record(writing, call, { ...credential, operation: 'key.revoke', key: id, status: 200 });
      };
      const revoked = await revokeKey(db, { id, now: call.at, beside });
      if (revoked === null) throw new ApiProblem('key.not_found');
      return { status: 200, json: JSON.stringify({ id, revokedAt: formatInstant(revoked.at) }) };
    },
  };
  return [list, create, revoke];
}

function requestOf({ identities = [], scopes, restrictions, expires, ...body }: KeyBody): KeyRequest {
  const { actor, admin, decide, monitor } = body;
  return {
    actor,
    identities: identities.map((one) => (typeof one === 'string' ? one : formatIdentity(one))),
    scopes: scopes ?? null,
    restrictions: restrictions ?? null,
    expires: expires ?? null,
    admin: admin ?? false,
    decide: decide ?? false,
    monitor: monitor ?? false,
  };
}

function errorOf({ field, index, message }: KeyFault): InputFault {
  const pointer = index === null ? `/${field}` : `/${field}/${String(index)}`;
  return { pointer, code: 'request.schema', message };
}
