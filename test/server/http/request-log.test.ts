// The log of requests: which of them get a line, at which level and how long. Refusals for the rate: the first of each
// second have the ids of their answers; all others are counted.
import { mock } from 'node:test';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ALL_SCOPES, instantOf, unrestrictedPolicy } from '../../../engine/index.js';
import { StoreError } from '../../../server/db/failures.js';
import { adminOfKey } from '../../../server/auth/admin-actor.js';
import type { Exchange } from '../../../server/http/exchange.js';
import { toProblem } from '../../../server/http/to-problem.js';
import { makeRequestLog, type RequestLogOptions } from '../../../server/http/request-log.js';
import type { RequestObserver } from '../../../server/http/request-observer.js';
import { peerWithoutConnection } from '../../../server/http/message.js';
import { LOG_LIMITS } from '../../../server/limits/logs.js';
import { makeLogger } from '../../../server/telemetry/log.js';
import { makeActivePolicy } from '../../../server/policy/active/active-policy.js';
import { systemClock } from '../../../server/lib/ports.js';
import { ApiProblem, type ProblemCode } from '../../../server/problem.js';

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let lines: Line[];
let log: RequestObserver;
let made: number;

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
  lines = [];
  made = 0;
  const to = (level: string) => (fields: Line['fields']) => void lines.push({ level, fields });
  log = makeRequestLog({ info: to('info'), warn: to('warn'), error: to('error') });
});
afterEach(() => {
  mock.timers.reset();
});

function refuse(code: ProblemCode, address: string, actor?: Exchange['actor']): void {
  const problem = new ApiProblem(code, { retryAfter: 1, reason: 'too many' });
  const exchange = exchangeFrom(address);
  log.answered(actor === undefined ? exchange : { ...exchange, actor }, problem.status, problem);
}

function exchangeFrom(address: string, url = '/api/v1/whoami'): Exchange {
  made += 1;
  return {
    incoming: {
      method: 'GET',
      url,
      rawHeaders: [],
      peer: peerWithoutConnection(address),
      readBody: () => Promise.reject(new Error('has none')),
      readParts: () => Promise.reject(new Error('has none')),
      gone: new AbortController().signal,
    },
    headers: new Map(),
    requestId: `id-${String(made)}`,
    clientId: null,
    span: { traceId: '', spanId: '', isKnown: false, headers: {}, end: () => undefined },
    at: instantOf(0),
    startedAt: performance.now(),
    actor: adminOfKey({ id: 'ada', credentialFingerprint: '' }),
    leave: null,
    place: null,
    address: address,
    quotas: [],
    active: null,
    judged: null,
    held: null,
    told: [],
    decided: null,
    route: null,
  };
}

/** Answers one of each kind, and returns what the log has of them. */
function linesWith(options: RequestLogOptions): readonly string[] {
  const to = (level: string) => (fields: Line['fields']) => void lines.push({ level, fields });
  log = makeRequestLog({ info: to('info'), warn: to('warn'), error: to('error') }, options);
  const answer = (status: number, code: ProblemCode | null, url?: string): void => {
    log.answered(exchangeFrom('192.0.2.1', url), status, code === null ? undefined : new ApiProblem(code));
  };
  for (let i = 0; i < 4; i += 1) answer(200, null);
  answer(404, 'record.not_found');
  answer(503, 'db.unavailable');
  answer(500, 'internal');
  for (const probe of ['/livez', '/readyz', '/metrics?x']) answer(200, null, probe);
  answer(503, 'overloaded', '/readyz');
  return lines.map(({ level, fields }) => `${level} ${String(fields['status'])}`);
}

test.each<[RequestLogOptions, readonly string[]]>([
  [{ requests: 'all', sample: 1 }, ['info 200', 'info 200', 'info 200', 'info 200']],
  [{ requests: 'all', sample: 2 }, ['info 200', 'info 200']],
  [{ requests: 'refused', sample: 1 }, []],
])('%j has what was refused, and of the others as many as are wanted', (options, others) => {
  expect(linesWith(options)).toEqual([...others, 'info 404', 'warn 503', 'error 500', 'warn 503']);
});

test('a line takes less than 250 bytes', () => {
  const destination = new PassThrough();
  log = makeRequestLog(makeLogger({ destination }));
  const path = '/api/v1/query';
  const id = 'orcid:0000-0002-1825-0097';
  const actor = adminOfKey({ id, credentialFingerprint: 'f'.repeat(64) });
  const active = makeActivePolicy({ policy: unrestrictedPolicy() }, { clock: systemClock, log: silent }).current();
  log.answered({ ...exchangeFrom('203.0.113.210', path), requestId: 'x'.repeat(16), actor, active }, 200, undefined);
  const line = String(destination.read());
  expect(JSON.parse(line)).toMatchObject({
    actor: id,
    path,
    status: 200,
    snapshot: expect.stringMatching(/^[0-9a-f]{12}$/),
  });
  expect(line.length).toBeLessThan(250);
  // A refusal has more to say.
  const refusal = new ApiProblem('record.invalid');
  log.answered({ ...exchangeFrom('203.0.113.210', path), requestId: 'x'.repeat(16), actor, active }, 422, refusal);
  const refused = String(destination.read());
  expect(JSON.parse(refused)).toMatchObject({ code: 'record.invalid', fingerprint: 'ffffffffffff' });
  expect(refused.length).toBeLessThan(300);
});

test('a store that fails is told by its reason in up to 650 bytes, and only a fault of ours by its stack', () => {
  const destination = new PassThrough();
  log = makeRequestLog(makeLogger({ destination }));
  const actor = adminOfKey({ id: 'orcid:0000-0002-1825-0097', credentialFingerprint: 'f'.repeat(64) });
  const active = makeActivePolicy({ policy: unrestrictedPolicy() }, { clock: systemClock, log: silent }).current();
  const lineOf = (error: unknown): string => {
    const problem = toProblem(error);
    const exchange = { ...exchangeFrom('203.0.113.210', '/api/v1/query'), requestId: 'x'.repeat(16), actor, active };
    log.answered(exchange, problem.status, problem);
    return String(destination.read());
  };
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });
  const told = 'the PostgreSQL at db.example.org:5432, database bailiwick cannot be reached: connect ECONNREFUSED';
  const away = lineOf(new StoreError('store.unreachable', told, { cause }));
  expect(JSON.parse(away)).toMatchObject({
    level: 'warn',
    status: 503,
    code: 'db.unavailable',
    reason: told,
    cause: 'store.unreachable',
  });
  const long = lineOf(new StoreError('store.failed', 'why '.repeat(1_000), { cause }));
  const values = Object.assign(new Error('"secret" is out of memory'), { code: '22P05', severity: 'FATAL' });
  const unsaid = lineOf(values);
  expect(JSON.parse(unsaid)).toMatchObject({ status: 503, reason: expect.stringMatching(/\(SQLSTATE 22P05\)$/) });
  for (const line of [away, long, unsaid]) {
    expect(line.length).toBeLessThan(650);
    expect(line).not.toMatch(/stack|request-log|secret/);
  }
  expect(JSON.parse(lineOf(new TypeError('a fault of ours')))).toMatchObject({
    ...{ level: 'error', status: 500, code: 'internal' },
    error: { message: 'a fault of ours', stack: expect.stringContaining('request-log') },
  });
});

test('none has only our own faults', () => {
  expect(linesWith({ requests: 'none', sample: 1 })).toEqual(['error 500']);
  log.refused({ requestId: 'id', address: '192.0.2.1', problem: new ApiProblem('request.malformed') });
  log.handshakeFailed({ address: '192.0.2.1', reason: 'ECONNRESET' });
  log.abandoned(exchangeFrom('192.0.2.1'));
  expect(lines).toHaveLength(1);
});

const ids = (): readonly unknown[] => lines.flatMap(({ fields }) => fields['requestId'] ?? []);

test('each has a line with its id, its actor and its address', () => {
  refuse('limit.rate', '192.0.2.1');
  refuse('overloaded', '192.0.2.2');
  expect(lines).toEqual([
    {
      level: 'info',
      fields: expect.objectContaining({
        requestId: 'id-1',
        status: 429,
        code: 'limit.rate',
        reason: 'too many',
        actor: 'ada',
        address: '192.0.2.1',
      }),
    },
    {
      level: 'warn',
      fields: expect.objectContaining({ requestId: 'id-2', status: 503, code: 'overloaded', address: '192.0.2.2' }),
    },
  ]);
  mock.timers.tick(LOG_LIMITS.floodInterval);
  expect(lines).toHaveLength(2);
});

test('a flood has so many lines a second and one that counts the others by their addresses, none of them lost', () => {
  const { floodLines, floodInterval, floodAddresses } = LOG_LIMITS;
  const extra = 100;
  for (let i = 0; i < floodLines + extra; i += 1) refuse('limit.rate', `192.0.2.${String(i % 2)}`);
  expect(ids()).toEqual(Array.from({ length: floodLines }, (_, i) => `id-${String(i + 1)}`));
  expect(lines).toHaveLength(floodLines);
  mock.timers.tick(floodInterval);
  expect(lines.at(-1)).toEqual({
    level: 'warn',
    fields: { refused: extra, addresses: { '192.0.2.0': extra / 2, '192.0.2.1': extra / 2 } },
  });

  lines.length = 0;
  for (let i = 0; i < floodLines + floodAddresses + 5; i += 1) refuse('limit.rate', `198.51.100.${String(i)}`);
  mock.timers.tick(floodInterval);
  const last = lines.at(-1)?.fields;
  expect(last).toMatchObject({ refused: floodAddresses + 5 });
  expect(Object.keys(last?.['addresses'] ?? {})).toHaveLength(floodAddresses);
  expect(lines).toHaveLength(floodLines + 1);

  mock.timers.tick(floodInterval);
  expect(lines).toHaveLength(floodLines + 1);
});

const PUBLIC = Object.freeze({
  kind: 'anonymous',
  id: 'anonymous',
  credentialScopes: ALL_SCOPES,
  credentialFingerprint: null,
}) as never;

test.each<[string, (address: string) => void]>([
  [
    'asks for what is not there',
    (address) => {
      refuse('route.not_found', address, null);
    },
  ],
  [
    'has no credential',
    (address) => {
      refuse('auth.required', address, null);
    },
  ],
  [
    'sends what is no request',
    (address) => {
      refuse('request.malformed', address, null);
    },
  ],
  [
    'looks whether a gateway is ready that is not',
    (address) => {
      log.answered({ ...exchangeFrom(address, '/readyz'), actor: null }, 503, undefined);
    },
  ],
  [
    'reads without a credential',
    (address) => {
      refuse('authz.denied', address, PUBLIC);
    },
  ],
  [
    'goes away',
    (address) => {
      log.abandoned({ ...exchangeFrom(address), actor: null });
    },
  ],
  [
    'sends what cannot be read',
    (address) => {
      log.refused({ requestId: 'id', address, problem: new ApiProblem('request.malformed') });
    },
  ],
  [
    'fails to shake hands',
    (address) => {
      log.handshakeFailed({ address, reason: 'EPROTO' });
    },
  ],
])('a stranger who %s any number of times does not fill the log', (_, cause) => {
  const { floodLines, floodInterval } = LOG_LIMITS;
  for (let i = 0; i < floodLines + 100; i += 1) cause('192.0.2.7');
  expect(lines).toHaveLength(floodLines);
  mock.timers.tick(floodInterval);
  expect(lines.at(-1)).toEqual({ level: 'warn', fields: { refused: 100, addresses: { '192.0.2.7': 100 } } });
  // Whoever has shown a credential is not one of them.
  lines.length = 0;
  for (let i = 0; i < floodLines; i += 1) cause('192.0.2.7');
  for (let i = 0; i < floodLines + 5; i += 1) refuse('authz.denied', '192.0.2.8');
  expect(lines).toHaveLength(2 * floodLines + 5);
});
