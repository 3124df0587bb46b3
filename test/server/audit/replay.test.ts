// Decisions that are made again from events, as a gateway writes them and as nobody would.
import { rmSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf, type Reach, type ScopeName, unrestrictedPolicy } from '../../../engine/index.js';
import { askedOf, type CopyAsked, type AccessAsked, queryAsked } from '../../../server/audit/event.js';
import type { StoredEvent } from '../../../server/audit/event-schema.js';
import { isFlip, isReproduced, makeReplay, makeResolver, type Replayed } from '../../../server/audit/replay.js';
import { readStored } from '../../../server/audit/search.js';
import { keepSnapshot, pathOfSnapshot } from '../../../server/audit/snapshots.js';
import { readLines, storedOf } from '../../support/audit-log.js';
import { pathOf, snapshotOf } from '../../support/gateway.js';
import { type Done, writeLog } from '../../support/past-log.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const EVE = { provider: 'orcid', subject: 'eve' };
const MADE = snapshotOf([
  [ADA, '/labs', ['resource:read', 'resource:write', 'namespace:write']],
  [ADA, '/', ['resource:read']],
  [EVE, '/labs/x', ['resource:read']],
]);
/** Of the same names, and with less. */
const LESS = snapshotOf([[ADA, '/labs/x', ['resource:read']]]);

const AT = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const one = (path: string, scope: ScopeName = 'resource:read'): AccessAsked | CopyAsked =>
  askedOf({ kind: 'access', scope, context: pathOf(path), target: pathOf(path) });
const seen = (path: string, reach: Reach = 'subtree'): AccessAsked =>
  queryAsked({ family: 'resource', context: pathOf(path), reach });

const ASKED: readonly (readonly [
  who: readonly string[],
  access: AccessAsked | CopyAsked,
  restrictions?: readonly string[],
])[] = [
  [['orcid:ada'], one('/labs/x')],
  [['orcid:ada'], one('/vault', 'resource:write')],
  [['orcid:ada'], askedOf({ kind: 'create-namespace', namespace: pathOf('/labs/new') })],
  [['orcid:ada'], askedOf({ kind: 'copy', source: pathOf('/labs'), destination: pathOf('/labs/x') })],
  [['orcid:eve'], askedOf({ kind: 'copy', source: pathOf('/labs/x'), destination: pathOf('/labs/x') })],
  [['orcid:ada'], seen('/labs')],
  [['orcid:eve'], seen('/vault')],
  [['orcid:ada', 'orcid:eve'], one('/labs/x')],
  [['orcid:ada'], one('/labs/x'), ['/vault']],
  [['orcid:ada'], one('/labs/x'), ['/labs']],
];

let folder: string;
let events: readonly StoredEvent[];
beforeAll(async () => {
  folder = await writeLog(
    MADE,
    ASKED.map(([who, access, restrictions]): Done => ({ who, access, at: AT, ...(restrictions && { restrictions }) })),
  );
  events = readLines(folder).map((line) => readStored(line) ?? storedOf({}));
});

const event = (n: number): StoredEvent => events[n] ?? storedOf({});
const again = (changed: StoredEvent, against = null as typeof MADE.policy | null): Promise<Replayed> =>
  makeReplay(folder, against)(changed);

describe('a decision', () => {
  it('is made again as it was, of every kind', async () => {
    const replay = makeReplay(folder, null);
    const replayed = await Promise.all(events.map(replay));
    expect(replayed.map(({ recorded }) => recorded)).toStrictEqual([
      { decision: 'allow', grants: ['g1', 'g2'] },
      { decision: 'deny', step: 'no_matching_grant' },
      { decision: 'allow', grants: ['g1'] },
      { decision: 'allow', grants: ['g1', 'g2'] },
      { decision: 'deny', step: 'destination_write', cause: 'no_matching_grant' },
      { decision: 'allow', grants: ['g1', 'g2'], visibility: expect.stringMatching(/^sha256:/) },
      { decision: 'deny', step: 'no_matching_grant' },
      { decision: 'allow', grants: ['g1', 'g2', 'g3'] },
      { decision: 'deny', step: 'restriction' },
      { decision: 'allow', grants: ['g1', 'g2'] },
    ]);
    for (const found of replayed) {
      expect(found).toStrictEqual({ recorded: found.recorded, own: found.recorded });
      expect([isReproduced(found), isFlip(found)]).toEqual([true, false]);
    }
  });

  it('of the local actor is made by its own policy, which no file has', async () => {
    const { actor } = event(0);
    const changed = { ...event(0), snapshot: unrestrictedPolicy().digest, actor: { ...actor, kind: 'local' as const } };
    expect((await again(changed)).own).toEqual({ decision: 'allow', grants: expect.anything() });
    expect((await again({ ...event(0), grantsOmitted: 3 })).recorded).toMatchObject({ grantsOmitted: 3 });
  });

  it('is made on another policy, too, and is a flip where that decides or shows something else', async () => {
    const replay = makeReplay(folder, LESS.policy);
    const replayed = await Promise.all(events.map(replay));
    expect(replayed.map(isFlip)).toEqual([false, false, true, true, false, true, false, false, false, false]);
    expect(replayed[0]?.against).toEqual({ decision: 'allow', grants: ['g1'] });
    const nothing = await replay(storedOf({ kind: 'admin', operation: 'gateway.stop', outcome: 'allowed' }));
    expect(nothing).toEqual({ recorded: null, own: null, against: null, reason: 'undecided' });
    expect(isFlip(nothing)).toBe(false);
    const recorded = { decision: 'allow' } as const;
    expect(isFlip({ recorded, own: null, against: null })).toBe(false);
    expect(isFlip({ recorded: null, own: null, against: recorded })).toBe(false);
  });

  it('is not reproduced where any part of it is another one', () => {
    const recorded = {
      decision: 'allow',
      step: 'a',
      cause: 'b',
      grants: ['g'],
      grantsOmitted: 1,
      visibility: 'v',
    } as const;
    expect(isReproduced({ recorded, own: { ...recorded } })).toBe(true);
    for (const other of [
      { decision: 'deny' as const },
      { step: 'c' },
      { cause: 'c' },
      { grants: ['h'] },
      { grants: [] },
      { grants: ['g', 'h'] },
      { grantsOmitted: 2 },
      { visibility: 'w' },
    ])
      expect(isReproduced({ recorded, own: { ...recorded, ...other } })).toBe(false);
    const { grants: _, ...rest } = recorded;
    expect(isReproduced({ recorded, own: rest })).toBe(false);
    expect(isReproduced({ recorded: rest, own: recorded })).toBe(false);
    expect(isReproduced({ recorded: rest, own: rest })).toBe(true);
    expect(isReproduced({ recorded: { ...rest, grants: ['g', 'h'] }, own: { ...rest, grants: ['g', 'i'] } })).toBe(
      false,
    );
    expect(isReproduced({ recorded: null, own: rest })).toBe(false);
    expect(isReproduced({ recorded: rest, own: null })).toBe(false);
  });
});

describe('an event without a decision that can be made again', () => {
  it('has none, or had it from a credential', async () => {
    const none = { recorded: null, own: null };
    expect(await again(storedOf({}))).toEqual({ ...none, reason: 'undecided' });
    expect(await again(storedOf({ kind: 'authentication' }))).toEqual({ ...none, reason: 'authentication' });
    expect(await again({ ...event(0), operation: 'who-can' })).toEqual({ ...none, reason: 'undecided' });
  });

  it('lacks its snapshot, which then is not read again', async () => {
    const { digest } = LESS.policy;
    const changed = { ...event(0), snapshot: digest };
    const replay = makeReplay(folder, null);
    expect(await replay(changed)).toMatchObject({ own: null, reason: 'snapshot_missing' });
    await keepSnapshot(folder, digest, MADE.bytes);
    expect(await replay(changed)).toMatchObject({ reason: 'snapshot_missing' });
    expect(await again(changed)).toMatchObject({ own: null, reason: 'snapshot_damaged' });
    rmSync(pathOfSnapshot(folder, digest) ?? '');
    const { against } = await again(changed, MADE.policy);
    expect(against).toEqual({ decision: 'allow', grants: ['g1', 'g2'] });
  });

  const { digest: local } = unrestrictedPolicy();
  it.each<
    readonly [
      string,
      Partial<Omit<StoredEvent, 'actor' | 'access'>> & { readonly actor?: object; readonly access?: object },
    ]
  >([
    ['no snapshot', { snapshot: null }],
    ['the local policy of somebody else', { snapshot: local }],
    ['a local actor of another policy', { actor: { kind: 'local' } }],
    ['a time that is none', { time: 'yesterday' }],
    ['an identity that is none', { actor: { identities: ['orcid:ada', 'nobody'] } }],
    ['an actor of no kind', { actor: { kind: 'gateway' } }],
    ['a restriction that is no path', { actor: { namespaceRestrictions: ['/labs', 'labs'] } }],
    ['a restriction that is not canonical', { actor: { namespaceRestrictions: ['/Labs'] } }],
    ['a context that is no path', { access: { context: '/labs/' } }],
    ['a target that is no path', { access: { target: 'labs' } }],
    ['a new namespace that is no path', { access: { creates: '?' } }],
    ['no source that is a path', { access: { source: '?', destination: '/labs', family: 'resource' } }],
    ['no destination that is a path', { access: { source: '/labs', destination: '?', family: 'resource' } }],
    ['a subject that nobody is', { subject: { identities: ['?'], credentialScopes: [], namespaceRestrictions: null } }],
    [
      'an asker who nobody is',
      {
        actor: { identities: ['?'] },
        subject: { identities: ['orcid:ada'], credentialScopes: ['resource:read'], namespaceRestrictions: null },
      },
    ],
  ])('has %s', async (_, { actor, access, ...more }) => {
    const { actor: knownActor, access: knownAccess } = event(0);
    const changed = {
      ...event(0),
      ...more,
      actor: { ...knownActor, ...actor },
      access: { ...knownAccess, ...access },
    } as StoredEvent;
    expect(await again(changed)).toMatchObject({ recorded: { decision: 'allow' }, own: null, reason: 'malformed' });
  });
});

describe('a question about somebody else', () => {
  const subject = {
    identities: ['orcid:eve'],
    credentialScopes: ['resource:read'],
    namespaceRestrictions: null,
  } as const;
  const own = async (access: AccessAsked | CopyAsked, asker: object = {}): Promise<unknown> => {
    const { actor } = event(0);
    const changed = { ...event(0), access, subject, actor: { ...actor, ...asker } };
    return (await again(changed)).own;
  };

  it('is decided as the subject, within the bounds of the asker', async () => {
    expect(await own(one('/labs/x'))).toEqual({ decision: 'allow', grants: ['g3'] });
    expect(await own(one('/labs'))).toEqual({ decision: 'deny', step: 'no_matching_grant' });
    expect(await own(one('/labs/x'), { namespaceRestrictions: ['/vault'] })).toEqual({
      decision: 'deny',
      step: 'restriction',
    });
    expect(await own(one('/labs/x'), { credentialScopes: ['resource:write'] })).toEqual({
      ...{ decision: 'deny', step: 'credential_scope' },
    });
  });

  it('shows what the subject sees, to whoever may ask for that', async () => {
    const { visibility } = event(5);
    const allowed = await own(seen('/labs'));
    expect(allowed).toEqual({ decision: 'allow', grants: ['g3'], visibility: expect.stringMatching(/^sha256:/) });
    expect(allowed).not.toMatchObject({ visibility });
    expect(await own(seen('/labs'), { credentialScopes: ['resource:write'] })).toEqual({
      ...{ decision: 'deny', step: 'credential_scope' },
    });
  });
});

describe('an actor of an event', () => {
  it('is another one where anything is another that a policy looks at, however often it is asked', async () => {
    const replay = makeReplay(folder, null);
    const { actor } = event(0);
    const decided = async (
      changed: object,
      access: AccessAsked | CopyAsked = one('/labs/x', 'resource:write'),
    ): Promise<unknown> => (await replay({ ...event(0), access, actor: { ...actor, ...changed } })).own?.decision;
    for (let n = 0; n < 2; n += 1) {
      expect(await decided({})).toBe('allow');
      expect(await decided({ identities: ['orcid:eve'] })).toBe('deny');
      expect(await decided({ credentialScopes: ['resource:read'] })).toBe('deny');
      expect(await decided({ namespaceRestrictions: ['/vault'] })).toBe('deny');
      expect(await decided({ namespaceRestrictions: [] })).toBe('deny');
      expect(await decided({ namespaceRestrictions: ['/labs', '/x/y'] })).toBe('allow');
      expect(await decided({ namespaceRestrictions: ['/labs/x/y', '/y'] })).toBe('deny');
      expect(await decided({ namespaceRestrictions: ['/labs/x', '/y/y'] })).toBe('allow');
      expect(await decided({ identities: [] })).toBe('deny');
    }
  });

  it('is whom it asked about, and nobody where no gateway can have known it', () => {
    const resolve = makeResolver(MADE.policy);
    const subject = { identities: ['orcid:eve'], credentialScopes: [], namespaceRestrictions: null };
    expect(resolve(event(0))).toBe(resolve(event(1)));
    expect(resolve({ ...event(0), subject })).not.toBe(resolve(event(0)));
    expect(resolve({ ...event(0), subject: { ...subject, identities: ['?'] } })).toBeNull();
    expect(resolve(storedOf({ kind: 'admin', operation: 'gateway.stop', outcome: 'allowed' }))).not.toBeUndefined();
  });
});
