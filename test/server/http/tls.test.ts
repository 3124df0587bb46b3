// The API under TLS: what clients can agree on, certificates that are replaced while requests are in flight, and what a client's
// own certificate says of it.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as tcpConnect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type ConnectionOptions, TLSSocket } from 'node:tls';
import type { Instant } from '../../../engine/index.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { listen, makeServices } from '../../../server/compose.js';
import { anyHost } from '../../../server/http/host-guard.js';
import { bindTcp } from '../../../server/http/http-server.js';
import type { Services } from '../../../server/http/door.js';
import { openTlsIdentity, type TlsFiles, type TlsIdentity, watchTlsFiles } from '../../../server/http/tls-files.js';
import type { Logger } from '../../../server/lib/ports.js';
import { TLS_LIMITS } from '../../../server/limits/http.js';
import { copyOf, type Issued, issue, makeAuthority } from '../../support/certificates.js';
import { call, openGateway, readToEnd, type TestGateway } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';

let folder: string;
let authority: Issued;
let server: Issued;
let other: Issued;
let clients: Readonly<Record<'good' | 'expired' | 'foreign' | 'server', Issued>>;
let identity: TlsIdentity;
let open: TestGateway;
/** Asks clients for certificates. */
let asking: TestGateway;
let key: string;

beforeAll(async () => {
  folder = await makeFolder();
  const strangers = await makeAuthority(folder, 'strangers');
  authority = await makeAuthority(folder);
  server = await issue(folder, 'server', { authority });
  other = await issue(folder, 'other', { authority });
  clients = {
    good: await issue(folder, 'good', { authority, usage: 'clientAuth' }),
    expired: await issue(folder, 'expired', { authority, usage: 'clientAuth', days: -1 }),
    foreign: await issue(folder, 'foreign', { authority: strangers, usage: 'clientAuth' }),
    server: other,
  };
  identity = await openTlsIdentity({ ...used('used', server), clientCaFile: null });
  open = await openGateway({ tls: identity });
  const asks = await openTlsIdentity({ ...server, clientCaFile: authority.certFile });
  asking = await openGateway({ tls: asks, db: open.db });
  key = (await open.key()).text;
});

afterAll(async () => {
  await asking.dispose();
  await open.dispose();
});

const used = (name: string, issued: Issued): Issued => copyOf(folder, name, issued);

function pemOf({ certFile, keyFile }: Issued): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly serial: string | undefined;
}

function ask(port: number, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      port,
      host: '127.0.0.1',
      path: '/api/v1/whoami',
      ca: readFileSync(authority.certFile),
      agent: false,
      ...options,
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const { socket } = response;
      const serial = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.serialNumber : undefined;
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const { code } = JSON.parse(text) as { readonly code?: unknown };
        resolve({ status: response.statusCode ?? 0, code, serial });
      });
    });
    request.end();
  });
}

const bearer = (): RequestOptions => ({ headers: { authorization: `Bearer ${key}` } });

function serialOf(identityNow: TlsIdentity): string {
  return identityNow.certificate().serialNumber;
}

async function agreed(port: number, options: ConnectionOptions): Promise<string | null> {
  const socket = connect({ port, host: '127.0.0.1', ca: readFileSync(authority.certFile), ...options });
  try {
    await once(socket, 'secureConnect');
    return socket.getProtocol();
  } finally {
    socket.destroy();
  }
}

/** Whether a second connection takes up the session of the first. */
async function isTakenUp(port: number): Promise<boolean> {
  const options = { port, host: '127.0.0.1', ca: readFileSync(authority.certFile), ...pemOf(clients.good) };
  const first = connect(options);
  const sessions: Buffer[] = [];
  first.on('session', (session) => sessions.push(session));
  await once(first, 'secureConnect');
  first.write('GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await readToEnd(first);
  const session = sessions.at(-1);
  const again = connect({ ...options, ...(session === undefined ? {} : { session }) });
  await once(again, 'secureConnect');
  const isReused = again.isSessionReused();
  again.destroy();
  return isReused;
}

describe('the API under TLS', () => {
  it('answers as it does in clear text, under https', async () => {
    expect(open.gateway.url).toBe(`https://127.0.0.1:${String(open.port)}`);
    expect(await ask(open.port, bearer())).toMatchObject({ status: 200 });
    expect(await ask(open.port)).toMatchObject({ status: 401, code: 'auth.required' });
  });

  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    expect(await agreed(open.port, { maxVersion: 'TLSv1.2' })).toBe('TLSv1.2');
    expect(await agreed(open.port, {})).toBe('TLSv1.3');
    const old = agreed(open.port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    await expect(old).rejects.toThrow();
    expect(open.lines.at(-1)).toMatchObject({
      message: 'the TLS handshake failed',
      reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL',
      address: '127.0.0.1',
    });
  });

  it('turns away who speaks in clear text, and who says nothing counts for nobody else', async () => {
    const socket = tcpConnect({ port: open.port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.write('GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await readToEnd(socket)).not.toContain('HTTP/1.1 200');
    const idle = tcpConnect({ port: open.port, host: '127.0.0.1' });
    await once(idle, 'connect');
    expect(await ask(open.port, bearer())).toMatchObject({ status: 200 });
    idle.destroy();
  });

  it('refuses what never becomes a request as in clear text', async () => {
    const socket = connect({ port: open.port, host: '127.0.0.1', ca: readFileSync(authority.certFile) });
    await once(socket, 'secureConnect');
    socket.write('hello\r\n\r\n');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 400 .*"code":"request\.malformed"/s);
  });

  it('is the same service as another listener on the same store', async () => {
    const clear = await openGateway({ db: open.db });
    expect((await call(clear.port, { method: 'GET', path: '/api/v1/whoami', key })).status).toBe(200);
    await clear.dispose();
  });
});

it('does not wait at its end for who never finishes the handshake, and answers who has', async () => {
  const ending = await openGateway({ tls: identity, db: open.db });
  const mute = tcpConnect({ port: ending.port, host: '127.0.0.1' });
  const held = connect({ port: ending.port, host: '127.0.0.1', ca: readFileSync(authority.certFile) });
  await Promise.all([once(mute, 'connect'), once(held, 'secureConnect')]);
  const answer = readToEnd(held);
  const head = `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`;
  held.write(`${head}\r\nContent-Length: 37\r\n\r\n{"family":`);
  // By its answer, what was sent before has been read.
  await ask(ending.port);
  const from = performance.now();
  const closed = ending.gateway.close();
  await once(mute.resume(), 'close');
  expect(performance.now() - from).toBeLessThan(TLS_LIMITS.handshakeTimeout / 2);
  held.write('"resource","namespace":"/"}');
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  await closed;
  await ending.dispose();
});

describe('files that cannot be used', () => {
  const make = (): Record<string, TlsFiles> => {
    const text = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n';
    const torn = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const none = { clientCaFile: null };
    return {
      'is not there': { ...none, ...server, certFile: join(folder, 'nowhere.crt') },
      'is a folder': { ...none, ...server, certFile: folder },
      'is another certificate’s key': { ...none, certFile: server.certFile, keyFile: other.keyFile },
      'has no certificate': { ...none, ...server, certFile: server.keyFile },
      'has no key': { ...none, ...server, keyFile: server.certFile },
      'has an encrypted key': { ...none, ...server, keyFile: text('encrypted.key', encrypted) },
      'has a torn certificate': { ...none, ...server, certFile: text('torn.crt', torn) },
      'vouches for nobody': { ...server, clientCaFile: text('empty.crt', '\n') },
    };
  };

  test.each([
    ['is not there', 'nowhere.crt` does not exist'],
    ['is a folder', '` is not a regular file'],
    ['is another certificate’s key', 'other.key` is not the key of the certificate in `'],
    ['has no certificate', 'server.key` has no certificate in PEM form'],
    ['has no key', 'server.crt` has no private key in PEM form'],
    ['has an encrypted key', 'encrypted.key` has an encrypted key: give one that is not encrypted'],
    ['has a torn certificate', 'torn.crt` has a certificate that cannot be read'],
    ['vouches for nobody', 'empty.crt` has no certificate in PEM form'],
  ])('because one %s are refused by name', async (name, words) => {
    const files = make()[name];
    if (files === undefined) throw new Error(name);
    await expect(openTlsIdentity(files)).rejects.toThrow(words);
  });

  it('tells of a key that every user of the machine can read', async () => {
    const files = { ...used('exposed', server), clientCaFile: null };
    chmodSync(files.keyFile, 0o600);
    expect((await openTlsIdentity(files)).isKeyExposed()).toBe(false);
    chmodSync(files.keyFile, 0o644);
    expect((await openTlsIdentity(files)).isKeyExposed()).toBe(true);
  });
});

const lines: { readonly level: string; readonly message: string; readonly reason?: unknown }[] = [];
const log: Logger = {
  info: (fields, message) => lines.push({ level: 'info', message, ...fields }),
  warn: (fields, message) => lines.push({ level: 'warn', message, ...fields }),
  error: (fields, message) => lines.push({ level: 'error', message, ...fields }),
};

describe('certificates that change', () => {
  it('are taken by new connections; those in flight and idle ones go on', async () => {
    const watch = watchTlsFiles(identity, { log });
    const before = serialOf(identity);
    const files = { certFile: join(folder, 'used-used.crt'), keyFile: join(folder, 'used-used.key') };
    const held = connect({ port: open.port, host: '127.0.0.1', ca: readFileSync(authority.certFile) });
    await once(held, 'secureConnect');
    // Half a request: it is in flight while the certificate changes.
    held.write(`GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`);

    copyFileSync(other.certFile, files.certFile);
    await watch.pollNow();
    expect(lines.at(-1)).toMatchObject({ level: 'error', reason: expect.stringContaining('is not the key of') });
    expect((await ask(open.port, bearer())).serial).toBe(before);
    copyFileSync(other.keyFile, files.keyFile);
    await watch.pollNow();
    expect(lines.at(-1)).toMatchObject({ level: 'info', message: 'the TLS certificate was renewed' });
    const after = await ask(open.port, bearer());
    expect([after.status, after.serial === before, after.serial === serialOf(identity)]).toEqual([200, false, true]);

    held.write('Connection: close\r\n\r\n');
    expect(await readToEnd(held)).toMatch(/^HTTP\/1\.1 200 /);
    await watch.stop();
  });

  it('are found without a signal, and a fault is reported once', async () => {
    const files = { ...used('polled', server), clientCaFile: null };
    const polled = await openTlsIdentity(files);
    const watch = watchTlsFiles(polled, { log, interval: 20 });
    lines.length = 0;
    writeFileSync(files.certFile, 'nothing');
    while (lines.length === 0) await sleep(10);
    await sleep(100);
    expect(lines).toMatchObject([{ level: 'error', reason: expect.stringContaining('has no certificate') }]);
    copyFileSync(other.certFile, files.certFile);
    copyFileSync(other.keyFile, files.keyFile);
    while (lines.at(-1)?.level !== 'info') await sleep(10);
    expect(serialOf(polled)).toBe((await openTlsIdentity({ ...other, clientCaFile: null })).certificate().serialNumber);
    await watch.stop();
  });
});

describe('a client’s certificate', () => {
  test.each([
    ['none', 200, undefined],
    ['good', 200, undefined],
    ['expired', 401, 'CERT_HAS_EXPIRED'],
    ['foreign', 401, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['server', 401, 'INVALID_PURPOSE'],
  ] as const)('%s beside a good key is %i', async (name, status, reason) => {
    const options = name === 'none' ? {} : pemOf(clients[name]);
    expect(await ask(asking.port, { ...bearer(), ...options })).toMatchObject({ status });
    if (reason !== undefined) {
      expect(asking.lines.at(-1)).toMatchObject({ code: 'auth.invalid', reason: `certificate: ${reason}` });
    }
  });

  it('that does not count is not evidence without a key either', async () => {
    expect(await ask(asking.port, pemOf(clients.expired))).toMatchObject({ status: 401, code: 'auth.invalid' });
    expect(await ask(asking.port)).toMatchObject({ status: 401, code: 'auth.required' });
  });

  it('is judged on every connection: no session is taken up again', async () => {
    expect(await isTakenUp(open.port)).toBe(true);
    expect(await isTakenUp(asking.port)).toBe(false);
  });

  it('is not asked for where nobody vouches for clients', async () => {
    expect(await ask(open.port, { ...bearer(), ...pemOf(clients.foreign) })).toMatchObject({ status: 200 });
  });
});

test('a certificate is evidence only once it is verified', async () => {
  const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
  const log: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const services = await makeServices({
    mode: { kind: 'local' },
    db: open.db,
    rate,
    concurrency: { perActor: 4 },
    log,
  });
  const seen: (string | undefined)[] = [];
  const actors: Services['actors'] = {
    ...services.actors,
    credentialOf: (evidence) => {
      const { authenticate, ...credential } = services.actors.credentialOf(evidence);
      const seeing = (at: Instant): Promise<RequestActor> => {
        seen.push(evidence.certificate?.subject);
        return authenticate(at);
      };
      return { ...credential, authenticate: seeing };
    },
  };
  const tls = await openTlsIdentity({ ...server, clientCaFile: authority.certFile });
  const at = await bindTcp({ host: '127.0.0.1', port: 0 }, { tls });
  const listener = await listen({ ...services, actors }, { routes: services.routes, manner: { guard: anyHost }, at });
  for (const options of [{}, pemOf(clients.good), pemOf(clients.foreign)]) await ask(listener.at.port, options);
  expect(seen).toEqual([undefined, 'CN=good']);
  await listener.close();
});
