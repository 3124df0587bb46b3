// Which errors are failures of the store, and what a client is told about them.
import { describe, expect, it, test } from '@jest/globals';
import knex from 'knex';
import pg from 'pg';
import { StoreError, toStoreError, unlessRefused } from '../../../server/db/failures.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';

function databaseError(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError('told by the server', 10, 'error');
  error.code = code;
  return error;
}

const networkError = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

describe('toStoreProblem', () => {
  test.each([
    ['57014', 'db.timeout'],
    ['55P03', 'db.timeout'],
    ['57P01', 'db.unavailable'],
    ['57P03', 'db.unavailable'],
    ['53300', 'db.unavailable'],
    ['53100', 'db.unavailable'],
    ['25006', 'db.unavailable'],
    ['25P03', 'db.unavailable'],
    ['42501', 'db.unavailable'],
    ['08006', 'db.unavailable'],
    ['40001', 'db.unavailable'],
    ['XX001', 'db.unavailable'],
    ['28P01', 'db.unavailable'],
  ])('maps SQLSTATE %s to %s', (state, code) => {
    const error = databaseError(state);
    const problem = toStoreProblem(error);
    expect(problem).toMatchObject({ code, status: code === 'db.timeout' ? 504 : 503 });
    expect(problem?.cause).toBe(error);
  });

  test.each(['23505', '42P01', '22P02', 'XX000', '25P02'])(
    'leaves SQLSTATE %s alone: the statement is at fault, not the store',
    (state) => {
      expect(toStoreProblem(databaseError(state))).toBeNull();
    },
  );

  it('maps any error that ends the connection to db.unavailable', () => {
    const error = databaseError('58P01');
    error.severity = 'PANIC';
    expect(toStoreProblem(error)?.code).toBe('db.unavailable');
  });

  const TLS = ['EPROTO', 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC'];
  test.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'ETIMEDOUT', ...TLS])(
    'maps %s to db.unavailable',
    (code) => {
      expect(toStoreProblem(networkError(code))?.code).toBe('db.unavailable');
    },
  );

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated',
    'timeout expired',
    'aborted',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'select 1 - Connection terminated unexpectedly',
  ])('maps the driver\'s "%s" to db.unavailable', (message) => {
    expect(toStoreProblem(new Error(message))?.code).toBe('db.unavailable');
  });

  it('maps what the pool and the store say', () => {
    expect(toStoreProblem(new knex.KnexTimeoutError('Knex: Timeout acquiring a connection.'))?.code).toBe(
      'db.unavailable',
    );
    expect(toStoreProblem(new StoreError('store.timeout', 'too slow'))?.code).toBe('db.timeout');
    expect(toStoreProblem(new StoreError('store.busy', 'too many'))?.code).toBe('db.unavailable');
    expect(toStoreProblem(new StoreError('store.not_committed', 'ours'))).toBeNull();
  });

  test.each([[new Error('something else')], [new TypeError('x is not a function')], ['text'], [null], [undefined]])(
    'leaves %p alone',
    (error) => {
      expect(toStoreProblem(error)).toBeNull();
    },
  );
});

describe('unlessRefused', () => {
  const late = new StoreError('store.timeout', 'too late');

  test.each(['40001', '40P01', '57014', '53100', '25006', '23505', 'XX000'])(
    'leaves no doubt about what the server refused with SQLSTATE %s',
    (state) => {
      const error = Object.assign(databaseError(state), { severity: 'ERROR' });
      expect([unlessRefused(error, error), unlessRefused(error, late)]).toEqual([error, late]);
    },
  );

  test.each([
    Object.assign(databaseError('57P01'), { severity: 'ERROR' }),
    Object.assign(databaseError('08006'), { severity: 'ERROR' }),
    Object.assign(databaseError('40003'), { severity: 'ERROR' }),
    Object.assign(databaseError('XX000'), { severity: 'FATAL' }),
    networkError('ECONNRESET'),
    new Error('Connection terminated unexpectedly'),
    late,
  ])('leaves it open after %s', (error) => {
    const thrown = unlessRefused(error, late);
    expect(thrown).toMatchObject({ code: 'store.timeout', isInDoubt: true, cause: late });
    expect(toStoreProblem(thrown)).toMatchObject({ code: 'db.timeout', detail: { outcome: 'unknown' } });
  });

  it('leaves alone what is no failure of the store', () => {
    const ours = new TypeError('x is not a function');
    expect(unlessRefused(ours, ours)).toBe(ours);
  });
});

describe('toStoreError', () => {
  const told = (code: string): pg.DatabaseError => Object.assign(databaseError(code), { severity: 'ERROR' });

  it('leaves out the statement and its values, which knex puts before the message', () => {
    const error = Object.assign(databaseError('53100'), {
      severity: 'ERROR',
      message: "insert into records (name) values ('secret - name') - the disk is full",
    });
    expect(toStoreError(error)?.message).toBe('the disk of the store is full (SQLSTATE 53100: the disk is full)');
  });

  test.each([
    ['25006', 'store.read_only', 'the store is read-only (SQLSTATE 25006)'],
    ['42501', 'store.rights', 'the database user lacks a privilege that this needs (SQLSTATE 42501)'],
    ['57014', 'store.timeout', 'the store did not answer in time (SQLSTATE 57014: told by the server)'],
    ['53100', 'store.full', 'the disk of the store is full (SQLSTATE 53100: told by the server)'],
    ['53200', 'store.failed', 'the store has run out of memory or disk space (SQLSTATE 53200: told by the server)'],
    ['53300', 'store.connections', 'the store has no connection left (SQLSTATE 53300: told by the server)'],
    ['58P01', 'store.failed', 'the store met an error of its system (SQLSTATE 58P01: told by the server)'],
    [
      '57P01',
      'store.failed',
      'the store failed, or the connection to it was lost (SQLSTATE 57P01: told by the server)',
    ],
  ])('tells SQLSTATE %s as %s', (state, code, message) => {
    const error = told(state);
    expect(toStoreError(error)).toMatchObject({ code, message, help: expect.any(String), cause: error });
  });

  it('never repeats what the driver says', () => {
    const error = new Error('insert into "api_keys" - Connection terminated unexpectedly');
    expect(toStoreError(error)).toMatchObject({
      code: 'store.failed',
      message: 'the store failed, or the connection to it was lost',
    });
    expect(toStoreError(networkError('ECONNRESET'))?.message).not.toContain('connect ');
  });

  it('gives a failure that has its words as it is, and no fault of ours', () => {
    const error = new StoreError('store.locked', 'in use');
    expect(toStoreError(error)).toBe(error);
    expect(toStoreError(told('42P01'))).toBeNull();
  });
});
