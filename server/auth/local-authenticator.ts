// Local execution: always the same actor, whatever the request carries.
import type { Authenticator } from './authenticator.js';
import type { Fingerprinter } from './fingerprint.js';
import { localActor, type RequestActor } from './request-actor.js';

export function makeLocalAuthenticator(fingerprint: Fingerprinter): Authenticator<RequestActor> {
  const actor = localActor(fingerprint('local', 'local'));
  const credential = { isUnproven: false, issuer: null, authenticate: () => Promise.resolve(actor) };
  return {
    name: 'local',
    credentialOf: () => credential,
    issuers: [],
    close: () => Promise.resolve(),
  };
}
