// An issuer of tokens on loopback. The test chooses each of its answers: its keys, how it serves them, and what it
// signs.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';

export interface IssuerKey {
  readonly keyId: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  /** As it is published. */
  readonly jwk: JWK;
}

export async function makeIssuerKey(keyId: string, algorithm = 'ES256', options: object = {}): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true, ...options });
  const jwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' };
  return { keyId, algorithm, privateKey, jwk };
}

/** A token of any header and claims; the payload may be text, so that it can be what no object is. */
export async function sign(
  key: IssuerKey,
  payload: object | string,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const bytes = new TextEncoder().encode(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const full: Readonly<Record<string, unknown>> = { alg: key.algorithm, kid: key.keyId, typ: 'at+jwt', ...header };
  const kept = Object.fromEntries(Object.entries(full).filter(([, value]) => value !== undefined));
  return new CompactSign(bytes).setProtectedHeader(kept as { alg: string }).sign(key.privateKey);
}

export interface TokenIssuer {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  publish: (keys: readonly unknown[]) => void;
  /** From now on everything is answered like this; null: as an issuer does. */
  answerWith: (listener: RequestListener | null) => void;
  /** Ends it, or takes its port again. */
  stop: () => Promise<void>;
  start: () => Promise<void>;
}

export async function openIssuer(keys: readonly unknown[] = []): Promise<TokenIssuer> {
  let published: readonly unknown[] = keys;
  let instead: RequestListener | null = null;
  let port = 0;
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (instead !== null) {
      instead(request, response);
      return;
    }
    const documents = new Map<string, object>([
      ['/.well-known/openid-configuration', { issuer: url(), jwks_uri: `${url()}/jwks` }],
      ['/jwks', { keys: published }],
    ]);
    const found = documents.get(request.url ?? '');
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? {}));
  });
  const url = (): string => `http://127.0.0.1:${String(port)}`;
  const start = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  await start();
  return {
    url: url(),
    asked,
    publish: (next) => {
      published = next;
    },
    answerWith: (listener) => {
      instead = listener;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    start,
  };
}
