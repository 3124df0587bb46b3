// Refusals for the rate in the log: the first of each second have the ids of their answers; all others are counted.
import { mock } from 'node:test';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { adminOfKey } from '../../../server/auth/admin-actor.js';
import type { Exchange } from '../../../server/http/exchange.js';
import { makeRequestLog } from '../../../server/http/request-log.js';
import type { RequestObserver } from '../../../server/http/request-observer.js';
import { LOG_LIMITS } from '../../../server/limits/logs.js';
import { ApiProblem, type ProblemCode } from '../../../server/problem.js';

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

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

function refuse(code: ProblemCode, address: string): void {
  made += 1;
  const exchange: Exchange = {
    incoming: {
      method: 'GET',
      url: '/api/v1/whoami',
      rawHeaders: [],
      peer: { address, certificate: null, certificateFault: null },
      unread: 0,
      readBody: () => Promise.reject(new Error('has none')),
      readParts: () => Promise.reject(new Error('has none')),
      gone: new AbortController().signal,
    },
    headers: new Map(),
    requestId: `id-${String(made)}`,
    clientId: null,
    span: { traceId: '', spanId: '', headers: {}, end: () => undefined },
    at: instantOf(0),
    startedAt: performance.now(),
    actor: adminOfKey({ id: 'ada', credentialFingerprint: '' }),
    leave: null,
    address: address,
    quotas: [],
    active: null,
    judged: null,
    decided: null,
    route: null,
  };
  const problem = new ApiProblem(code, { retryAfter: 1, reason: 'too many' });
  log.answered(exchange, problem.status, problem);
}

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
      level: 'error',
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
