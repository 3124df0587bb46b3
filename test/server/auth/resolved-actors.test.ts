// What is kept of actors that were resolved before: never for anybody else, and not without end.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Policy, resolveActor, type ResolvedActor, scopeSetOf } from '../../../engine/index.js';
import {
  actorOf,
  actorWithoutCredential,
  bytesOf,
  type CredentialHolder,
  type RequestActor,
} from '../../../server/auth/request-actor.js';
import { makeActorResolver } from '../../../server/auth/resolved-actors.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { pathOf, policyOf } from '../../support/gateway.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const BOB = { provider: 'orcid', subject: 'bob' };
const LABS = policyOf([[ADA, '/labs', ['resource:read', 'namespace:read']]]);

/** Each `[policy, actor]` that was really resolved. */
let resolved: [Policy, string][];
const counting: typeof resolveActor = (policy, actor) => {
  resolved.push([policy, (actor as RequestActor).id]);
  return resolveActor(policy, actor);
};
beforeEach(() => {
  resolved = [];
});

describe('what is kept of an actor', () => {
  const fields = { id: 'ada', identities: [ADA], scopes: null, restrictions: null, credentialFingerprint: 'f' };

  it('is not used for a credential of the same fingerprint that says anything else', () => {
    const resolve = makeActorResolver(counting);
    const others: Partial<CredentialHolder>[] = [
      { identities: [BOB] },
      { identities: [ADA, BOB] },
      { identities: [] },
      { identities: [{ provider: 'local', subject: 'ada' }] },
      { identities: [BOB, ADA] },
      { scopes: scopeSetOf(['resource:read']) },
      { restrictions: [] },
      { restrictions: [pathOf('/labs')] },
      { restrictions: [pathOf('/labs'), pathOf('/archive')] },
    ];
    const again = (other: Partial<CredentialHolder> = {}): ResolvedActor =>
      resolve(LABS, actorOf('key', { ...fields, ...other }));
    for (const other of others) {
      again();
      again(other);
    }
    expect(resolved.length).toBe(2 * others.length);
    expect(again()).toBe(again());
    expect(resolved.length).toBe(2 * others.length + 1);
  });

  it('is not used for a credential that differs from it in one of several', () => {
    const resolve = makeActorResolver(counting);
    const [labs, archive, attic] = [pathOf('/labs'), pathOf('/archive'), pathOf('/attic')];
    const several: Partial<CredentialHolder>[] = [
      { identities: [ADA, BOB] },
      { identities: [ADA, { provider: 'orcid', subject: 'eve' }] },
      { identities: [{ provider: 'orcid', subject: 'eve' }, BOB] },
      { restrictions: [labs, archive] },
      { restrictions: [labs, attic] },
      { restrictions: [archive, attic] },
    ];
    for (const one of several) resolve(LABS, actorOf('key', { ...fields, ...one }));
    expect(resolved.length).toBe(several.length);
  });

  it('is not used for a credential of another kind, nor for who has none', () => {
    const resolve = makeActorResolver(counting);
    const [key, token] = [actorOf('key', fields), actorOf('token', fields)];
    for (const actor of [key, token, actorWithoutCredential(ADA), actorWithoutCredential(BOB)]) {
      resolve(LABS, actor);
      expect(resolve(LABS, actor)).toBe(resolve(LABS, { ...actor }));
    }
    expect(resolved.map(([, id]) => id)).toEqual(['ada', 'ada', 'orcid:ada', 'orcid:bob']);
  });

  it('is used for each of the same identities, scopes and restrictions, however they came', () => {
    const resolve = makeActorResolver(counting);
    const all = { identities: [ADA, BOB], scopes: scopeSetOf(['resource:read']), restrictions: [pathOf('/labs')] };
    const again = (): RequestActor => actorOf('key', { ...fields, ...all });
    expect(resolve(LABS, again())).toBe(resolve(LABS, again()));
    expect(resolved.length).toBe(1);
  });

  it('is bounded: who did not come for longest is forgotten', () => {
    const resolve = makeActorResolver(counting);
    const actor = (index: number): RequestActor => actorOf('key', { ...fields, credentialFingerprint: String(index) });
    const most = POLICY_LIMITS.resolvedActors;
    for (let index = 0; index <= most; index += 1) resolve(LABS, actor(index));
    resolve(LABS, actor(1));
    expect(resolved.length).toBe(most + 1);
    resolve(LABS, actor(0));
    expect(resolved.length).toBe(most + 2);
  });

  it('is bounded by what their credentials say of them, too', () => {
    const resolve = makeActorResolver(counting);
    const subjects = Array.from({ length: 1_000 }, (_, index) => `${'g'.repeat(230)}${String(index)}`);
    const identities = subjects.map((subject) => ({ provider: 'orcid', subject }));
    const actor = (index: number): RequestActor =>
      actorOf('token', { ...fields, identities, credentialFingerprint: String(index) });
    const fits = Math.floor(POLICY_LIMITS.resolvedActorBytes / bytesOf(actor(0)));
    for (let index = 0; index <= fits; index += 1) resolve(LABS, actor(index));
    resolve(LABS, actor(1));
    expect(resolved.length).toBe(fits + 1);
    resolve(LABS, actor(0));
    expect(resolved.length).toBe(fits + 2);
  });
});
