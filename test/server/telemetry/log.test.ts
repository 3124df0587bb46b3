import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { toldText } from '../../../server/db/failures.js';
import { describeError, makeLogger } from '../../../server/telemetry/log.js';
import { maskCredentials } from '../../../server/lib/mask.js';
import { growth } from '../../support/cpu-time.js';

/** As pg makes them: values of rows and of the statement are all over it. */
function databaseError(): Error {
  return Object.assign(new Error('select canary - invalid input syntax for type integer: "canary"'), {
    code: '22P02',
    detail: 'Key (name)=(canary) exists',
    where: 'canary',
    routine: 'pg_strtoint32',
    constraint: 'records_pkey',
  });
}

describe('describeError', () => {
  it('says of a database error what it is and where, and nothing that it quotes', () => {
    const told = describeError(new Error('outer', { cause: databaseError() }));
    expect(told).toMatchObject({
      type: 'Error',
      message: 'outer',
      cause: { type: 'DatabaseError', code: '22P02', routine: 'pg_strtoint32', constraint: 'records_pkey' },
    });
    expect(JSON.stringify(told)).not.toContain('canary');
  });

  it('ends on a cause that is its own', () => {
    const error = new Error('round');
    error.cause = error;
    expect(JSON.stringify(describeError(error)).match(/"round"/g)).toHaveLength(5);
  });

  it('shows only the type of a value that is not an error', () => {
    expect(describeError('canary')).toBe('string');
  });
});

describe('a message of the database', () => {
  it.each([
    ['58P01', 'could not load library "plpgsql.so"', true],
    ['53300', 'too many connections for role "gateway"', true],
    ['26000', 'prepared statement "b1" does not exist', true],
    ['22P02', 'invalid input syntax: "canary"', false],
    ['23505', 'duplicate key value', false],
    ['42601', 'syntax error at or near "canary"', false],
  ])('%s is shown if it quotes no value: %s', (code, message, isShown) => {
    const error = Object.assign(new Error(message), { code, severity: 'ERROR' });
    expect(JSON.stringify(describeError(error)).includes(JSON.stringify(message).slice(1, -1))).toBe(isShown);
    expect(toldText(code, error)).toBe(isShown ? `SQLSTATE ${code}: ${message}` : `SQLSTATE ${code}`);
  });
});

it('says what the system refused, also with a code that is as long as those of the database', () => {
  const message = 'EROFS: read-only file system, open';
  expect(describeError(Object.assign(new Error(message), { code: 'EROFS' }))).toMatchObject({ type: 'Error', message });
});

it.each([
  ['42501', 'permission denied for table gateways'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
])(
  'says what a right is missing for, and what a standby refuses: such a message has no value (%s)',
  (code, message) => {
    const error = Object.assign(new Error(message), { code, severity: 'ERROR' });
    expect(describeError(error)).toMatchObject({ type: 'DatabaseError', code, message });
  },
);

const KEY = `bwk_0123456789abcdef_${'Ab-_'.repeat(10)}xyz`;
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln_nature-1';

describe('makeLogger', () => {
  const encoded = (text: string): string => text.replaceAll(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  it.each([
    ...[KEY, encodeURIComponent(KEY).replaceAll('_', '%5F'), KEY.replaceAll('_', '%255F'), encoded(KEY)],
    ...[TOKEN, TOKEN.replaceAll('.', '%2e'), TOKEN.replaceAll('.', '%25252E'), encoded(TOKEN)],
  ])('masks the credential %s wherever it is', (credential) => {
    const destination = new PassThrough();
    const log = makeLogger({ destination });
    const cause = new Error(`"${credential}"`);
    log.warn(
      { path: `/api/${credential}/x`, [credential]: 1, error: new Error('out', { cause }) },
      `says ${credential} here`,
    );
    const line = String(destination.read());
    expect(JSON.parse(line)).toMatchObject({ path: '/api/[credential]/x', msg: 'says [credential] here' });
    expect(line.match(/\[credential\]/g)).toHaveLength(4);
    for (const part of ['Ab-_', 'c2ln', '0123456789', 'eyJ', encoded('Ab-'), encoded('c2ln')])
      expect(line).not.toContain(part);
  });

  it('leaves what only looks a little like one', () => {
    const said =
      'keys begin with bwk_ and end; eyJ is no token, nor is eye.jay or /monkeyjar.keyjar.of-the-lab.example';
    expect(maskCredentials(said)).toBe(said);
  });

  it.each(['{ "', '{  "', '{\n"', '{\n  "', '{\n\t"', '{\r\n"', '{\t"', '{"'])(
    'masks a token whose parts begin with %j, and however they are encoded',
    (begin) => {
      const part = (rest: string): string => Buffer.from(`${begin}${rest}`).toString('base64url');
      const token = `${part('alg": "ES256" }')}.${part('sub": "ada" }')}.c2ln_nature-1`;
      for (const sent of [token, encoded(token), encoded(token).replaceAll('%', '%25')])
        expect(maskCredentials(`GET /api/v1/resources/${sent}?a`)).toBe('GET /api/v1/resources/[credential]?a');
    },
  );

  it.each(['eyJ', '%65%79%4a', 'eyJ%2e', 'eyJ.', 'eyJ1234567.', 'bwk_', 'bwk', '%25', '%', 'b%25'])(
    'looks for credentials in many times "%s" at the cost of any other text of that length',
    (piece) => {
      const cost = growth(4_000, (size) => {
        const text = piece.repeat(size / piece.length);
        return () => maskCredentials(text);
      });
      expect(cost).toBeLessThan(24);
    },
  );

  it('masks what stands behind something that begins like one', () => {
    expect(maskCredentials(`eyJ_and_bwk_and_${KEY} and eyJeyJ${TOKEN}`)).toBe('eyJ_and_[credential] and [credential]');
    expect(maskCredentials(`monkeyjar.${TOKEN}`)).toBe('monkeyjar.[credential]');
    const host = 'surveyed-journeys.newkingdom-lab.of-eyewitness.example';
    expect(maskCredentials(host)).toBe(host);
    expect(maskCredentials(`x${TOKEN}/${KEY}"`)).toBe('x[credential]/[credential]"');
  });

  it('writes lines of its level and above', () => {
    const destination = new PassThrough();
    const log = makeLogger({ destination, level: 'warn' });
    log.info({}, 'quiet');
    log.error({}, 'loud');
    expect(String(destination.read())).toMatch(/^[^\n]*"loud"\}\n$/);
  });

  it('writes one line of JSON for each call, whatever is in the fields', () => {
    const destination = new PassThrough();
    const log = makeLogger({ destination });
    log.warn({ path: 'a\nb\u001b[31m', error: databaseError() }, 'said');
    const [line] = String(destination.read()).trimEnd().split('\n');
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 'warn',
      msg: 'said',
      path: 'a\nb\u001b[31m',
      error: { type: 'DatabaseError' },
      time: expect.stringMatching(/Z$/),
    });
    expect(line).not.toContain('\u001b');
    expect(line).not.toContain('canary');
  });
});
