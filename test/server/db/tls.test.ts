// TLS to a PostgreSQL of the operator: what the database URL means, files that come and go while a process runs, and a
// server whose certificate is replaced.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreClient, StorePool } from '../../../server/db/connections.js';
import { openDatabase } from '../../../server/db/database.js';
import { externalSource } from '../../../server/db/external.js';
import { storeFailure } from '../../../server/db/failures.js';
import { sql } from '../../../server/db/sql.js';
import { DATABASE_LIMITS } from '../../../server/limits/store.js';
import { issue, type Issued, makeAuthority } from '../../support/certificates.js';
import { findPostgres, runSql, startPostgres } from '../../support/postgres.js';
import { startTlsPostgres, type TlsPostgres } from '../../support/tls-postgres.js';
import { until } from '../../support/until.js';

const { statementTimeout, idleInTransaction, connectTimeout } = DATABASE_LIMITS;
const sourceOf = (url: string): ReturnType<typeof externalSource> =>
  externalSource({ url, statementTimeout, idleInTransaction, connectTimeout, acquireTimeout: 1_000 });
const coded = (code: string): Error => Object.assign(new Error(code), { code });

describe('the TLS parameters of a database URL', () => {
  let folder: string;
  let [authority, client]: Partial<Issued>[] = [{}, {}];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bailiwick-tls-'));
    const made = await makeAuthority(folder);
    [authority, client] = [made, await issue(folder, 'client', { authority: made, usage: 'clientAuth' })];
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const UNCHECKED = { rejectUnauthorized: false };
  const NAMELESS = { ca: 'authority.crt', checkServerIdentity: 'function' };
  test.each<[string, unknown, string?]>([
    ['', false],
    ['sslmode=disable', false],
    ['sslmode=disable&sslrootcert=CA', false],
    ['sslmode=no-verify', UNCHECKED],
    ['sslmode=no-verify&sslrootcert=CA', { ...UNCHECKED, ca: 'authority.crt' }],
    ...['allow', 'prefer', 'require', 'verify-ca', 'verify-full'].flatMap((mode): [string, unknown][] => [
      [`sslmode=${mode}`, {}],
      [`sslmode=${mode}&sslrootcert=CA`, { ca: 'authority.crt' }],
    ]),
    ['sslmode=verify-full&sslrootcert=', {}],
    ['sslrootcert=CA', { ca: 'authority.crt' }],
    ['sslcert=CERT&sslkey=KEY&sslrootcert=CA', { ca: 'authority.crt', cert: 'client.crt', key: 'client.key' }],
    ['ssl=true', true],
    ['ssl=1', true],
    ['ssl=0', false],
    ['ssl=no-verify', UNCHECKED],
    ['ssl=0&sslmode=require', {}],
    ['sslnegotiation=direct', true, 'direct'],
    ['sslnegotiation=direct&sslmode=no-verify', UNCHECKED, 'direct'],
    ['sslmode=disable&uselibpqcompat=true', false],
    ['sslmode=allow&uselibpqcompat=true', {}],
    ['sslmode=prefer&uselibpqcompat=true', UNCHECKED],
    ['sslmode=require&uselibpqcompat=true', UNCHECKED],
    ['sslmode=require&uselibpqcompat=true&sslrootcert=CA', NAMELESS],
    ['sslmode=verify-ca&uselibpqcompat=true&sslrootcert=CA', NAMELESS],
    ['sslmode=verify-full&uselibpqcompat=true&sslrootcert=CA', { ca: 'authority.crt' }],
    ['ssl%6Dode=no-verify&application_name=ours', UNCHECKED],
  ])('%s', async (parameters, expected, negotiation = 'postgres') => {
    const files = new Map([
      ['CA', authority?.certFile],
      ['CERT', client?.certFile],
      ['KEY', client?.keyFile],
    ]);
    const filled = parameters.replaceAll(/CA|CERT|KEY/g, (name) => String(files.get(name)));
    const { ssl, sslNegotiation } = new StoreClient(sourceOf(`postgres://a@localhost/b?${filled}`).config(), 0)
      .connection;
    const names = new Map<unknown, string>();
    for (const name of ['authority.crt', 'client.crt', 'client.key'])
      names.set(await readFile(join(folder, name), 'utf8'), name);
    const shown = (value: unknown): unknown => names.get(value) ?? (typeof value === 'function' ? 'function' : value);
    // The driver hides the key from whoever lists the options.
    const options =
      typeof ssl === 'object'
        ? Object.fromEntries(Object.getOwnPropertyNames(ssl).map((name) => [name, shown(Reflect.get(ssl, name))]))
        : ssl;
    expect([options, sslNegotiation]).toEqual([expected, negotiation]);
  });
});

describe('a connection that cannot be opened', () => {
  const reach = (source: ReturnType<typeof externalSource>, error: Error): Promise<unknown> =>
    source
      .reach(() => Promise.reject(error))
      .then(
        () => 'no failure',
        (failure: unknown) => failure,
      );

  test.each([
    ['CERT_HAS_EXPIRED', 'store.tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'store.tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'store.tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'store.tls'],
    ['The server does not support SSL connections', 'store.tls'],
    ['There was an error establishing an SSL connection', 'store.tls'],
    ['EPROTO', 'store.unreachable'],
    ['EACCES', 'store.unreachable'],
    ['EAI_FAIL', 'store.unreachable'],
    ['what nobody has thought of', 'store.unreachable'],
    ['28P01', 'store.refused'],
    ['57P03', 'store.unreachable'],
    ['53300', 'store.connections'],
    ['42501', 'store.grants'],
    ['08P01', 'store.unreachable'],
  ])('because of %s is a failure of the store', async (what, code) => {
    const error = what.includes(' ') ? new Error(what) : coded(what);
    const failure = await reach(sourceOf('postgres://a:hunter2@localhost/b'), error);
    const message = expect.stringMatching(`PostgreSQL at localhost:5432, database b.*: ${what}$`);
    expect(failure).toMatchObject({ name: 'StoreError', code, cause: error, message });
    expect(storeFailure(failure)).toBe('unavailable');
  });

  it('because of a pooler that does not pass a parameter on is refused', async () => {
    const words = 'unsupported startup parameter: statement_timeout';
    const error = Object.assign(new Error(words), { code: '08P01' });
    expect(await reach(sourceOf('postgres://a@localhost/b'), error)).toMatchObject({ code: 'store.refused' });
  });

  it('is known until one can be, unless the server was only busy', async () => {
    const source = sourceOf('postgres://a@127.0.0.1:1/b');
    await source.assertOpens();
    for (const passing of [coded('53300'), coded('08P01'), new Error('timeout expired')]) await reach(source, passing);
    await source.assertOpens();
    // There is a connection, but others use it.
    const waited = new Error('timeout exceeded when trying to connect');
    expect(await reach(source, waited)).toBe(waited);
    await source.assertOpens();
    await reach(source, coded('CERT_HAS_EXPIRED'));
    for (const _ of [1, 2])
      await expect(source.assertOpens()).rejects.toMatchObject({
        code: 'store.unreachable',
        cause: { code: 'ECONNREFUSED' },
      });
  });
});

if (findPostgres() === null) {
  test.skip('a PostgreSQL with TLS (none is installed here)', () => undefined);
} else {
  describe('a PostgreSQL with TLS', () => {
    let tls: TlsPostgres;
    beforeAll(async () => {
      tls = await startTlsPostgres();
    });
    afterAll(() => tls.stop());

    const opens = (url: string): Promise<string> =>
      openDatabase({ kind: 'external', url }).then(
        async (db) => {
          await db.close();
          return 'open';
        },
        (error: unknown) => String(error),
      );

    it('is reached with the certificates that could be read last, while their file is away or half written', async () => {
      const trusted = join(tls.folder, 'trusted.pem');
      await copyFile(tls.authority.ours, trusted);
      const url = tls.url(`sslmode=verify-full&sslrootcert=${trusted}`);
      const db = await openDatabase({ kind: 'external', url, maxConnections: 6, acquireTimeout: 60_000 });
      const naps = (count: number): Promise<unknown> =>
        Promise.all(Array.from({ length: count }, () => db.read(sql`SELECT pg_sleep(${0.3}::float8)`)));
      await naps(1);
      // One connection is free. The pool opens the others when nobody would catch what the driver throws.
      await rm(trusted);
      await naps(3);
      expect(await opens(url)).toMatch(/sslrootcert=\S+ in the database URL cannot be read \(ENOENT\)/);
      await writeFile(trusted, '');
      await naps(5);

      await tls.present('strange');
      await until(async () => /store.tls|TLS with/.test(await opens(tls.url(`sslrootcert=${tls.authority.ours}`))));
      await copyFile(tls.authority.strange, trusted);
      await naps(6);
      await tls.present('ours');
      await until(async () => (await opens(tls.url(`sslrootcert=${tls.authority.ours}`))) === 'open');
      await db.close();
    });

    it('whose driver throws where nobody catches it fails whoever waits, and nobody else', async () => {
      const working = sourceOf(tls.url(`sslmode=verify-full&sslrootcert=${tls.authority.ours}`));
      let isBroken = false;
      const config = (): ReturnType<typeof working.config> => {
        if (isBroken) throw new Error('broken');
        return working.config();
      };
      const pool = new StorePool({ ...working, config }, { max: 2 });
      await pool.run('SELECT 1');
      isBroken = true;
      const both = [pool.run('SELECT 1'), pool.run('SELECT 1')];
      expect(await Promise.allSettled(both)).toMatchObject([
        { status: 'fulfilled' },
        { status: 'rejected', reason: { code: 'store.unreachable', cause: { message: 'broken' } } },
      ]);
      isBroken = false;
      await Promise.all([pool.run('SELECT 1'), pool.run('SELECT 1')]);
      await pool.end();
    });

    it('as a replica leaves its reads to the primary while no connection to it can be opened', async () => {
      const primary = await startPostgres();
      if (primary === null) throw new Error('there is no account to run PostgreSQL as');
      const replica = await startTlsPostgres((settings) => primary.startReplica(settings));
      await runSql(primary.url, 'CREATE SCHEMA bailiwick');
      const readUrl = replica.url(`sslmode=verify-full&sslrootcert=${replica.authority.ours}`);
      const db = await openDatabase({ kind: 'external', url: primary.url, readUrls: [readUrl] });
      const where = async (): Promise<'primary' | 'replica'> => {
        const [row] = await db.readReplica<{ readonly is: boolean }>(
          sql`SELECT pg_is_in_recovery() AS is, pg_sleep(${0.05}::float8)`,
        );
        return row?.is === true ? 'replica' : 'primary';
      };
      await until(async () => (await where()) === 'replica', 'the replica');
      await replica.present('strange');
      // More at once than there are connections to it.
      await until(async () => (await Promise.all(Array.from({ length: 6 }, where))).includes('primary'));
      await until(() => db.replicas()[0]?.fault === 'away');
      await until(() => db.replicas()[0]?.isUsed === false);
      expect(await where()).toBe('primary');
      await replica.present('ours');
      await until(async () => (await where()) === 'replica', 'the replica again');
      expect(db.replicas()[0]).toMatchObject({ isUsed: true, fault: null });
      await db.close();
      await replica.stop();
      await primary.stop();
    });
  });
}
