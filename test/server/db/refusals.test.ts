// What a person reads when a PostgreSQL refuses the gateway, or the gateway the PostgreSQL: the words, with nothing secret in them.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DATABASE_URL } from '../../../server/config/value-types.js';
import { openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { findPostgres, runSql, startPostgres, type TestPostgres } from '../../support/postgres.js';
import { spawnCli } from '../../support/run-cli.js';
import { makeFolder } from '../../support/temp-folder.js';
import { withTls } from '../../support/tls-postgres.js';

/** What a connection begins with, after the length. */
const [STARTUP, CANCEL_REQUEST, SSL_REQUEST] = [196_608, 80_877_102, 80_877_103];

/** `code: message` of a refusal; `open` where there is none. */
async function wordsOf(url: string): Promise<string> {
  try {
    await (await openDatabase({ kind: 'external', url })).close();
    return 'open';
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    return `${String(code)}: ${String(message)}`;
  }
}

describe('before the PostgreSQL is asked', () => {
  test('an unknown sslmode is reported with the known ones', async () => {
    expect(await wordsOf('postgres://admin:hunter2@localhost/db?sslmode=bogus')).toBe(
      'store.tls: sslmode in the database URL is not one of disable, allow, prefer, require, verify-ca, verify-full, no-verify',
    );
  });

  test('so is a missing CA file', async () => {
    expect(await wordsOf('postgres://admin:hunter2@localhost/db?sslmode=verify-full&sslrootcert=/nowhere/ca.pem')).toBe(
      'store.tls: sslrootcert=/nowhere/ca.pem in the database URL cannot be read (ENOENT)',
    );
  });

  test('so is a file that is no certificate, which Node would take for none', async () => {
    expect(await wordsOf('postgres://admin:hunter2@localhost/db?sslmode=verify-full&sslrootcert=/etc/hostname')).toBe(
      'store.tls: sslrootcert=/etc/hostname in the database URL has no certificate in PEM form',
    );
  });

  test('so is one that was cut off', async () => {
    const path = join(await makeFolder({ 'ca.pem': '-----BEGIN CERTIFICATE-----\nMIIB' }), 'ca.pem');
    expect(await wordsOf(`postgres://admin:hunter2@localhost/db?sslrootcert=${path}`)).toBe(
      `store.tls: sslrootcert=${path} in the database URL has no certificate in PEM form`,
    );
  });

  test('so is a URL of another database', async () => {
    expect(await wordsOf('mysql://admin:hunter2@localhost/db')).toBe(
      'store.url: the database URL does not begin with postgres:// or postgresql://',
    );
  });

  test('so is a parameter that the driver would ignore', async () => {
    expect(await wordsOf('postgres://admin:hunter2@localhost/db?sslmode=require&channel_binding=require')).toMatch(
      /^store\.url: the database URL has a parameter that the driver does not know, `channel_binding`; it knows host, port, /,
    );
  });
});

test('where nothing listens is told, however the environment wants TLS to begin', async () => {
  await withVariable('PGSSLNEGOTIATION', 'direct', async () => {
    expect(await wordsOf('postgres://admin@127.0.0.1:1/db?sslmode=require')).toMatch(
      /^store\.unreachable: the PostgreSQL at 127\.0\.0\.1:1, database db /,
    );
  });
});

if (findPostgres() === null) {
  test.skip('a PostgreSQL with passwords and TLS (none is installed here)', () => undefined);
} else {
  describe('a PostgreSQL with passwords and a certificate of its own making', () => {
    let folder: string;
    let port: number;
    let server: TestPostgres;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'bailiwick-tls-'));
      await chmod(folder, 0o755);
      const [key, certificate, rules] = ['server.key', 'server.crt', 'hba.conf'].map((name) => join(folder, name));
      await promisify(execFile)('openssl', [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
        ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
        ...['-keyout', String(key), '-out', String(certificate)],
      ]);
      await writeFile(String(rules), 'local all all trust\nhost all asked all scram-sha-256\nhost all all all trust\n');
      const tls = await withTls({ certFile: String(certificate), keyFile: String(key) });
      port = tls.port;
      const started = await startPostgres([...tls.settings, `hba_file=${String(rules)}`]);
      if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
      server = started;
      await runSql(server.url, "CREATE ROLE asked SUPERUSER LOGIN PASSWORD 'right'");
    });
    afterAll(async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const place = (): string => `127.0.0.1:${String(port)}, database postgres`;
    const words = (user: string, parameters = 'sslmode=disable'): Promise<string> =>
      wordsOf(`postgres://${user}@127.0.0.1:${String(port)}/postgres?${parameters}`);

    const passwordFile = async (): Promise<string> => {
      const lines = ['# ours', '*:*:*:somebody:else', `127.0.0.1:${String(port)}:post\\gres:asked:right`];
      await writeFile(join(folder, 'passwords'), lines.join('\n'));
      await chmod(join(folder, 'passwords'), 0o600);
      return join(folder, 'passwords');
    };

    it('says that it wants a password where the URL has none', async () => {
      expect(await words('asked')).toBe(
        `store.refused: the PostgreSQL at ${place()} refuses the connection: it asks for a password, and none is given`,
      );
    });

    it('says that a password is wrong, and not which one', async () => {
      expect(await words('asked:hunter2')).toBe(
        `store.refused: the PostgreSQL at ${place()} refuses the connection: password authentication failed for user "asked"`,
      );
    });

    it('takes the right one', async () => {
      expect(await words('asked:right')).toBe('open');
    });

    it('is given the one of the password file, unless others may read that', async () => {
      const file = await passwordFile();
      await withVariable('PGPASSFILE', file, async () => {
        expect(await words('asked')).toBe('open');
        await chmod(file, 0o644);
        expect(await words('asked')).toBe(
          `store.refused: the password file ${file} can be read by others, so it is not used: \`chmod 600\` it`,
        );
      });
      await withVariable('PGPASSFILE', join(folder, 'nowhere'), async () => {
        expect(await words('asked')).toBe(
          `store.refused: the password file ${join(folder, 'nowhere')} cannot be read (ENOENT)`,
        );
      });
    });

    it('is reached through its socket, however the URL names that', async () => {
      const socket = new URL(server.url).searchParams.get('host') ?? '';
      const encoded = encodeURIComponent(socket);
      for (const url of [
        `postgres:///postgres?host=${socket}&port=${String(port)}&user=postgres`,
        `postgres://postgres@/postgres?host=${socket}&port=${String(port)}`,
        `postgresql://postgres@${encoded}:${String(port)}/postgres`,
        `postgresql://${encoded}:${String(port)}/postgres?user=postgres`,
      ])
        expect([url, DATABASE_URL.parse(url, '/').ok, await wordsOf(url)]).toEqual([url, true, 'open']);
    });

    it.each(['allow', 'prefer', 'require', 'verify-ca', 'verify-full'])(
      'is checked whole for sslmode=%s',
      async (mode) => {
        expect(await words('postgres', `sslmode=${mode}`)).toBe(
          `store.tls: TLS with the PostgreSQL at ${place()} failed: self-signed certificate`,
        );
        expect(await words('postgres', `sslmode=${mode}&sslrootcert=${join(folder, 'server.crt')}`)).toBe('open');
      },
    );

    it.each([
      ['verify-full', 'in secret', [SSL_REQUEST, SSL_REQUEST]],
      ['disable', 'as it is asked everything else', [STARTUP, CANCEL_REQUEST]],
    ])('is asked to stop a statement, for sslmode=%s %s', async (mode, _, expected) => {
      const begun: number[] = [];
      const proxy = createServer((client) => {
        const upstream = connect(port, '127.0.0.1');
        client.once('data', (bytes) => begun.push(bytes.readInt32BE(4)));
        for (const socket of [client.pipe(upstream), upstream.pipe(client)]) socket.on('error', () => undefined);
      });
      await once(proxy.listen(0, '127.0.0.1'), 'listening');
      const { port: watched } = proxy.address() as AddressInfo;
      const query = `sslmode=${mode}&sslrootcert=${join(folder, 'server.crt')}`;
      const db = await openDatabase({
        kind: 'external',
        url: `postgres://postgres@127.0.0.1:${String(watched)}/postgres?${query}`,
        maxConnections: 1,
      });
      try {
        await db.read(sql`SELECT ${1}::int`);
        begun.splice(0, begun.length - 1);
        const leaving = new AbortController();
        const slow = db.read(sql`SELECT pg_sleep(${30}::int)`, { signal: leaving.signal });
        const from = performance.now();
        setTimeout(() => {
          leaving.abort(new Error('gone'));
        }, 100);
        await expect(slow).rejects.toThrow('gone');
        expect(performance.now() - from).toBeLessThan(5_000);
        // The one on which it ran is still good.
        await db.read(sql`SELECT ${1}::int`);
        expect(begun).toEqual(expected);
      } finally {
        await db.close();
        proxy.close();
      }
    });

    it.each([
      ['first', (ca: string) => `sslmode=require&${ca}`],
      ['last', (ca: string) => `${ca}&sslmode=require`],
    ])('is migrated without a word of the driver or of Node, with its sslmode %s', async (_, parametersOf) => {
      const parameters = parametersOf(`sslrootcert=${join(folder, 'server.crt')}`);
      const ran = await spawnCli(['migrate'], {
        env: {
          DATABASE_URL: `postgres://asked@127.0.0.1:${String(port)}/postgres?${parameters}`,
          PGPASSFILE: await passwordFile(),
        },
      });
      const store = /^store: PostgreSQL at 127\.0\.0\.1:\d+, database postgres\n$/;
      expect(ran).toMatchObject({ stderr: expect.stringMatching(store), status: 0 });
    });

    it('is not checked where that was asked for', async () => {
      expect(await words('postgres', 'sslmode=no-verify')).toBe('open');
      expect(await words('postgres', 'sslmode=require&uselibpqcompat=true')).toBe('open');
    });

    it('whose certificate nobody signed is not trusted, unless it is the one that is expected', async () => {
      expect(await words('postgres', 'sslmode=verify-full')).toBe(
        `store.tls: TLS with the PostgreSQL at ${place()} failed: self-signed certificate`,
      );
      expect(await words('postgres', `sslmode=verify-full&sslrootcert=${join(folder, 'server.crt')}`)).toBe('open');
    });
  });
}

async function withVariable(name: string, value: string, work: () => Promise<void>): Promise<void> {
  const before = process.env[name];
  process.env[name] = value;
  try {
    await work();
  } finally {
    if (before === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = before;
  }
}
