// The bound on what one wrong body costs: so many faults are reported and searched for, however many there are.
import { expect, test } from '@jest/globals';
import { bodyShape } from '../../server/api/body-shape.js';
import { QUERY_LIMITS } from '../../server/limits/queries.js';
import { ApiProblem } from '../../server/problem.js';
import { call, openGateway } from '../support/gateway.js';

const unknown = (count: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${String(index)}`, index]));

test.each([
  [QUERY_LIMITS.errors, QUERY_LIMITS.errors],
  [QUERY_LIMITS.errors + 1, QUERY_LIMITS.errors],
  [100_000, QUERY_LIMITS.errors],
])('of %i members that nobody knows, %i are looked at', (sent, looked) => {
  const seen: string[] = [];
  const shape = bodyShape<object>(
    { type: 'object', properties: { family: { type: 'string' } }, additionalProperties: false },
    { unknown: (name) => (seen.push(name), null) },
  );
  let problem: unknown = null;
  try {
    shape.read(unknown(sent));
  } catch (error) {
    problem = error;
  }
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem).toMatchObject({ code: 'request.schema' });
  expect((problem as ApiProblem).detail.errors?.map(({ pointer }) => pointer)).toEqual(seen.map((name) => `/${name}`));
  expect(seen).toHaveLength(looked);
});

test('a gateway that is sent a body of nothing but faults reports the first ones', async () => {
  const open = await openGateway();
  try {
    const { text: key } = await open.key();
    const wrong = await call(open.port, { key, body: { family: 'resource', namespace: '/', ...unknown(20_000) } });
    const errors = wrong.json?.['errors'] as readonly { readonly pointer: string }[];
    expect([wrong.status, errors.map(({ pointer }) => pointer)]).toEqual([
      400,
      Object.keys(unknown(QUERY_LIMITS.errors)).map((name) => `/${name}`),
    ]);
  } finally {
    await open.dispose();
  }
});
