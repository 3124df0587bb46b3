// From documents to a policy: what the declarations of a folder mean together.
import { describe, expect, it, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readPolicy } from '../../../engine/compiler.js';
import { formatIdentity } from '../../../engine/index.js';
import type { Place, PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { NO_SCOPES, scopeNames } from '../../../engine/model/scope-set.js';
import { ALL_SCOPES } from '../../../engine/model/vocabulary.js';
import { type Range, rangeOf } from '../../../engine/model/span.js';
import { fromRoot } from '../../support/root.js';
import { POLICY, readExample, readFolder, ROLES, summary } from '../source/support.js';

function filesOf(folder: string): { readonly path: string; readonly bytes: Uint8Array }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => ({ path, bytes: readFileSync(join(folder, path)) }));
}

function everything(): PolicySet {
  const { policy } = readPolicy(filesOf(fromRoot('fixtures/policies/good/everything')));
  if (policy === null) throw new Error('the fixture does not load');
  return policy;
}

/** A place as people are told it. */
function shown(place: Place | null | undefined): { readonly file: string; readonly range: Range } | null {
  return place === null || place === undefined ? null : { file: place.file, range: rangeOf(place.lines, place) };
}

describe('a policy with everything in it', () => {
  const policy = everything();
  const grant = (id: string): PolicyGrant | undefined => policy.grants.find((one) => one.id === id);

  it('has its providers and roles', () => {
    expect(policy.providers).toContainEqual({ name: 'orcid', description: 'ORCID sign-in' });
    expect(policy.roles.map((role) => [role.name, role.members.length])).toEqual([
      ['amx-staff', 3],
      ['amx-leads', 2],
      ['guests', 0],
    ]);
    const member = policy.roles[0]?.members[2];
    expect(member).toMatchObject({ kind: 'role', role: 'amx-leads' });
    expect(shown(member?.place)).toMatchObject({ file: 'roles/amx.yaml', range: { start: { line: 8 } } });
    expect(policy.roles[1]?.description).toBe('The two who answer for the beamline');
    expect(policy.roles[1]?.members[1]).toMatchObject({ identity: { provider: 'github-group', subject: 'amx' } });
  });

  it('gives a grant the scopes of its role where it names none', () => {
    expect(scopeNames(grant('amx-staff')?.scopes ?? NO_SCOPES)).toEqual([
      'process-run:read',
      'process-run:write',
      'resource:read',
      'resource:write',
    ]);
    expect(grant('amx-staff')).toMatchObject({ inherit: true, notBefore: null, expires: null, reason: null });
  });

  it('reads a narrowed grant, and where it is', () => {
    expect(grant('amx-leads')).toMatchObject({
      inherit: false,
      notBefore: Date.UTC(2026, 11, 1),
      expires: Date.UTC(2027, 5, 30) + 500,
      reason: 'PASS-314',
    });
    expect(shown(grant('amx-leads')?.place)).toEqual({
      file: 'grants/amx.yaml',
      range: { start: { line: 6, column: 9 }, end: { line: 6, column: 18 } },
    });
  });

  it('reads tests', () => {
    const [staff, narrow] = policy.tests;
    expect(staff).toMatchObject({
      credentialScopes: ALL_SCOPES,
      namespaceRestrictions: null,
      at: Date.UTC(2027, 0, 1),
      identities: [{ provider: 'orcid' }, { provider: 'github', subject: 'octocat' }],
      allow: [{ scope: 'resource:write', namespace: '/beamlines/amx' }, {}],
      sees: [
        { family: 'resource', context: '/beamlines/amx/run-7', namespaces: ['/beamlines/amx', '/beamlines/amx/run-7'] },
      ],
    });
    expect(shown(staff?.allow[0]?.place)).toMatchObject({ range: { start: { line: 5 } } });
    expect(narrow).toMatchObject({ credentialScopes: NO_SCOPES, namespaceRestrictions: [], at: null, allow: [] });
  });

  it('reads people', () => {
    expect(policy.people.map(({ name, identities }) => [name, identities.map(formatIdentity)])).toEqual([
      ['ana-ortiz', ['orcid:x', 'visitor:v-7']],
      ['ben-okri', ['visitor:v-8', 'orcid:y']],
    ]);
  });

  it('reads guardrails', () => {
    const rules = policy.guardrails.map((guardrail) => guardrail.rule);
    expect(rules).toMatchObject([
      {
        kind: 'never',
        under: '/beamlines',
        except: { roles: ['amx-leads'], identities: [{ provider: 'orcid', subject: 'x' }] },
      },
      { kind: 'separate', under: '/', sides: [8, 512], except: { roles: [], identities: [] } },
      { kind: 'separate', under: '/beamlines/amx', except: { roles: ['amx-leads'] } },
      {
        kind: 'never',
        to: { providers: ['visitor'], roles: [], identities: [] },
        except: { roles: [], identities: [{ provider: 'visitor', subject: 'v-1' }] },
      },
      { kind: 'separate', under: '/', to: { roles: ['amx-leads'], identities: [{ provider: 'orcid', subject: 'x' }] } },
      { kind: 'atLeast', identities: 2, at: { kind: 'every-top-level' } },
      { kind: 'atMost', identities: 0, at: { kind: 'path', path: '/' }, to: null },
      { kind: 'atMost', identities: 5, at: { kind: 'every-top-level' }, to: { providers: ['visitor'] } },
      { kind: 'expires', providers: ['visitor', 'visitor-group'], withinMilliseconds: 90 * 86_400_000 },
    ]);
  });
});

describe('the order of files', () => {
  it('has no meaning', () => {
    const files = filesOf(fromRoot('fixtures/policies/good/everything'));
    const broken = [
      ...files,
      { path: 'a/x.yaml', bytes: new TextEncoder().encode('grants:\n  - { id: amx-staff, role: x }\n') },
    ];
    for (const given of [files, broken]) {
      const first = JSON.stringify(readPolicy(given));
      for (let turn = 1; turn < given.length; turn += 1) {
        expect(JSON.stringify(readPolicy([...given.slice(turn), ...given.slice(0, turn)]))).toBe(first);
      }
      expect(JSON.stringify(readPolicy(given.toReversed()))).toBe(first);
    }
  });

  it('is not for the reader to guess where a file is given twice', () => {
    const file = { path: 'policy.yaml', bytes: new TextEncoder().encode(POLICY) };
    expect(() => readPolicy([file, file])).toThrow('given twice');
  });
});

describe('roles within roles', () => {
  const roles = (edges: Readonly<Record<string, readonly string[]>>): string =>
    JSON.stringify({
      roles: Object.fromEntries(
        Object.entries(edges).map(([name, members]) => [name, { members: members.map((role) => ({ role })) }]),
      ),
    });

  test.each<[string, Record<string, string[]>, string[]]>([
    ['of itself', { a: ['a'] }, ['the role `a` is a member of itself']],
    ['by two steps', { b: ['c'], a: ['b'], c: ['a'] }, ['roles are members of each other: `b` → `c` → `a` → `b`']],
    [
      'twice over',
      { a: ['b', 'c'], b: ['a'], c: ['a'] },
      ['roles are members of each other: `a` → `b` → `a`', 'roles are members of each other: `a` → `c` → `a`'],
    ],
    ['not, in a diamond', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, []],
  ])('a cycle %s', (_, edges, messages) => {
    expect(readExample(roles(edges)).diagnostics.map((diagnostic) => diagnostic.message)).toEqual(messages);
  });

  it('may be a chain up to the limit, however long it is', () => {
    const chain = (length: number): string =>
      roles(
        Object.fromEntries(
          Array.from({ length }, (_, i) => [`r${String(i)}`, i + 1 < length ? [`r${String(i + 1)}`] : []]),
        ),
      );
    expect(summary(readExample(chain(64)))).toEqual([]);
    expect(summary(readExample(chain(65)))).toEqual(['LIMIT_ROLE_DEPTH "r0"']);
    expect(summary(readExample(chain(20_000)))).toEqual(['LIMIT_ROLE_DEPTH "r19935"']);
  });
});

describe('a file that was cut off', () => {
  // What narrows a grant stands before what completes it, so that no line less can mean more.
  const full = [
    'within: /labs',
    'roles:',
    '  guests:',
    '    members: [github:a, orcid:b]',
    '  guests-of-optics:',
    '    members:',
    '      - github:longer',
    '      - github:longer-still',
    'grants:',
    '  - id: one',
    '    inherit: false',
    '    notBefore: 2026-12-01T00:00:00Z',
    '    expires: 2027-06-30T00:00:00Z',
    '    role: guests-of-optics',
    '    scopes: [resource:read, "process-run:*"]',
    '    namespace: /labs/optics/run-7',
    '  - { id: two, identity: "orcid:0000-0002", namespace: /labs/optics, scopes: [resource:read], inherit: false }',
    '  - id: three',
    '    identity: github:octocat',
    '    scopes:',
    '      - resource:read',
    '      - resource-template:read',
    '    namespace: /labs/optics-two',
    '',
  ].join('\n');
  const rights = (policy: PolicySet): ReadonlySet<string> => {
    const members = policy.roles.flatMap((role) =>
      role.members.map((member) => JSON.stringify([role.name, { ...member, place: null }])),
    );
    const grants = policy.grants.flatMap((grant) =>
      scopeNames(grant.scopes).map((scope) => JSON.stringify({ ...grant, scope, scopes: 0, reason: 0, place: 0 })),
    );
    return new Set([...members, ...grants]);
  };

  it('is refused or grants no more, wherever it was cut', () => {
    const whole = readExample(full).policy;
    if (whole === null) throw new Error('the whole file does not load');
    const all = rights(whole);
    let loaded = 0;
    for (let length = 0; length < full.length; length += 1) {
      const { policy } = readExample(full.slice(0, length));
      if (policy === null) continue;
      loaded += 1;
      const more = [...rights(policy)].filter((right) => !all.has(right));
      expect([length, more]).toEqual([length, []]);
    }
    expect(loaded).toBeGreaterThan(5);
  });
});

describe('what a grant may leave out', () => {
  test.each<[string, string, readonly string[]]>([
    ['its scopes, to a role that has some', 'role: staff', []],
    ['not its scopes, to a role that has none', 'role: leads', ['GRANT_SCOPES_MISSING a']],
    ['not its scopes, to an identity', 'identity: github:octocat', ['GRANT_SCOPES_MISSING a']],
    [
      'not its principal',
      'scopes: [resource:read]',
      ['GRANT_PRINCIPAL { id: a, namespace: /labs, scopes: [resource:read] }'],
    ],
    ['nothing more is said of a role that is unknown', 'role: gone', ['ROLE_UNKNOWN gone']],
  ])('%s', (_, rest, expected) => {
    expect(summary(readExample(`grants:\n  - { id: a, namespace: /labs, ${rest} }\n`))).toEqual(expected);
  });
});

describe('the policy of the Kubernetes enhancements', () => {
  const folder = fromRoot('../shared/data/kubernetes-enhancements/policy');
  const present = existsSync(folder);
  if (!present) process.stderr.write('skipped: ../shared/data/kubernetes-enhancements is not here\n');

  (present ? it : it.skip)('loads without a word once its hidden file is no longer hidden', () => {
    const files = filesOf(folder);
    expect(readPolicy(files).diagnostics.map(({ code, file }) => `${code} ${file}`)).toEqual([
      'FILE_MISNAMED grants/.githooks.yaml',
    ]);
    const renamed = files.map((file) => ({ ...file, path: file.path.replace('/.', '/') }));
    const { policy, diagnostics } = readPolicy(renamed);
    expect(diagnostics).toEqual([]);
    expect(policy?.grants.length).toBe(155);
    expect(policy?.roles.length).toBe(47);
  });
});

it('takes a header and files of any names and folders', () => {
  expect(
    readFolder({ 'policy.yaml': POLICY, 'a/b/c/any.yaml': ROLES, 'README.md': 'x', CODEOWNERS: '* @x' }).diagnostics,
  ).toEqual([]);
});
