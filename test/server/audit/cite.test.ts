// What an event says about the outcome of a request: the step of a denial, and the grants of everything that was allowed.
import { describe, expect, it } from '@jest/globals';
import {
  ALL_SCOPES,
  type Decision,
  instantOf,
  resolveActor,
  type ResolvedActor,
  scopeSetOf,
  unrestrictedPolicy,
  type Visibility,
  visibilityDigest,
} from '../../../engine/index.js';
import { cite, citeHeld, requestOf, toldDecision } from '../../../server/audit/cite.js';
import { type AccessAsked, askedOf, type CopyAsked, queryAsked } from '../../../server/audit/event.js';
import { AUDIT_LIMITS } from '../../../server/limits/logs.js';
import { pathOf } from '../../support/gateway.js';
import { madeOf } from '../../support/past-log.js';

const AT = instantOf(0);
const [SOURCE, TARGET, ELSEWHERE] = [pathOf('/source'), pathOf('/target'), pathOf('/else')];
const PARTS = AUDIT_LIMITS.citedParts + 1;
const pad = (n: number): string => String(n).padStart(3, '0');

const { policy } = madeOf({
  'policy.yaml': 'bailiwick: 1\nname: cited\nproviders: { p: {} }\nexclusive: [[p:one, p:other]]\n',
  'grants.yaml': [
    'grants:',
    '  - { id: read, identity: p:ana, namespace: /source, scopes: [resource:read] }',
    '  - { id: leave, identity: p:ana, namespace: /source, scopes: [resource:write] }',
    '  - { id: write, identity: p:ana, namespace: /target, scopes: [resource:write] }',
    '  - { id: reader, identity: p:bo, namespace: /source, scopes: [resource:read] }',
    '  - { id: far, identity: p:bo, namespace: /target, scopes: [resource:write] }',
    '  - { id: records, identity: p:ana, namespace: /source, scopes: [process-template:read, process-template:write] }',
    ...Array.from(
      { length: PARTS },
      (_, i) => `  - { id: part${pad(i)}, identity: p:cy, namespace: /parts/n${pad(i)}, scopes: [resource:read] }`,
    ),
    '',
  ].join('\n'),
});

const READER = { id: 'reader', file: 'grants.yaml', line: 5 };
const READ_BY_READER = { decision: { decision: 'allow', grants: [READER] }, cited: { grants: ['reader'] } };

function actorOf(...subjects: readonly string[]): ResolvedActor {
  return resolveActor(policy, {
    kind: 'key',
    identities: subjects.map((subject) => ({ provider: 'p', subject })),
    credentialScopes: ALL_SCOPES,
    namespaceRestrictions: null,
  });
}

const idsOf = (decision: Decision): readonly string[] =>
  decision.decision === 'allow' ? decision.grants.map(({ id }) => id) : [];
const copy = (moves: boolean, source = SOURCE, destination = TARGET): CopyAsked => ({
  ...{ source, destination, family: 'resource' },
  ...(moves ? { moves: true } : {}),
});

describe('a copy', () => {
  it('is read at its source and written at its destination; a move is also written where it leaves', () => {
    const resolved = actorOf('ana');
    expect(idsOf(cite({ access: copy(false), resolved }, AT).decision)).toEqual(['read', 'write']);
    expect(idsOf(cite({ access: copy(true), resolved }, AT).decision)).toEqual(['leave', 'read', 'write']);
    const records = { ...copy(true, SOURCE, SOURCE), family: 'process-template' } as const;
    expect(idsOf(cite({ access: records, resolved }, AT).decision)).toEqual(['records']);
  });

  it.each<readonly [string, CopyAsked, string, object]>([
    ['what cannot be read', copy(false, ELSEWHERE), 'ana', { step: 'source_read', cause: 'no_matching_grant' }],
    ['to where nothing can be written', copy(false, SOURCE, ELSEWHERE), 'ana', { step: 'destination_write', cause: 'no_matching_grant' }], // prettier-ignore
    ['by a move of what cannot be written', copy(true), 'bo', { step: 'no_matching_grant' }],
  ])('fails %s', (_, access, who, expected) => {
    expect(cite({ access, resolved: actorOf(who) }, AT)).toEqual({ decision: { decision: 'deny', ...expected } });
  });

  it('fails on neither side for identities that exclude each other', () => {
    const decision = { decision: 'deny', step: 'exclusive', identities: ['p:one', 'p:other'] };
    for (const access of [copy(false), copy(true)])
      expect(cite({ access, resolved: actorOf('one', 'other') }, AT)).toEqual({ decision });
  });
});

describe('an access', () => {
  it('is decided as it was asked, also the creation of a namespace', () => {
    const access: AccessAsked = { ...{ scope: 'resource:read', family: 'resource' }, context: pathOf('/source/a'), target: SOURCE }; // prettier-ignore
    expect(cite({ access, resolved: actorOf('bo') }, AT)).toEqual({
      ...READ_BY_READER,
    });
    expect(requestOf(access)).toEqual({ kind: 'access', scope: 'resource:read', context: '/source/a', target: '/source' }); // prettier-ignore
    const created = { kind: 'create-namespace', namespace: pathOf('/source/new') } as const;
    expect(requestOf(askedOf(created))).toEqual(created);
    expect(requestOf(copy(true))).toEqual({ kind: 'copy', source: '/source', destination: '/target' });
    expect(cite({ access: askedOf(created), resolved: actorOf('ana') }, AT)).toEqual({
      decision: { decision: 'deny', step: 'no_matching_grant' },
    });
  });
});

it('what an actor holds in a namespace has the grants of each scope', () => {
  const held = { resolved: actorOf('ana'), namespace: SOURCE, scopes: ['process-template:write', 'resource:read'] } as const; // prettier-ignore
  expect(citeHeld(held, AT)).toMatchObject({ cited: { grants: ['read', 'records'] } });
  expect(citeHeld({ ...held, scopes: [] }, AT)).toEqual({ decision: { decision: 'allow', grants: [] }, cited: { grants: [] } }); // prettier-ignore
});

describe('a visible set', () => {
  const asked = (context: string): AccessAsked =>
    queryAsked({ family: 'resource', context: pathOf(context), reach: 'subtree' });

  it('has the grants of its parts, and its digest', () => {
    const some: Visibility = { kind: 'some', exact: [], subtrees: [SOURCE] };
    expect(cite({ access: asked('/source'), resolved: actorOf('bo') }, AT)).toEqual({
      ...READ_BY_READER,
      visibility: visibilityDigest(some),
    });
    expect(cite({ access: asked('/source'), resolved: actorOf('bo') }, AT, 'known')).toMatchObject({
      visibility: 'known',
    });
  });

  it('is asked for with the action of its scope', () => {
    const writes = { ...asked('/source'), scope: 'resource:write' } as const;
    expect(cite({ access: writes, resolved: actorOf('bo') }, AT)).toEqual({
      decision: { decision: 'deny', step: 'no_matching_grant' },
    });
    expect(idsOf(cite({ access: writes, resolved: actorOf('ana') }, AT).decision)).toEqual(['leave']);
  });

  it('is the one that was computed already, at single namespaces too; a part that is not allowed has no grants', () => {
    const visibility: Visibility = { kind: 'some', exact: [SOURCE, ELSEWHERE], subtrees: [] };
    const cited = cite({ access: asked('/'), resolved: actorOf('bo'), visibility }, AT);
    expect(cited).toEqual({
      ...READ_BY_READER,
      visibility: visibilityDigest(visibility),
    });
  });

  it('that is empty says the step, and has no digest', () => {
    expect(cite({ access: asked('/else'), resolved: actorOf('bo') }, AT)).toEqual({
      decision: { decision: 'deny', step: 'no_matching_grant' },
    });
  });

  it('that is everything is allowed at the root', () => {
    const all = madeOf({
      'policy.yaml': 'bailiwick: 1\nname: all\nproviders: { p: {} }\n',
      'grants.yaml': 'grants: [{ id: root, identity: p:ana, namespace: /, scopes: [resource:read] }]\n',
    }).policy;
    const actor = { kind: 'key', credentialScopes: ALL_SCOPES, namespaceRestrictions: null } as const;
    const resolved = resolveActor(all, { ...actor, identities: [{ provider: 'p', subject: 'ana' }] });
    expect(cite({ access: asked('/'), resolved }, AT)).toEqual({
      decision: { decision: 'allow', grants: [{ id: 'root', file: 'grants.yaml', line: 1 }] },
      cited: { grants: ['root'] },
      visibility: visibilityDigest({ kind: 'all' }),
    });
  });

  it('has the grants of its first hundred parts', () => {
    const grants = Array.from({ length: 100 }, (_, i) => `part${pad(i)}`);
    const { decision, cited } = cite({ access: asked('/parts'), resolved: actorOf('cy') }, AT);
    // The others are not looked for, and so not counted.
    expect([idsOf(decision), cited]).toEqual([grants, { grants }]);
  });
});

describe('a decision about somebody else', () => {
  const subject = { kind: 'request', identities: [{ provider: 'p', subject: 'bo' }], credentialScopes: null, namespaceRestrictions: ['/source'] } as const; // prettier-ignore
  const request = { kind: 'access', scope: 'resource:read', target: 'source' } as const;
  const allowed: Decision = { decision: 'allow', grants: [] };

  it('names the person, and what was asked in canonical form', () => {
    expect(toldDecision('decide', { subject, request, policy }, allowed)).toEqual({
      operation: 'decide',
      subject: { credentialScopes: policy.scopes, identities: ['p:bo'], namespaceRestrictions: ['/source'] },
      cited: { grants: [] },
      access: { family: 'resource', scope: 'resource:read', context: '/source', target: '/source' },
      decision: allowed,
    });
    const denied: Decision = { decision: 'deny', step: 'restriction' };
    expect(toldDecision('explain', { subject, request, policy }, denied)).toMatchObject({
      ...{ operation: 'explain', decision: denied, access: { target: '/source' } },
    });
  });

  it('does not say what was asked if a part of it is no path or no scope', () => {
    const decision: Decision = { decision: 'deny', step: 'canonicalize' };
    // The request itself is fine: what is not is a restriction of the subject.
    expect(toldDecision('decide', { subject, request, policy }, decision)).not.toHaveProperty('access');
    const unknown: Decision = { decision: 'deny', step: 'unknown_scope' };
    const other = { ...request, scope: 'resource:delete' };
    expect(toldDecision('decide', { subject, request: other, policy }, unknown)).not.toHaveProperty('access');
  });
});

it('needs no grant under the unrestricted policy, within what the credential carries', () => {
  const resolved = resolveActor(unrestrictedPolicy(), {
    ...{ kind: 'key', identities: [], namespaceRestrictions: [SOURCE] },
    credentialScopes: scopeSetOf(['resource:read']),
  });
  expect(cite({ access: copy(false), resolved }, AT)).toEqual({
    decision: { decision: 'deny', step: 'destination_write', cause: 'restriction' },
  });
  expect(cite({ access: copy(true), resolved }, AT)).toEqual({
    decision: { decision: 'deny', step: 'credential_scope' },
  });
});
