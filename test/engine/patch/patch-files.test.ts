// Edits that `explain` proposes, written into files of many layouts with comments everywhere: read again, the files decide as the edited
// declarations do, no comment about anything else is lost, and no line of anything else has changed.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Change,
  compilePolicy,
  editedSet,
  explain,
  patchFiles,
  readPolicy,
  type SourceFile,
  takeAway,
  type TakingChange,
} from '../../../engine/compiler.js';
import { formatIdentity, formatInstant, type Instant, scopeNames } from '../../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicySet } from '../../../engine/model/policy-set.js';
import { testRuns } from '../../support/test-runs.js';
import { exclusiveWorld, windowedWorld } from '../oracle/worlds.js';
import { writable } from '../prove/apply-edit.js';
import { load } from '../prove/brute.js';
import { aimed, explainRequest } from '../prove/requests.js';

/** Takes some of the bits each time. */
type Taste = (choices: number) => number;

function tasteOf(seed: number): Taste {
  let state = seed;
  return (choices) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1;
    return (state >>> 8) % choices;
  };
}

const file = (path: string, text: string): SourceFile => ({ path, bytes: new TextEncoder().encode(text) });
const textOf = ({ bytes }: { readonly bytes: Uint8Array }): string => new TextDecoder().decode(bytes);

function windowKeys({
  notBefore = null,
  expires = null,
}: Pick<PolicyMember, 'notBefore' | 'expires'>): readonly string[] {
  return [
    ...(notBefore === null ? [] : [`notBefore: ${formatInstant(notBefore)}`]),
    ...(expires === null ? [] : [`expires: ${formatInstant(expires)}`]),
  ];
}

function memberName(member: PolicyMember): string {
  return member.kind === 'role' ? `role ${member.role}` : formatIdentity(member.identity);
}

function memberText(member: PolicyMember): string {
  const keys = windowKeys(member);
  if (member.kind === 'identity' && keys.length === 0) return formatIdentity(member.identity);
  const who = member.kind === 'role' ? `role: ${member.role}` : `identity: ${formatIdentity(member.identity)}`;
  return `{ ${[who, ...keys].join(', ')} }`;
}

/** A list of scopes, below its key or in brackets. */
function scopeLines(scopes: readonly string[], indent: string, taste: Taste): readonly string[] {
  if (taste(3) > 0) return [`scopes: [${scopes.join(', ')}]`];
  return ['scopes:', ...scopes.map((scope) => `${indent}  - ${scope}`)];
}

/** The policy as somebody may have written it. Each comment names what it is about. */
function write(set: PolicySet, taste: Taste): readonly SourceFile[] {
  const comment = (what: string): readonly string[] => (taste(3) === 0 ? [`# about ${what}`] : []);
  const behind = (what: string): string => (taste(4) === 0 ? ` # behind ${what}` : '');
  const blank = (): readonly string[] => (taste(5) === 0 ? [''] : []);
  const roles = set.roles.flatMap((role): readonly string[] => {
    const about = (member: PolicyMember): string => `${role.name}/${memberName(member)}`;
    const isFlow = taste(3) === 0;
    const own = taste(2) === 0 ? '  ' : '';
    const members =
      role.members.length === 0
        ? ['    members: []']
        : isFlow
          ? [`    members: [${role.members.map(memberText).join(', ')}]${behind(role.name)}`]
          : [
              '    members:',
              ...role.members.flatMap((member) => [
                ...comment(about(member)).map((text) => `    ${own}${text}`),
                `    ${own}- ${memberText(member)}${behind(about(member))}`,
              ]),
            ];
    return [...blank(), ...comment(role.name).map((text) => `  ${text}`), `  ${role.name}:`, ...members];
  });
  const grantLines = (grant: PolicyGrant): readonly string[] => {
    const { id, principal, namespace, scopes, inherit } = grant;
    const who =
      principal.kind === 'role' ? `role: ${principal.role}` : `identity: ${formatIdentity(principal.identity)}`;
    const more = [...(inherit ? [] : ['inherit: false']), ...windowKeys(grant), `namespace: ${namespace}`];
    if (taste(3) === 0) {
      const all = [`id: ${id}`, who, `scopes: [${scopeNames(scopes).join(', ')}]`, ...more];
      return [`- { ${all.join(', ')} }${behind(id)}`];
    }
    const [first, ...rest] = [`id: ${id}`, who, ...scopeLines(scopeNames(scopes), '  ', taste), ...more];
    return [
      `- ${first}${behind(id)}`,
      ...rest.map((line) => (line.startsWith(' ') ? line : `  ${line}`)),
      ...(taste(4) === 0 ? [`  # below ${id}`] : []),
    ];
  };
  const own = taste(2) === 0 ? '  ' : '';
  const grants = set.grants.flatMap((grant) => [
    ...blank(),
    ...[...comment(grant.id), ...grantLines(grant)].map((line) => own + line),
  ]);
  const families = (set.families ?? []).map(({ name, actions }) => `  ${name}: { actions: [${actions.join(', ')}] }`);
  return [
    file(
      'policy.yaml',
      [
        '# about everything',
        'bailiwick: 1',
        `name: ${set.name}`,
        'providers:',
        ...set.providers.map(({ name }) => `  ${name}: {}${behind(name)}`),
        ...(families.length === 0 ? [] : ['families:', ...families]),
        ...(set.exclusive.length === 0
          ? []
          : [
              'exclusive:',
              ...set.exclusive.map(({ identities }) => `  - [${identities.map(formatIdentity).join(', ')}]`),
            ]),
        '',
      ].join('\n'),
    ),
    file(
      'all.yaml',
      ['roles:', ...roles, ...(grants.length === 0 ? ['grants: []'] : ['grants:', ...grants]), ''].join('\n'),
    ),
  ];
}

/** The linked policy of some files, which must be without mistakes. */
function read(files: readonly SourceFile[]): PolicySet {
  const { policy, diagnostics } = readPolicy(files);
  expect([diagnostics.filter(({ severity }) => severity === 'error'), files.map(textOf)]).toEqual([
    [],
    files.map(textOf),
  ]);
  if (policy === null) throw new Error('a policy without mistakes is one');
  return policy;
}

function decisionsOf(set: PolicySet): string {
  // A new grant has no id yet.
  const compiled = compilePolicy({
    ...set,
    grants: set.grants.map((grant) => (grant.id === '' ? { ...grant, id: 'new' } : grant)),
  });
  if (!compiled.ok) throw new Error('an edited policy compiles');
  return compiled.snapshot.decisions;
}

function patched(
  files: readonly SourceFile[],
  set: PolicySet,
  change: Change | TakingChange,
): readonly SourceFile[] | string {
  const patch = patchFiles(files, { set, change });
  if (!patch.ok) return patch.reason;
  const changed = new Map(patch.files.map(({ path, to }) => [path, to]));
  return files.map(({ path, bytes }) => ({ path, bytes: changed.get(path) ?? bytes }));
}

/** What an edit is about, as comments name it; without what must stay. */
function subjectsOf(change: Change | TakingChange): readonly string[] {
  switch (change.kind) {
    case 'several':
      return change.changes.flatMap(subjectsOf);
    case 'drop-grant':
      return [change.grant.id];
    case 'drop-member':
      return [`${change.role}/${change.member}`];
    default:
      return [];
  }
}

const commentsIn = (files: readonly SourceFile[]): readonly string[] =>
  files
    .flatMap((one) => textOf(one).split('\n'))
    .flatMap((line) => /# (?:about|behind|below) .*$/.exec(line)?.[0] ?? []);

describe('edits written into files', () => {
  it('make them decide as the edited declarations do, and keep every comment about anything else', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(fc.oneof(windowedWorld, exclusiveWorld), explainRequest, fc.noBias(fc.nat()), (any, some, seed) => {
        const taste = tasteOf(seed);
        const files = write(writable(any), taste);
        const set = read(files);
        const policy = load(set);
        const asked = seed % 3 === 0 ? some : aimed(set, some, seed >>> 2);
        const explained = explain(policy, asked);
        const edits = explained.decision === 'allow' ? takeAway(policy, asked, { set }).edits : explained.edits;
        for (const { text, change } of edits.slice(0, 20)) {
          const result = patched(files, set, change);
          if (typeof result === 'string') {
            expect(result).toMatch(/^(?:no file has grants yet|a comment inside)/);
            seen.set('refused', (seen.get('refused') ?? 0) + 1);
            continue;
          }
          const about = [text, ...result.map(textOf)];
          expect([about, decisionsOf(read(result))]).toEqual([about, decisionsOf(editedSet(set, change))]);
          const subjects = subjectsOf(change).map((subject) => ` ${subject}`);
          const kept = commentsIn(files).filter((comment) => !subjects.some((subject) => comment.endsWith(subject)));
          expect([about, commentsIn(result)]).toEqual([about, expect.arrayContaining([...kept])]);
          for (const { kind } of change.kind === 'several' ? change.changes : [change])
            seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      }),
      testRuns({ usual: 120, deep: 800 }),
    );
    const taking = ['drop-grant', 'drop-scope', 'end-grant', 'narrow', 'drop-member', 'end-member'];
    for (const kind of [...taking, 'grant', 'member', 'scope', 'window', 'inherit', 'amend'])
      expect([kind, (seen.get(kind) ?? 0) > 0]).toEqual([kind, true]);
    expect(seen.get('refused') ?? 0).toBeLessThan([...seen.values()].reduce((sum, one) => sum + one, 0) / 4);
  });
});

const HEADER = file('policy.yaml', 'bailiwick: 1\nname: labs\nproviders: { ad: {} }\n');

/** The text of the second file with an edit made. */
function edit(text: string, change: Change | TakingChange): string {
  const files = [HEADER, file('z.yaml', text)];
  const result = patched(files, read(files), change);
  return typeof result === 'string' ? `refused: ${result}` : textOf(result[1] ?? HEADER);
}

const AT = Date.UTC(2027, 0, 1) as Instant;
const ROLES =
  'roles:\n  crew:\n    # Everybody.\n    members:\n      - ad:ann # since May\n      # Ben, too.\n      - ad:ben\n';
const GRANT =
  'grants:\n  # Why a.\n  - id: a\n    role: crew\n    namespace: /a\n    # Where a is.\n\n  # Other things.\n\n  # Why b.\n  - id: b\n    role: crew\n    scopes: [resource:read]\n    namespace: /b\n';
const SCOPES =
  'roles:\n  crew:\n    members: [ad:ann, ad:ben]\n    scopes:\n      - resource:read # to look\n      - "process-run:*"\n';
const dropA = { kind: 'drop-grant', grant: { id: 'a' } } as const;

test.each<[string, string, Change | TakingChange, string]>([
  [
    'a grant goes with its own comments',
    `${SCOPES}${GRANT}`,
    dropA,
    `${SCOPES}${GRANT.replace(/ {2}# Why a[^]*is\.\n/, '')}`,
  ],
  [
    'the only grant leaves an empty list',
    `${SCOPES}grants: # all\n  - id: a\n    role: crew\n    namespace: /a\n`,
    dropA,
    `${SCOPES}grants: [] # all\n`,
  ],
  [
    'a member goes with the comment above it',
    ROLES,
    { kind: 'drop-member', role: 'crew', member: 'ad:ben' },
    ROLES.replace('      # Ben, too.\n      - ad:ben\n', ''),
  ],
  [
    'a member goes with the comment behind it',
    ROLES,
    { kind: 'drop-member', role: 'crew', member: 'ad:ann' },
    ROLES.replace('      - ad:ann # since May\n', ''),
  ],
  [
    'a membership ends',
    ROLES,
    { kind: 'end-member', role: 'crew', member: 'ad:ann', expires: AT },
    ROLES.replace('ad:ann', '{ identity: ad:ann, expires: 2027-01-01T00:00:00.000Z }'),
  ],
  [
    'a scope of a role that stands below others cannot be written without losing a comment',
    `${SCOPES}${GRANT}`,
    {
      kind: 'drop-role-scope',
      role: 'crew',
      scope: 'process-run:read',
      scopes: ['process-run:write', 'resource:read'],
    },
    'refused: a comment inside of what would be replaced in `z.yaml` would be lost',
  ],
  [
    'a grant that takes its scopes from the role names its own',
    `${SCOPES}${GRANT}`,
    {
      kind: 'drop-scope',
      grant: { id: 'a' },
      scope: 'resource:read',
      scopes: ['process-run:read', 'process-run:write'],
    },
    `${SCOPES}${GRANT.replace('    role: crew\n', '    role: crew\n    scopes: [process-run:*]\n')}`,
  ],
  [
    'a grant in a file with Windows line ends keeps them',
    `${SCOPES}${GRANT}`.replaceAll('\n', '\r\n'),
    { kind: 'narrow', grant: { id: 'b' }, inherit: false },
    `${SCOPES}${GRANT.replace('[resource:read]\n', '[resource:read]\n    inherit: false\n')}`.replaceAll('\n', '\r\n'),
  ],
  [
    'a grant is added beside the nearest one, in a file without a line feed at its end',
    `${SCOPES}${GRANT}    reason: "to see"`,
    { kind: 'grant', identity: 'ad:zoe', namespace: '/b/c' as never, scopes: ['resource:read'], inherit: false },
    `${SCOPES}${GRANT}    reason: "to see"\n  - id: zoe-resource-read\n    identity: ad:zoe\n    scopes: [resource:read]\n    inherit: false\n    namespace: /b/c`,
  ],
  [
    'a hash in a name is no comment, in brackets',
    'roles:\n  crew: { members: ["ad:ann #1"] }\n',
    { kind: 'drop-member', role: 'crew', member: 'ad:ann #1' },
    'roles:\n  crew: { members: [] }\n',
  ],
  [
    'a hash in a name is no comment where the membership ends',
    'roles:\n  crew:\n    members:\n      - "ad:ann#1" # since May\n',
    { kind: 'end-member', role: 'crew', member: 'ad:ann#1', expires: AT },
    'roles:\n  crew:\n    members:\n      - { identity: ad:ann#1, expires: 2027-01-01T00:00:00.000Z } # since May\n',
  ],
  [
    'the first key of an item gives its place to the next',
    `${SCOPES}grants:\n  - inherit: false # why\n    id: a\n    role: crew\n    namespace: /a\n`,
    { kind: 'inherit', grant: { id: 'a' }, inherit: true },
    `${SCOPES}grants:\n  - id: a\n    role: crew\n    namespace: /a\n`,
  ],
  [
    'the first key of an item stays where a comment about the next one would be lost',
    `${SCOPES}grants:\n  - inherit: false\n    # Where.\n    id: a\n    role: crew\n    namespace: /a\n`,
    { kind: 'inherit', grant: { id: 'a' }, inherit: true },
    'refused: a comment inside of what would be replaced in `z.yaml` would be lost',
  ],
  [
    'an item goes with the comma in front of the next one',
    'roles:\n  crew:\n    members: [ad:ann # since May\n      , ad:ben]\n',
    { kind: 'drop-member', role: 'crew', member: 'ad:ann' },
    'roles:\n  crew:\n    members: [ad:ben]\n',
  ],
  [
    'the last item goes with the comma behind it where a comment stands before it',
    'roles:\n  crew:\n    members: [\n      ad:ann, # since May\n      ad:ben,\n    ]\n',
    { kind: 'drop-member', role: 'crew', member: 'ad:ben' },
    'roles:\n  crew:\n    members: [\n      ad:ann, # since May\n      \n    ]\n',
  ],
  [
    'the last item goes with its comma, also one behind a comment of its own',
    'roles:\n  crew:\n    members: [\n      ad:ann, # since May\n      ad:ben # since June\n      ,\n    ]\n',
    { kind: 'drop-member', role: 'crew', member: 'ad:ben' },
    'roles:\n  crew:\n    members: [\n      ad:ann, # since May\n       # since June\n      \n    ]\n',
  ],
  [
    'the first member is written into the brackets of an empty list',
    'roles:\n  crew:\n    members:\n      # Nobody yet.\n      []\n',
    { kind: 'member', role: 'crew', identity: 'ad:zoe' },
    'roles:\n  crew:\n    members:\n      # Nobody yet.\n      [ad:zoe]\n',
  ],
])('%s', (_name, before, change, after) => {
  expect(edit(before, change)).toBe(after);
});
