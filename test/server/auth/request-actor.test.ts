import { describe, expect, it } from '@jest/globals';
import { ALL_SCOPES, NO_SCOPES } from '../../../engine/index.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { actorOf, actorWithoutCredential, localActor } from '../../../server/auth/request-actor.js';

const identity = { provider: 'orcid', subject: 'ada' };

describe('a RequestActor', () => {
  it('is frozen all through, and shares nothing with what it was made from', () => {
    const identities = [identity];
    const actor = actorOf('key', { id: 'ada', identities, scopes: null, restrictions: [], credentialFingerprint: 'f' });
    for (const part of [actor, actor.identities, actor.identities[0], actor.namespaceRestrictions]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
    identities.push({ provider: 'orcid', subject: 'eve' });
    expect(actor.identities).toEqual([identity]);
    expect(Object.isFrozen(identity)).toBe(false);
  });

  it('carries every scope only where the key is not narrowed', () => {
    const fields = { id: 'ada', identities: [], restrictions: null, credentialFingerprint: 'f' };
    expect(actorOf('key', { ...fields, scopes: null }).credentialScopes).toBe(ALL_SCOPES);
    expect(actorOf('key', { ...fields, scopes: NO_SCOPES }).credentialScopes).toBe(0);
  });

  it('may ask about others only where its credential says so', () => {
    const fields = { id: 'ada', identities: [identity], scopes: null, restrictions: null, credentialFingerprint: 'f' };
    const may = [{ ...fields, mayAsk: true }, { ...fields, mayAsk: false }, fields].map(
      (holder) => actorOf('key', holder).mayAsk,
    );
    expect(may).toEqual([true, false, false]);
    expect([actorWithoutCredential(identity).mayAsk, localActor('f').mayAsk]).toEqual([false, false]);
  });

  it('of local mode is frozen and unrestricted', () => {
    const actor = localActor('f');
    expect(Object.isFrozen(actor)).toBe(true);
    expect(actor).toMatchObject({ kind: 'local', id: 'local', identities: [], namespaceRestrictions: null });
  });
});

describe('a fingerprint', () => {
  it('depends on the installation, the kind and the id, and on nothing else', () => {
    const [ours, theirs] = [makeFingerprinter(Buffer.alloc(32, 1)), makeFingerprinter(Buffer.alloc(32, 2))];
    expect(ours('key', 'a')).toBe(makeFingerprinter(Buffer.alloc(32, 1))('key', 'a'));
    expect(new Set([ours('key', 'a'), ours('key', 'b'), ours('local', 'a'), theirs('key', 'a')]).size).toBe(4);
  });
});
