// A real OpenID provider on loopback, which can be stopped and started again with other keys.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

export const CLIENT = { id: 'beamline-app', secret: 'canary-client-secret-of-the-app' };
/** What resource indicators name the gateway by, and another API of the same provider. */
export const API = 'https://gateway.example.org/';
export const OTHER_API = 'https://other.example.org/';

export interface OpenidProvider {
  readonly url: string;
  /** The text of a new access token by client credentials. */
  readonly token: (request?: { readonly resource?: string | null; readonly scope?: string }) => Promise<string>;
  readonly start: (keys: readonly JWK[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** `claims` come into every token beside the usual ones. */
export async function openProvider(
  keys: readonly JWK[],
  claims: () => Readonly<Record<string, unknown>>,
): Promise<OpenidProvider> {
  let server: Server | null = null;
  let port = 0;
  const start = async (present: readonly JWK[]): Promise<void> => {
    const made = createServer();
    made.listen(port, '127.0.0.1');
    await once(made, 'listening');
    port = (made.address() as AddressInfo).port;
    const provider = new Provider(`http://127.0.0.1:${String(port)}`, configurationOf(present, claims));
    const answer = provider.callback();
    made.on('request', (request, response) => void answer(request, response));
    server = made;
  };
  await start(keys);
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    url,
    start,
    stop: async () => {
      const ending = server;
      server = null;
      if (ending === null) return;
      ending.closeAllConnections();
      ending.close();
      await once(ending, 'close');
    },
    token: async ({ resource = API, scope } = {}) => {
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}` },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          ...(resource === null ? {} : { resource }),
          ...(scope === undefined ? {} : { scope }),
        }),
      });
      const answer = (await response.json()) as Readonly<Record<string, unknown>>;
      if (typeof answer['access_token'] !== 'string') throw new Error(JSON.stringify(answer));
      return answer['access_token'];
    },
  };
}

function configurationOf(keys: readonly JWK[], claims: () => Readonly<Record<string, unknown>>): Configuration {
  return {
    jwks: { keys },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes: ['openid', 'resource:read', 'namespace:read', 'read:org'],
    extraTokenClaims: () => ({ ...claims() }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: 'resource:read namespace:read read:org',
          audience,
          accessTokenTTL: 3_600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}
