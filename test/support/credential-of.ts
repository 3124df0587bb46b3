// The credential that an authenticator finds in some evidence, as the gateway's registry would return it if there were
// no other.
import { type Authenticator, type Credential, type Evidence, makeRegistry } from '../../server/auth/authenticator.js';
import type { RequestActor } from '../../server/auth/request-actor.js';

export function credentialOf(authenticator: Authenticator<RequestActor>, evidence: Evidence): Credential<RequestActor> {
  return makeRegistry([authenticator], () => false).credentialOf(evidence);
}
