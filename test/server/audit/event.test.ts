// Events are made from parts that have no room for a secret, and their JSON is in the canonical form.
import { describe, expect, it } from '@jest/globals';
import { instantOf, NO_SCOPES } from '../../../engine/index.js';
import { askedOf, eventActor, eventAdmin, type EventParts, makeEvent } from '../../../server/audit/event.js';
import { adminOfKey } from '../../../server/auth/admin-actor.js';
import { actorOf } from '../../../server/auth/request-actor.js';
import { canonicalJson } from '../../../server/json/canonical-json.js';
import { pathOf } from '../../support/gateway.js';

const DIGEST = `sha256:${'0a'.repeat(32)}`;
const RECORD = '0190c0de-0000-7000-8000-000000000001';
const LAB = pathOf('/labs/x');

const actor = eventActor(
  actorOf('key', {
    id: 'ana',
    identities: [
      { provider: 'orcid', subject: '0000' },
      { provider: 'github', subject: 'ana' },
    ],
    scopes: null,
    restrictions: [pathOf('/labs')],
    credentialFingerprint: 'f'.repeat(64),
  }),
);

const PARTS: EventParts = {
  id: 'AAAAAAAAAAAAAAAA',
  at: instantOf(0),
  kind: 'command',
  requestId: 'BBBBBBBBBBBBBBBB',
  actor,
  operation: 'resource.create',
  outcome: 'allowed',
  status: 201,
  access: askedOf({ kind: 'access', scope: 'resource:write', context: LAB, target: LAB }),
  decision: { decision: 'allow', grants: [{ id: 'b' }, { id: 'a', file: 'x.yaml', line: 1 }, { id: 'b' }] },
  snapshot: DIGEST,
  records: [RECORD],
};

describe('an event', () => {
  it('says who did what where, by which grants', () => {
    expect({ ...makeEvent(PARTS) }).toMatchObject({
      time: '1970-01-01T00:00:00.000Z',
      actor: { id: 'ana', identities: ['github:ana', 'orcid:0000'], namespaceRestrictions: ['/labs'] },
      access: { scope: 'resource:write', family: 'resource', context: '/labs/x', target: '/labs/x' },
      grants: ['a', 'b'],
      status: 201,
    });
  });

  it('says the step of a denial, and of a copy the cause', () => {
    const asked = askedOf({ kind: 'copy', source: LAB, destination: pathOf('/') });
    const denied = { decision: 'deny', step: 'source_read', cause: 'restriction' } as const;
    const event = makeEvent({ ...PARTS, outcome: 'denied', access: asked, decision: denied });
    expect({ ...event }).toMatchObject({ step: 'source_read', cause: 'restriction', access: { source: '/labs/x' } });
    expect(event).not.toHaveProperty('grants');
  });

  it('is decided at the parent where a namespace is created; the root has none', () => {
    expect(askedOf({ kind: 'create-namespace', namespace: LAB })).toMatchObject({
      creates: '/labs/x',
      context: '/labs',
      target: '/labs',
    });
    expect(askedOf({ kind: 'create-namespace', namespace: pathOf('/') })).toMatchObject({ creates: '/', target: '/' });
  });

  it('stands as JSON in its canonical form', () => {
    const event = makeEvent(PARTS);
    const text = JSON.stringify(event);
    expect(text).toBe(canonicalJson(JSON.parse(text)));
  });

  it('names a hundred grants and counts the others', () => {
    const grants = Array.from({ length: 103 }, (_, index) => ({ id: `g${String(index).padStart(3, '0')}` }));
    const event = makeEvent({ ...PARTS, decision: { decision: 'allow', grants } });
    expect([event.grants?.length, event.grantsOmitted]).toEqual([100, 3]);
  });

  it.each([
    ['id', { id: `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}` }],
    ['request id', { requestId: 'a b' }],
    ['key id', { key: `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}` }],
    ['record', { records: ['password'] }],
    ['snapshot', { snapshot: 'hunter2' }],
    ['visibility', { visibility: 'hunter2' }],
  ])('takes no other text for a %s, and repeats it nowhere', (_, part) => {
    const text = String(Object.values(part).flat()[0]);
    let said = '';
    try {
      makeEvent({ ...PARTS, ...part });
    } catch (error) {
      said = String(error);
    }
    expect(said).toContain('takes no text of this form');
    expect(said).not.toContain(text);
  });

  it('knows an admin by name and fingerprint, and nothing of a policy', () => {
    const admin = adminOfKey({ id: 'olga', credentialFingerprint: 'e'.repeat(64) });
    expect(eventAdmin(admin)).toMatchObject({ kind: 'admin', id: 'olga', identities: [], namespaceRestrictions: [] });
  });

  it('keeps an actor without scopes apart from one with all', () => {
    const holder = { id: 'ci', identities: [], restrictions: null, credentialFingerprint: 'f'.repeat(64) };
    expect(eventActor(actorOf('key', { ...holder, scopes: NO_SCOPES })).credentialScopes).toEqual([]);
    expect(eventActor(actorOf('key', { ...holder, scopes: null })).credentialScopes).toHaveLength(10);
  });
});
