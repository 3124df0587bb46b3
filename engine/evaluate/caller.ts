// Checks calls from code without types. A call of the wrong shape throws, because any answer might be an "allow" by
// accident. Only shapes are checked here; the decision judges the content of strings.
import { isScopeSet } from '../model/scope-set.js';
import { ALL_SCOPES } from '../model/vocabulary.js';

const ACTOR =
  "an actor is { kind: 'local' }, or { kind: 'request', identities, credentialScopes, namespaceRestrictions } with a list of identities";

/** An actor with canonical parts. */
export function requireActor(actor: unknown): void {
  if (isLocal(actor)) return;
  if (!isRequester(actor)) throw new TypeError(ACTOR);
  if (actor.credentialScopes !== ALL_SCOPES && !isScopeSet(actor.credentialScopes))
    throw new TypeError('credentialScopes of an actor must be a set of scopes, such as ALL_SCOPES');
}

/** An actor as somebody typed it. */
export function requireRawActor(actor: unknown): void {
  if (isLocal(actor)) return;
  if (!isRequester(actor)) throw new TypeError(ACTOR);
  if (actor.credentialScopes !== null && !Array.isArray(actor.credentialScopes))
    throw new TypeError('credentialScopes of an actor must be a list of scopes, or null for all');
}

export function requireIdentity(identity: unknown): void {
  if (!isObject(identity) || typeof identity['provider'] !== 'string' || typeof identity['subject'] !== 'string')
    throw new TypeError('an identity is an object { provider, subject }; parseIdentity makes one of a string');
}

/** A number that is not an instant, such as NaN, denies everything. Anything else might pass for 1970, as null would. */
export function requireTime(at: unknown): void {
  if (typeof at !== 'number')
    throw new TypeError('a time must be a number of milliseconds since 1970; parseInstant makes one of a string');
}

/** Never reached with types. */
export function refuseReach(_: never): never {
  throw new TypeError("the reach of a request must be 'lineage', 'exact' or 'subtree'");
}

/** Never reached with types. */
export function refuseRequest(_: never): never {
  throw new TypeError("the kind of a request must be 'access', 'create-namespace' or 'copy'");
}

interface Requester {
  readonly credentialScopes: unknown;
}

function isRequester(actor: unknown): actor is Requester {
  // Every kind except the local one is decided by policy.
  if (!isObject(actor) || typeof actor['kind'] !== 'string' || !Array.isArray(actor['identities'])) return false;
  const restrictions = actor['namespaceRestrictions'];
  if (restrictions === null || Array.isArray(restrictions)) return true;
  throw new TypeError('namespaceRestrictions of an actor must be a list of namespaces, or null for no restrictions');
}

function isLocal(actor: unknown): boolean {
  return isObject(actor) && actor['kind'] === 'local';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
