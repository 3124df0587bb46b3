// The Unix socket of the gateway as evidence: the system lets only the gateway's own user connect. Use it on that
// listener and no other.
import { adminOfSocket, type AdminActor } from './admin-actor.js';
import type { Authenticator } from './authenticator.js';

export function makeSocketAuthenticator(): Authenticator<AdminActor> {
  const actor = adminOfSocket();
  const credential = { isUnproven: false, issuer: null, authenticate: () => Promise.resolve(actor) };
  return {
    name: 'socket',
    // A credential that is presented anyway must be valid.
    credentialOf: ({ bearer, certificate }) => (bearer === null && certificate === null ? credential : null),
    issuers: [],
    close: () => Promise.resolve(),
  };
}
