// Lint: each rule on small policies, ignore comments and levels, and two properties: obeying every `LINT_GRANT_REDUNDANT` changes no
// decision, and afterwards no grant is redundant.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import {
  compilePolicy,
  type Diagnostic,
  ENGINE_LIMITS,
  type LintCode,
  type LintLevel,
  lintPolicy,
  type PolicySet,
  readPolicy,
} from '../../engine/compiler.js';
import { parseInstant } from '../../engine/index.js';
import { testRuns } from '../support/test-runs.js';

const POLICY = 'bailiwick: 1\nname: p\nproviders: { orcid: {}, github: {} }\n';
const DAY = 86_400_000;

function read(files: Readonly<Record<string, string>>): ReturnType<typeof readPolicy> & { readonly policy: PolicySet } {
  const reading = readPolicy(
    Object.entries({ 'policy.yaml': POLICY, ...files }).map(([path, text]) => ({
      path,
      bytes: new TextEncoder().encode(text),
    })),
  );
  if (reading.policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
  return { ...reading, policy: reading.policy };
}

interface Options {
  readonly at?: string;
  readonly levels?: readonly (readonly [LintCode, LintLevel])[];
}

function lint(files: Readonly<Record<string, string>> | string, { at, levels }: Options = {}): readonly Diagnostic[] {
  const reading = read(typeof files === 'string' ? { 'a.yaml': files } : files);
  return lintPolicy(reading, {
    at: at === undefined ? null : parseInstant(at),
    soonMilliseconds: 30 * DAY,
    levels: new Map(levels),
  });
}

/** `CODE line`, and what a finding relates to. */
const told = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics.map(({ code, range, related }) =>
    [code, range.start.line, ...related.map((place) => `<- ${String(place.range.start.line)}`)].join(' '),
  );

describe('redundant grants', () => {
  it('are found among thousands of windows at one namespace', () => {
    const at = (hour: number): string => new Date(Date.UTC(2027, 0, 1, hour)).toISOString();
    const line = (id: string, from: number, until: number): string =>
      `  - { id: ${id}, identity: orcid:a, namespace: /a, scopes: [resource:read], notBefore: ${at(from)}, expires: ${at(until)} }\n`;
    const windows = Array.from({ length: 3000 }, (_, index) => line(`w${String(index)}`, index, index + 1));
    const text = `grants:\n${windows.join('')}${line('both', 1, 3)}`;
    expect(told(lint(text))).toEqual(['LINT_GRANT_REDUNDANT 3002 <- 3 <- 4']);
  });

  const grants = (...lines: readonly string[]): string =>
    `roles:\n  in: { members: [orcid:a] }\n  out: { members: [{ role: in }, orcid:b] }\ngrants:\n${lines.map((line) => `  - { ${line} }\n`).join('')}`;

  test.each([
    {
      name: 'covered by one at or above it',
      text: grants(
        'id: x, role: in, scopes: [resource:read], namespace: /a/b',
        'id: y, role: out, scopes: ["*:read"], namespace: /a',
      ),
      found: ['LINT_GRANT_REDUNDANT 5 <- 6'],
    },
    {
      name: 'covered by several scopes and windows together, those that can be spared left out',
      text: grants(
        'id: x, role: in, scopes: ["*:read"], expires: 2027-01-01T00:00:00Z, namespace: /a',
        'id: y, role: in, scopes: ["*:read"], notBefore: 2026-06-01T00:00:00Z, namespace: /a',
        'id: s, role: in, scopes: [resource:read], notBefore: 2026-07-01T00:00:00Z, expires: 2026-08-01T00:00:00Z, namespace: /a/b',
        'id: z, identity: orcid:a, scopes: [resource:read], namespace: /a/b',
      ),
      found: ['LINT_GRANT_REDUNDANT 7 <- 5', 'LINT_GRANT_REDUNDANT 8 <- 5 <- 6'],
    },
    {
      name: 'of two equal ones the later',
      text: grants(
        'id: x, role: in, scopes: [resource:read], namespace: /a',
        'id: y, role: in, scopes: [resource:read], namespace: /a',
      ),
      found: ['LINT_GRANT_REDUNDANT 6 <- 5'],
    },
    {
      name: 'not by one that is not inherited, unless at the same place and as narrow',
      text: grants(
        'id: x, role: in, scopes: ["*:read"], namespace: /a, inherit: false',
        'id: y, role: in, scopes: [resource:read], namespace: /a/b',
        'id: z, role: in, scopes: [resource:read], namespace: /a',
        'id: w, role: in, scopes: [process-run:read], namespace: /a, inherit: false',
      ),
      found: ['LINT_GRANT_REDUNDANT 6 <- 7', 'LINT_GRANT_REDUNDANT 8 <- 5'],
    },
    {
      name: 'not by a role inside, another place, another person, a shorter window or fewer scopes',
      text: grants(
        'id: x, role: out, scopes: [resource:read], namespace: /a',
        'id: y, role: in, scopes: [resource:read, process-run:read], namespace: /a',
        'id: v, role: out, scopes: [namespace:read], namespace: /ab',
        'id: u, role: out, scopes: [namespace:read], namespace: /a',
        'id: w, identity: orcid:c, scopes: [resource:read], namespace: /a',
        'id: t, role: out, scopes: [process-template:read], expires: 2027-01-01T00:00:00Z, namespace: /a',
        'id: s, role: out, scopes: [process-template:read], notBefore: 2027-01-02T00:00:00Z, namespace: /a',
        'id: r, role: out, scopes: [process-template:read], namespace: /a/c',
      ),
      found: [],
    },
  ])('$name', ({ text, found }) => {
    expect(told(lint(text, { levels: [['LINT_ROLE_UNUSED', 'off']] }))).toEqual(found);
  });

  const scopes = fc.uniqueArray(fc.constantFrom('resource:read', 'resource:write', '*:read', 'process-run:*'), {
    minLength: 1,
    maxLength: 2,
  });
  const window = fc.constantFrom(
    {},
    {},
    {},
    { notBefore: '2026-01-01T00:00:00Z' },
    { expires: '2026-06-01T00:00:00Z' },
    { notBefore: '2026-05-01T00:00:00Z', expires: '2027-01-01T00:00:00Z' },
  );
  const someGrants = (principals: readonly object[]): fc.Arbitrary<readonly object[]> =>
    fc
      .array(
        fc.tuple(
          fc.constantFrom(...principals),
          window,
          fc.record({ scopes, namespace: fc.constantFrom('/', '/a', '/a/b', '/a/b/c', '/ab'), inherit: fc.boolean() }),
        ),
        { minLength: 1, maxLength: 12 },
      )
      .map((rows) =>
        rows.map(([principal, when, what], index) => ({ id: `g${String(index)}`, ...principal, ...when, ...what })),
      );
  const roles = { in: { members: ['orcid:a'] }, out: { members: [{ role: 'in' }, 'orcid:b'] }, none: { members: [] } };

  function decisions(grants: readonly object[]): string {
    const compiled = compilePolicy(read({ 'a.yaml': JSON.stringify({ roles, grants }) }).policy);
    return compiled.ok ? compiled.snapshot.decisions : 'too large';
  }

  function spared(grants: readonly object[]): readonly object[] {
    const found = lint(JSON.stringify({ roles, grants })).filter(({ code }) => /REDUNDANT|UNREACHABLE/.test(code));
    const ids = new Set(found.map(({ message }) => /^the grant `([^`]+)`/.exec(message)?.[1]));
    return grants.filter((grant) => !('id' in grant && typeof grant.id === 'string' && ids.has(grant.id)));
  }

  it('can all be removed at once: no decision changes', () => {
    let removed = 0;
    fc.assert(
      fc.property(
        someGrants([
          { role: 'in' },
          { role: 'out' },
          { role: 'none' },
          { identity: 'orcid:a' },
          { identity: 'orcid:c' },
        ]),
        (grants) => {
          const left = spared(grants);
          removed += grants.length - left.length;
          expect(decisions(left)).toBe(decisions(grants));
        },
      ),
      testRuns(60),
    );
    expect(removed).toBeGreaterThan(50);
  });

  it('are all there are among the grants of identities: each that is left changes a decision', () => {
    fc.assert(
      fc.property(someGrants([{ identity: 'orcid:x' }, { identity: 'orcid:y' }]), (grants) => {
        const left = spared(grants);
        const whole = decisions(left);
        for (const grant of left) expect(decisions(left.filter((other) => other !== grant))).not.toBe(whole);
      }),
      testRuns(60),
    );
  });

  it('are given up, with a word, where there are too many pairs', () => {
    const many = grants(
      ...Array.from(
        { length: 40 },
        (_, i) =>
          `id: g${String(i)}, role: in, scopes: [resource:read], namespace: /a, notBefore: ${String(2000 + i)}-01-01T00:00:00Z`,
      ).reverse(),
    );
    const reading = read({ 'a.yaml': many });
    const options = { at: null, soonMilliseconds: 0, levels: new Map() };
    const few = lintPolicy(reading, options, { ...ENGINE_LIMITS, lintPairs: 200 });
    expect(few.filter(({ code }) => code === 'LIMIT_LINT')).toHaveLength(1);
    const all = lintPolicy(reading, options);
    expect(all.filter(({ code }) => code === 'LINT_GRANT_REDUNDANT')).toHaveLength(39);
  });
});

describe('other rules', () => {
  test.each([
    {
      name: 'a role in a circle of empty ones is empty, however it is nested',
      text: 'roles:\n  a: {}\n  b: { members: [{ role: a }] }\n  c: { members: [{ role: b }] }\ngrants:\n  - { id: g, role: c, scopes: [resource:read], namespace: /x }\n',
      found: ['LINT_ROLE_EMPTY 2', 'LINT_ROLE_EMPTY 3', 'LINT_GRANT_UNREACHABLE 6 <- 4'],
    },
    {
      name: 'a role that only a guardrail exempts is used',
      text: 'roles:\n  a: { members: [orcid:x] }\nguardrails:\n  - { id: g, never: { scopes: [resource:write], under: /, except: { roles: [a] } } }\n',
      found: [],
    },
    ...['never: { scopes: [resource:write], under: /', 'atMost: { identities: 1, scope: resource:write, at: /'].flatMap(
      (rule) =>
        ['to', 'except'].map((key) => ({
          name: `a role that only \`${key}\` of a guardrail names is used: ${rule.slice(0, 6)}`,
          text: `roles:\n  a: { members: [orcid:x] }\nguardrails:\n  - { id: g, ${rule}, ${key}: { roles: [a] } } }\n`,
          found: [],
        })),
    ),
    {
      name: 'a role of nobody that a guardrail is about is empty, not unused',
      text: 'roles:\n  a: {}\nguardrails:\n  - { id: g, never: { scopes: [resource:write], under: /, to: { roles: [a] } } }\n',
      found: ['LINT_ROLE_EMPTY 2'],
    },
    {
      name: 'a role that others have for some time is used, also where no grant is in force then',
      text: 'roles:\n  a: { members: [orcid:x] }\n  b: { members: [{ role: a, notBefore: 2026-01-01T00:00:00Z, expires: 2026-02-01T00:00:00Z }, orcid:y] }\n  c: { members: [{ role: b, expires: 2026-01-01T00:00:00Z }, orcid:z] }\ngrants:\n  - { id: g, role: c, notBefore: 2026-05-01T00:00:00Z, scopes: [resource:read], namespace: /x }\n',
      found: [],
    },
    {
      name: 'members that are reached twice, roles too, however deep',
      text: 'roles:\n  a: { members: [orcid:x] }\n  b: { members: [{ role: a }] }\n  c:\n    members:\n      - { role: b }\n      - { role: a }\n      - orcid:x\n      - orcid:y\ngrants:\n  - { id: g, role: c, scopes: [resource:read], namespace: /x }\n',
      found: ['LINT_MEMBER_REPEATED 7 <- 3', 'LINT_MEMBER_REPEATED 8 <- 2'],
    },
    {
      name: 'somebody in two roles of one role is not repeated',
      text: 'roles:\n  a: { members: [orcid:x] }\n  b: { members: [orcid:x] }\n  c: { members: [{ role: a }, { role: b }] }\ngrants:\n  - { id: g, role: c, scopes: [resource:read], namespace: /x }\n',
      found: [],
    },
    {
      name: 'a write that others may read above is read; one that is read beside it or below it only is not',
      text: 'grants:\n  - { id: r, identity: orcid:r, scopes: [resource:read], namespace: /a }\n  - { id: o, identity: orcid:r, scopes: [process-run:read], namespace: /a, inherit: false }\n  - { id: w, identity: orcid:w, scopes: [resource:write, process-run:write], namespace: /a/b }\n  - { id: v, identity: orcid:w, scopes: [resource:write], namespace: /ab }\n',
      found: ['LINT_WRITE_UNREAD 4', 'LINT_WRITE_UNREAD 5'],
    },
    {
      name: 'identities by case, by Cyrillic and Greek letters, by digits and full-width forms, within one provider',
      text: `roles:\n  a:\n    members:\n      - orcid:octocat\n      - orcid:Octocat\n      - orcid:\u043e\u0441tocat\n      - orcid:0ct0cat\n      - orcid:\uff4fctocat\n      - github:octocat\n      - orcid:octokat\n      - orcid:pau\u04cf\n      - orcid:paul\ngrants:\n  - { id: g, role: a, scopes: [resource:read], namespace: /x }\n`,
      found: [5, 6, 7, 8]
        .map((line) => `LINT_IDENTITY_LOOKALIKE ${String(line)} <- 4`)
        .concat('LINT_IDENTITY_LOOKALIKE 12 <- 11'),
    },
  ])('$name', ({ text, found }) => {
    expect(told(lint(text))).toEqual(found);
  });

  test.each([
    ['by a soft hyphen', 'ab', 'a\\u00adb', 'characters that nobody sees'],
    ['by a joiner', 'ab', 'a\\u200db', 'characters that nobody sees'],
    ['by a space of no width', 'ab', 'a\\u200bb', 'characters that nobody sees'],
    ['by a mark of direction', 'ab', 'a\\u202eb', 'characters that nobody sees'],
    ['by a word joiner', 'ab', 'a\\u2060b', 'characters that nobody sees'],
    ['by a selector of a variant', 'ab', 'a\\ufe0fb', 'characters that nobody sees'],
    ['by two of them, and case', 'a\\u2060B', 'a\\u00adb', 'characters that nobody sees'],
    ['by one of them, and a digit', 'pau1', 'pa\\u00adul', 'characters that look alike'],
    ['by an i without its dot', 'ivan', '\\u0131van', 'case'],
    ['by an I with a dot', 'Ivan', '\\u0130van', 'characters that look alike'],
    ['by a letter that is two capitals', 'stra\\u00dfe', 'STRASSE', 'case'],
    ['by a Cyrillic i under a capital', 'Ivan', '\\u0456van', 'characters that look alike'],
    ['by a Cyrillic capital', 'ivan', '\\u0406van', 'characters that look alike'],
    ['by a bar', 'pau|', 'paui', 'characters that look alike'],
    ['by a capital that is a digit', 'paypa1', 'paypaI', 'characters that look alike'],
  ])('identities that differ %s', (_, first, second, difference) => {
    const grant = (id: string): string =>
      `  - { id: ${id}, identity: "orcid:${id === 'a' ? first : second}", scopes: [resource:read], namespace: /x }\n`;
    const found = lint(`grants:\n${grant('a')}${grant('b')}`);
    expect(told(found)).toEqual(['LINT_IDENTITY_LOOKALIKE 3 <- 2']);
    expect(found[0]?.message).toMatch(new RegExp(`only in ${difference}$`));
  });

  it('looks at the clock only if it is given one', () => {
    const text = ['2026-12-31T23:59:59Z', '2027-01-01T00:00:00Z', '2027-01-31T00:00:00Z', '2027-01-31T00:00:00.001Z']
      .map(
        (expires, i) =>
          `  - { id: g${String(i)}, identity: orcid:x, scopes: [resource:read], expires: ${expires}, namespace: /n${String(i)} }\n`,
      )
      .join('');
    expect(lint(`grants:\n${text}`)).toEqual([]);
    expect(told(lint(`grants:\n${text}`, { at: '2027-01-01T00:00:00Z' }))).toEqual([
      'LINT_GRANT_EXPIRED 2',
      'LINT_GRANT_EXPIRED 3',
      'LINT_GRANT_EXPIRES_SOON 4',
    ]);
  });

  it('asks for `within` in a folder where others have it, and in no other', () => {
    const grant = (id: string): string =>
      `grants:\n  - { id: ${id}, identity: orcid:x, scopes: [resource:read], namespace: /a/${id} }\n`;
    const found = lint({
      'g/a.yaml': `within: /a\n${grant('a')}`,
      'g/b.yaml': grant('b'),
      'g/deep/c.yaml': grant('c'),
      'd.yaml': grant('d'),
      'g/roles.yaml': 'roles: {}\n',
    });
    expect(found.map(({ code, file, related }) => [code, file, related[0]?.file])).toEqual([
      ['LINT_WITHIN_MISSING', 'g/b.yaml', 'g/a.yaml'],
    ]);
  });
});

describe('a test that denies something to somebody whom the policy does not name', () => {
  const policy = (actor: string, expects = 'deny: ["resource:read /b"]', before = ''): string =>
    [
      'roles: { r: { members: ["orcid-group:crew", orcid:ada] } }',
      'people: { bo: { identities: [github:bo] } }',
      'grants: [{ id: a, role: r, scopes: [resource:read], namespace: /a }]',
      'guardrails: [{ id: g, never: { scopes: [resource:write], under: /, to: { identities: [github:eve] } } }]',
      `tests:\n${before}  - { name: t, actor: { identities: [${actor}] }, ${expects} }`,
      '',
    ].join('\n');

  test.each([
    { name: 'a stranger', text: policy('orcid:adda'), found: [['LINT_TEST_IDENTITY', 'did you mean `orcid:ada`?']] },
    {
      name: 'a stranger beside somebody',
      text: policy('orcid:ada, github:unknown-to-all'),
      found: [['LINT_TEST_IDENTITY', expect.stringContaining('say why strangers are tested')]],
    },
    {
      name: 'a group of another provider',
      text: policy('"orcid-group:crew", github:x'),
      found: [['LINT_TEST_IDENTITY', expect.anything()]],
    },
    { name: 'whoever is in a group', text: policy('"orcid-group:crew", orcid:anybody'), found: [] },
    { name: 'a person', text: policy('github:bo'), found: [] },
    { name: 'whom a guardrail names', text: policy('github:eve'), found: [] },
    { name: 'nobody at all', text: policy(''), found: [] },
    {
      name: 'a stranger who sees nothing',
      text: policy('orcid:adda', 'sees: { "resource /a": [] }'),
      found: [['LINT_TEST_IDENTITY', 'did you mean `orcid:ada`?']],
    },
    { name: 'a stranger who sees something', text: policy('orcid:adda', 'sees: { "resource /a": [/a] }'), found: [] },
    {
      name: 'a stranger on purpose',
      text: policy('orcid:adda', undefined, '  # bailiwick-ignore LINT_TEST_IDENTITY: strangers stay out\n'),
      found: [],
    },
  ])('$name', ({ text, found }) => {
    expect(lint(text).map(({ code, help }) => [code, help])).toEqual(found);
  });
});

describe('ignore comments and levels', () => {
  const writes = (comment: string, behind = ''): string =>
    `grants:\n  - { id: r, identity: orcid:r, scopes: ["*:read"], namespace: / }\n${comment}  - { id: w, identity: orcid:w, scopes: [resource:write], namespace: / }${behind}\n`;

  test.each([
    { name: 'above the line', text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT: it is theirs\n'), found: [] },
    {
      name: 'above, with other comments and blank lines between',
      text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT: it is theirs\n\n  # more\n'),
      found: [],
    },
    { name: 'behind the line', text: writes('', ' # bailiwick-ignore LINT_WRITE_AT_ROOT: it is theirs'), found: [] },
    {
      name: 'at the head, for all of the file',
      text: `# bailiwick-ignore LINT_WRITE_AT_ROOT, LINT_WRITE_UNREAD: all of it\n${writes('').replace('"*:read"', 'namespace:read')}`,
      found: [],
    },
    {
      name: 'without a reason',
      text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT:  \n'),
      found: ['LINT_IGNORE_REASON 3', 'LINT_WRITE_AT_ROOT 4'],
    },
    {
      name: 'without a rule',
      text: writes('  # bailiwick-ignore: all\n'),
      found: ['LINT_IGNORE_REASON 3', 'LINT_WRITE_AT_ROOT 4'],
    },
    {
      name: 'of another rule',
      text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT, LINT_ROLE_EMPTY: why\n'),
      found: ['LINT_IGNORE_UNUSED 3'],
    },
    {
      name: 'of a rule that does not exist',
      text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROT: why\n'),
      found: ['LINT_IGNORE_UNUSED 3', 'LINT_WRITE_AT_ROOT 4'],
    },
    {
      name: 'of a rule that was not run',
      text: writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT, LINT_GRANT_EXPIRED: why\n'),
      found: [],
    },
    {
      name: 'in a text, which is no comment',
      text: writes('').replace('id: w,', 'id: w, reason: "x # bailiwick-ignore LINT_WRITE_AT_ROOT: y",'),
      found: ['LINT_WRITE_AT_ROOT 3'],
    },
  ])('$name', ({ text, found }) => {
    expect(told(lint(text))).toEqual(found);
  });

  it('offers the rule that was meant', () => {
    const [unused] = lint(writes('  # bailiwick-ignore LINT_WRITE_AT_ROT: why\n'));
    expect(unused?.help).toBe('did you mean `LINT_WRITE_AT_ROOT`?');
  });

  it('has each rule at its level, or off', () => {
    const at = (level: LintLevel): readonly string[] =>
      lint(writes(''), { levels: [['LINT_WRITE_AT_ROOT', level]] }).map(({ severity }) => severity);
    expect([at('error'), at('info'), at('off')]).toEqual([['error'], ['info'], []]);
    // What is switched off needs no comment, and has no use for one.
    const ignored = writes('  # bailiwick-ignore LINT_WRITE_AT_ROOT: why\n');
    expect(lint(ignored, { levels: [['LINT_WRITE_AT_ROOT', 'off']] })).toEqual([]);
  });
});
