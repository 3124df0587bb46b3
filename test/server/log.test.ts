import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { describeError, makeLogger } from '../../server/log.js';

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

describe('makeLogger', () => {
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
