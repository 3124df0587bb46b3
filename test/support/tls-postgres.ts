// A PostgreSQL with TLS whose certificate can be replaced while it runs, by one of another authority.
import { once } from 'node:events';
import { chmodSync, chownSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyOf, type Issued, issue, makeAuthority } from './certificates.js';
import { runSql, startPostgres, type TestPostgres, unprivilegedAccount } from './postgres.js';

type Authority = 'ours' | 'strange';

export interface TlsPostgres {
  readonly server: TestPostgres;
  readonly folder: string;
  readonly port: number;
  /** The file of an authority's certificate. */
  readonly authority: Readonly<Record<Authority, string>>;
  /** Of the port with TLS. */
  readonly url: (parameters: string) => string;
  /** It begins with a certificate of `ours`. New connections get the other one soon after this. */
  readonly present: (authority: Authority) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startTlsPostgres(
  start: (settings: readonly string[]) => Promise<TestPostgres | null> = startPostgres,
): Promise<TlsPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-tls-'));
  await chmod(folder, 0o755);
  const [ours, strange] = [await makeAuthority(folder, 'ours'), await makeAuthority(folder, 'strange')];
  const certificates = {
    ours: await issue(folder, 'by-ours', { authority: ours }),
    strange: await issue(folder, 'by-strange', { authority: strange }),
  };
  const { port, settings } = await withTls(copyOf(folder, 'server', certificates.ours));
  const server = await start(settings);
  if (server === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
  return {
    ...{ server, folder, port, authority: { ours: ours.certFile, strange: strange.certFile } },
    url: (parameters) => `postgres://postgres@127.0.0.1:${String(port)}/postgres?${parameters}`,
    present: async (authority) => {
      copyOf(folder, 'server', certificates[authority]);
      await runSql(server.url, 'SELECT pg_reload_conf()');
    },
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Settings of a server that listens with TLS on a free port of this machine. The key becomes its own. */
export async function withTls({ certFile, keyFile }: Issued): Promise<{ port: number; settings: readonly string[] }> {
  const port = await freePort();
  chmodSync(keyFile, 0o600);
  const account = process.getuid?.() === 0 ? unprivilegedAccount() : 'none';
  if (account !== 'none') chownSync(keyFile, account.uid, account.gid);
  const files = [`ssl_cert_file=${certFile}`, `ssl_key_file=${keyFile}`];
  return { port, settings: ['listen_addresses=127.0.0.1', `port=${String(port)}`, 'ssl=on', ...files] };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
