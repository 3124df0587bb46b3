// /admin/v1/audit: the log searched and verified for admins, as `bailiwick audit query` and `audit verify` do it where
// the log is.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { canonicalize, type Instant, type NamespacePath, parseInstant } from '../../../engine/index.js';
import { CHAIN_SCHEMA, EVENTS_SCHEMA } from '../../api/audit-schemas.js';
import type { EventKind, Outcome } from '../../audit/event.js';
import { isFrom } from '../../audit/missing-logs.js';
import { knownLogs } from '../../audit/outbox.js';
import { makeLogReader } from '../../audit/read-in-thread.js';
import type { Search } from '../../audit/search.js';
import type { Database } from '../../db/database.js';
import { AUDIT_LIMITS } from '../../limits/logs.js';
import { ApiProblem } from '../../problem.js';
import { misshapen } from '../message.js';
import { type AdminRoute, optional, type QueryInput } from '../route.js';

export interface AuditRoutesOptions {
  readonly db: Database;
  /** The folder of the log; null if nothing is recorded. */
  readonly auditFolder: string | null;
}

const KINDS: readonly EventKind[] = ['command', 'query', 'refusal', 'authentication', 'admin'];
const OUTCOMES: readonly Outcome[] = ['allowed', 'denied', 'failed'];
const TEXT = /^[^\p{Cc}]{1,1024}$/u;
const INSTANT = /^[0-9TZ:.+-]{10,40}$/;

const QUERY: QueryInput = Object.freeze({
  actor: optional('The id of an actor, `provider:subject`, or a fingerprint.', 'ana', TEXT),
  namespace: optional('Events that may have touched records there or below.', '/beamlines/amx', /^\/.{0,1023}$/),
  record: optional(
    'Events that name this record, or whose answers showed it or may have.',
    '01900000-0000-7000-8000-000000000000',
    /^[0-9A-Fa-f-]{36}$/,
  ),
  request: optional(
    'The `requestId` of an answer that the client gave no id of its own.',
    '0190c1a2-0000-7000-8000-000000000000',
    /^[A-Za-z0-9._-]{1,64}$/,
  ),
  kind: optional('Which kind of events.', 'refusal', new RegExp(`^(?:${KINDS.join('|')})$`)),
  outcome: optional('How it ended.', 'denied', new RegExp(`^(?:${OUTCOMES.join('|')})$`)),
  since: optional('At or after this instant.', '2026-11-01T00:00:00Z', INSTANT),
  until: optional('Before this instant.', '2026-12-01T00:00:00Z', INSTANT),
  limit: optional(
    `How many events the answer has at most, up to 1,000; ${String(AUDIT_LIMITS.shownEventsUsually)} unless given. Large events are fewer.`,
    '100',
    /^(?:[1-9]\d{0,2}|1000)$/,
  ),
});

export function makeAuditRoutes({ db, auditFolder }: AuditRoutesOptions): readonly AdminRoute[] {
  const reader = auditFolder === null ? null : makeLogReader(auditFolder);
  const search: AdminRoute = {
    method: 'GET',
    path: '/admin/v1/audit/events',
    access: 'admin',
    operationId: 'searchAudit',
    summary: 'Search the audit log of this gateway, newest events first',
    input: { query: QUERY },
    problems: ['namespace.invalid', 'audit.unreadable', 'overloaded'],
    output: { 200: { type: 'application/json', schema: EVENTS_SCHEMA } },
    run: async ({ query, gone }) => {
      const asked = searchOf(query);
      if (reader === null) throw unrecorded();
      const most = Number(query.get('limit') ?? AUDIT_LIMITS.shownEventsUsually);
      const {
        newest,
        found,
        events: searched,
        malformed,
        unverified,
        ...others
      } = await reader.search(asked, most, gone);
      const { lists, counts } = others.unrecorded;
      const answer = { found, searched, malformed, unverified, unrecorded: { lists, counts } };
      return { status: 200, json: `{"events":${newest},${JSON.stringify(answer).slice(1)}` };
    },
  };
  const verify: AdminRoute = {
    method: 'GET',
    path: '/admin/v1/audit/verify',
    access: 'admin',
    operationId: 'verifyAudit',
    summary: 'Check that no event of the audit log was changed, moved or removed',
    input: {},
    problems: ['audit.unreadable', 'overloaded'],
    output: { 200: { type: 'application/json', schema: CHAIN_SCHEMA } },
    run: async ({ gone }) => {
      if (reader === null || auditFolder === null) throw unrecorded();
      // Before the log is read, because it goes on.
      const known = await knownLogs(db);
      const here = known.filter(isFrom({ host: hostname(), folder: resolve(auditFolder) }, db.kind));
      return { status: 200, json: JSON.stringify(await reader.verify(here, gone)) };
    },
  };
  return [search, verify];
}

function unrecorded(): ApiProblem {
  return new ApiProblem('audit.unreadable', { title: 'Nothing is recorded here', retryAfter: 60 });
}

function searchOf(query: ReadonlyMap<string, string>): Search {
  const actor = query.get('actor');
  const kind = KINDS.find((one) => one === query.get('kind'));
  const outcome = OUTCOMES.find((one) => one === query.get('outcome'));
  return {
    actors: actor === undefined ? [] : [actor],
    namespace: namespaceOf(query.get('namespace')),
    outcomes: outcome === undefined ? [] : [outcome],
    kinds: kind === undefined ? [] : [kind],
    record: query.get('record')?.toLowerCase() ?? null,
    request: query.get('request') ?? null,
    since: instantOf('since', query.get('since')),
    until: instantOf('until', query.get('until')),
  };
}

function namespaceOf(text: string | undefined): NamespacePath | null {
  if (text === undefined) return null;
  const named = canonicalize(text);
  if (!named.ok) throw new ApiProblem('namespace.invalid');
  return named.path;
}

function instantOf(name: string, text: string | undefined): Instant | null {
  if (text === undefined) return null;
  const at = parseInstant(text);
  if (at === null) throw misshapen(`\`${name}\` must be an instant such as \`2026-11-01T00:00:00Z\``);
  return at;
}
