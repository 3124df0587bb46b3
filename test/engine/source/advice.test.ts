// What messages tell an author to do (docs/language.md "Mistakes"). Whoever follows a help to the letter ends with what was meant, or with
// nothing worse than before. What is only an example is called one.
import { describe, expect, it, test } from '@jest/globals';
import { POLICY, readExample, readFolder, summary, textUnder } from './support.js';

const grant = (rest: string): string => `grants:\n  - id: a\n    role: staff\n${rest}    namespace: /labs\n`;

function told(text: string): readonly (readonly [string, string | undefined])[] {
  return readExample(text).diagnostics.map(({ message, help }) => [message, help]);
}

describe('an unresolved merge conflict', () => {
  const LINES = [
    'roles:',
    '  a:',
    '    members:',
    '      - github:x',
    '      - github:y',
    '  b: { members: [{ role: a }] }',
    'grants:',
    '  - id: g1',
    '    role: a',
    '    scopes: [resource:read]',
    '    namespace: /labs',
    '  - { id: g2, role: b, scopes: [resource:read], namespace: /labs/x }',
    '',
  ];

  it('is one error with its lines, wherever the markers stand, in either style and however far they are indented', () => {
    const wrong: string[] = [];
    for (let at = 0; at < LINES.length; at += 1) {
      for (const length of [0, 1, 2, 3]) {
        for (const [indent, withBase] of [
          ['', false],
          ['', true],
          ['    ', false],
        ] as const) {
          const ours = LINES.slice(at, at + length);
          const base = withBase ? [`${indent}||||||| 1a2b3c`, ...ours] : [];
          const theirs = ours.map((line) => line.replace('x', 'z'));
          const conflict = [`${indent}<<<<<<< HEAD`, ...ours, ...base, `${indent}=======`, ...theirs];
          const text = [...LINES.slice(0, at), ...conflict, `${indent}>>>>>>> topic`, ...LINES.slice(at + length)];
          const message = `an unresolved merge conflict, lines ${String(at + 1)} to ${String(at + 1 + conflict.length)}`;
          const found = told(text.join('\n')).map(([said]) => said);
          if (found.length !== 1 || found[0] !== message) wrong.push([...text, ...found].join('\n'));
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('in `policy.yaml` is one, too, and a marker that was left behind is named', () => {
    const header = `${POLICY}<<<<<<< a\n=======\n>>>>>>> b\n`;
    expect(summary(readFolder({ 'policy.yaml': header }))).toEqual([
      'TEXT_MERGE_CONFLICT <<<<<<< a\n=======\n>>>>>>> b',
    ]);
    for (const marker of ['<<<<<<< HEAD', '=======', '>>>>>>> topic', '||||||| base']) {
      for (const place of [0, 2, 4, 8]) {
        const text = [...LINES.slice(0, place), marker, ...LINES.slice(place)].join('\n');
        expect(told(text)).toEqual([
          [
            `a line that was left of a merge conflict: \`${marker.slice(0, 7)}\``,
            expect.stringContaining('both sides'),
          ],
        ]);
      }
    }
  });

  it('is one where only one side begins the section of what follows', () => {
    const item = '  - { name: t, actor: { identities: [github:x] }, deny: [resource:read /] }\n';
    const before = 'guardrails:\n  - { id: g, separate: [resource:read, resource:write] }\n';
    for (const conflict of ['<<<<<<< HEAD\n=======\ntests:\n>>>>>>> x\n', '<<<<<<< HEAD\ntests:\n=======\n>>>>>>> x\n'])
      expect(told(before + conflict + item).map(([said]) => said)).toEqual([
        'an unresolved merge conflict, lines 3 to 6',
      ]);
  });

  it('hides no other mistake, and a heading in a text is none', () => {
    const text = '<<<<<<< HEAD\nroles: { a: {} }\n=======\nroles: { c: {} }\n>>>>>>> x\n';
    expect(
      summary(readExample(`${text}grants: [{ id: a, role: c, scopes: [resource:read], namespace: /Labs }]\n`)),
    ).toEqual([expect.stringMatching(/^TEXT_MERGE_CONFLICT /), 'NAMESPACE_INVALID /Labs']);
    expect(told('roles:\n  a:\n    description: |\n      Title\n      =======\n    members: []\n')).toEqual([]);
  });
});

describe('a time that is none', () => {
  const NOT = 'is not a date and time with an offset';
  test.each([
    ['2026-15-01T00:00:00Z', 'there is no month 15', /^correct it; .*for example/],
    ['2026-02-30T00:00:00Z', 'February 2026 has no day 30', /^it has 28 days: correct it; .*for example/],
    ['2028-02-30', 'February 2028 has no day 30', /^it has 29 days/],
    ['2026-12-15T24:00:00+01:00', 'there is no hour 24', /^write `2026-12-16T00:00:00\+01:00` for midnight at the end/],
    ['2026-12-15T24:30:00Z', 'there is no hour 24', /^correct it; .*for example/],
    ['2026-12-15T25:00:00Z', 'there is no hour 25', /for example/],
    ['2026-12-15T12:60:00Z', 'there is no minute 60', /for example/],
    ['2026-12-31T23:59:60Z', 'there is no second 60', /^leap seconds are not accepted/],
    ['2026-12-15T12:00:00+25:00', 'there is no offset `+25:00`', /for example/],
    [
      '2026-12-15T12:00:00+0200',
      'its offset is written `+02:00`, right behind the time',
      /^write `2026-12-15T12:00:00\+02:00`$/,
    ],
    [
      '2026-12-15T12:00:00+2',
      'its offset is written `+02:00`, right behind the time',
      /^write `2026-12-15T12:00:00\+02:00`$/,
    ],
    [
      '2026-12-15T12:00:00-00:00',
      '`-00:00` says that the offset is not known',
      /^write `Z` if it is UTC, else the offset/,
    ],
    ['2026-12-15T12:00:00 Europe/Oslo', '`Europe/Oslo` is the name of a time zone', /^write its offset on that day/],
    ['2026-12-15T12:00:00 UTC', 'UTC is written `Z`', /^write `2026-12-15T12:00:00Z`$/],
    [
      '2026-10-01T06:00:00',
      'the offset from UTC is missing',
      /^write `2026-10-01T06:00:00Z` if it is UTC, else add .*\+02:00`$/,
    ],
    ['2026-10-01 06:00', 'the offset from UTC is missing', /^write `2026-10-01T06:00:00Z` if it is UTC, else add/],
    ['2026-10-01T06:00Z', 'the seconds are missing', /^write `2026-10-01T06:00:00Z`$/],
    [
      '2026-10-01T06:00:00.123456Z',
      'it has more than three digits behind the second',
      /^write `2026-10-01T06:00:00.123Z`$/,
    ],
    ['15.12.2026', 'a date is written year, month, day', /for example/],
    ['never', '`never` is not a time', /^remove `expires` if there is no such limit/],
    ['9999-12-31T23:59:59-23:00', 'in UTC it is not in the years 0000 to 9999', /for example/],
  ])('%s: says what is wrong', (written, why, help) => {
    expect(told(grant(`    expires: ${written}\n`))).toEqual([
      [`\`expires\` ${NOT}: ${why}`, expect.stringMatching(help)],
    ]);
  });

  it('is told with the day that is then excluded, where a date stands alone', () => {
    expect(told(grant('    expires: 2026-12-31\n'))).toEqual([
      [
        `\`expires\` ${NOT}: it has no time of day`,
        'write `2026-12-31T00:00:00Z` if 2026-12-31 is already excluded, or `2027-01-01T00:00:00Z` if it is the last day (both in UTC)',
      ],
    ]);
    expect(told(grant('    notBefore: 2026-12-31\n'))).toEqual([
      [expect.any(String), 'write `2026-12-31T00:00:00Z` for the moment at which the day begins in UTC'],
    ]);
  });

  it('is never given another time than it can mean', () => {
    for (const written of ['20261215', '1765756800', 'tomorrow', 'true', '12/15/2026', '2026-W51', '90d']) {
      const [[, help] = []] = told(grant(`    expires: ${written}\n`));
      expect(help).toMatch(/for example/);
      expect(help).not.toMatch(/^(?:write|did you mean) `/);
    }
  });
});

describe('a help shows what was meant', () => {
  test.each<[string, string, string, RegExp]>([
    [
      'a text that begins with @',
      grant('    reason: @oncall said so # yes\n'),
      'YAML_SCALAR_START @',
      /^write `"@oncall said so"`$/,
    ],
    [
      'the same with quotes in it',
      grant('    reason: @oncall said "so"\n'),
      'YAML_SCALAR_START @',
      /^write `'@oncall said "so"'`$/,
    ],
    [
      'a colon in a text with quotes',
      grant('    reason: see: "x"\n'),
      'YAML_COLON_IN_TEXT see: "x"',
      /^write `'see: "x"'`;/,
    ],
    ['no', grant('    inherit: no\n'), 'VALUE_NOT_BOOLEAN no', /^write `false`, without quotes$/],
    ['"true"', grant('    inherit: "true"\n'), 'VALUE_NOT_BOOLEAN "true"', /^write `true`, without quotes$/],
    [
      'a role as a member',
      'roles: { a: { members: [role:staff] } }\n',
      'PROVIDER_UNKNOWN role:staff',
      /write `\{ role: staff \}`$/,
    ],
    [
      'a role as an identity',
      'grants: [{ id: a, identity: role:staff, namespace: /, scopes: [resource:read] }]\n',
      'PROVIDER_UNKNOWN role:staff',
      /write `role: staff` in place of `identity`$/,
    ],
    [
      'a provider that no policy can declare',
      'roles: { a: { members: [constructor:x] } }\n',
      'PROVIDER_UNKNOWN constructor:x',
      /^no provider can be called that: name one that is declared$/,
    ],
    [
      'groups of a provider that is not declared',
      'roles: { a: { members: [keycloak-group:x] } }\n',
      'PROVIDER_UNKNOWN keycloak-group:x',
      /^declare `keycloak` in `policy.yaml`, under `providers`: its groups come with it$/,
    ],
    [
      'a role that no policy can declare',
      'roles: { a: { members: [{ role: constructor }] } }\n',
      'ROLE_UNKNOWN constructor',
      /^no role can be called that: name one that is declared$/,
    ],
    [
      'three identities without commas',
      'people: { a: { identities: [github:octo cat  github-group:x orcid:y] } }\n',
      'IDENTITY_JOINED github:octo cat  github-group:x orcid:y',
      /: `github:octo cat`, `github-group:x`, `orcid:y`$/,
    ],
    [
      'two identities with a comma in quotes',
      'tests: [{ name: a, actor: { identities: ["github:a, orcid:y"] }, deny: ["resource:read /"] }]\n',
      'IDENTITY_JOINED "github:a, orcid:y"',
      /: `github:a`, `orcid:y`$/,
    ],
    [
      'a role that no policy can declare, in capitals',
      'roles: { Constructor: {} }\n',
      'NAME_INVALID Constructor',
      /^names are/,
    ],
    [
      'a role with a number for its name',
      'roles: { "2024 ": {} }\n',
      'NAME_INVALID "2024 "',
      /^write `"2024"`, or another name/,
    ],
    ['a role called nothing', 'roles: { "Null!": {} }\n', 'NAME_INVALID "Null!"', /^write `"null"`, or another name/],
    [
      'two tests of one name',
      'tests: [{ name: a, actor: { identities: [] }, deny: ["resource:read /"] }, { name: "a", actor: { identities: [] }, deny: ["resource:read /"] }]\n',
      'TEST_DUPLICATE "a"',
      /^give one of them another name/,
    ],
    [
      'a comma in a text in braces',
      'roles: { a: { description: Tests, repairs and more: all, members: [] } }\n',
      'KEY_UNKNOWN repairs and more: all',
      /quote the text: write `"Tests, repairs and more: all"`$/,
    ],
    [
      'effect: deny',
      grant('    effect: deny\n'),
      'KEY_UNKNOWN effect',
      /there are no deny rules: .* a guardrail \(`never`\)$/,
    ],
    ['a condition', grant('    condition: x\n'), 'KEY_UNKNOWN condition', /^there are no conditions/],
    [
      'weeks',
      'guardrails: [{ id: a, expires: { providers: [orcid], within: 2 weeks } }]\n',
      'DURATION_INVALID 2 weeks',
      /^write `14d`$/,
    ],
    [
      'a long text',
      grant(`    reason: @${'x'.repeat(300)}\n`),
      'YAML_SCALAR_START @',
      /^put the whole text in quotes$/,
    ],
  ])('for %s', (_, text, expected, help) => {
    const reading = readExample(text);
    expect(summary(reading)).toEqual([expected]);
    expect(reading.diagnostics[0]?.help).toMatch(help);
  });

  it('for a provider that would be a group, in capitals, it does not propose the group', () => {
    const policy = 'bailiwick: 1\nname: p\nproviders: { okta: {}, Okta-Group: {} }\n';
    const { diagnostics } = readFolder({ 'policy.yaml': policy });
    expect(diagnostics.map(({ code, help }) => [code, help])).toEqual([
      ['NAME_INVALID', expect.stringMatching(/^names are/)],
    ]);
  });

  it('leaves subjects with spaces and colons alone', () => {
    const text =
      'roles: { a: { members: ["github:Ann B github ann", "github:see http://x y:z", "github:a gitlab:b"] } }\n';
    expect(summary(readExample(text))).toEqual([]);
  });

  it('for a name in capitals it is the same at the declaration and at each reference', () => {
    const text = 'roles:\n  Finance-Approvers: { members: [] }\n  b: { members: [{ role: Finance-Approvers }] }\n';
    expect(told(text)).toEqual([
      ['`Finance-Approvers` cannot be the name of a role', expect.stringMatching(/^write `finance-approvers`, or/)],
      ['the role `Finance-Approvers` is not declared', 'did you mean `finance-approvers`?'],
    ]);
    expect(told(text.replaceAll('Finance-Approvers', 'finance-approvers'))).toEqual([]);
  });
});

/** The text that a help tells to write in place of what is underlined; null if it offers none or several. */
function replacement(help: string | undefined): string | null {
  const [, text, more] =
    /^(?:write|did you mean|remove the space:|put it in quotes:) `([^`]+)`(.*)$/.exec(help ?? '') ?? [];
  return text === undefined || /[`…]/.test(more ?? '') ? null : text;
}

test('whoever writes what a help shows in place of what is underlined has one mistake less', () => {
  const VALUES = [
    'no',
    'yes',
    '7',
    'true',
    '"x"',
    '@x y',
    '%x',
    'a: b',
    '/Labs/X',
    'labs',
    '/labs/',
    '/labs/*',
    '//labs',
    'resource:raed',
    'resources:read',
    '2026-12-15T12:00:00+0200',
    '2026-10-01 06:00Z',
    '2026-10-01T06:00Z',
    'Staff',
    'staf',
    'gihub:x',
    'GitHub:x',
    'github: x',
    '*:read',
    '{ role: staff }',
    '[staff]',
    '90 days',
    'P90D',
    '2 weeks',
    '90',
    'My Grant',
    'role:staff',
    '~',
    '0x1F',
  ];
  const PLACES = [
    (value: string) => `grants:\n  - id: ${value}\n    role: staff\n    namespace: /labs\n`,
    (value: string) => `grants:\n  - id: a\n    role: ${value}\n    scopes: [resource:read]\n    namespace: /labs\n`,
    (value: string) =>
      `grants:\n  - id: a\n    identity: ${value}\n    scopes: [resource:read]\n    namespace: /labs\n`,
    (value: string) => `grants:\n  - id: a\n    role: staff\n    scopes: [${value}]\n    namespace: /labs\n`,
    (value: string) => grant(`    inherit: ${value}\n`),
    (value: string) => grant(`    notBefore: ${value}\n`),
    (value: string) => grant(`    reason: ${value}\n`),
    (value: string) => `grants:\n  - id: a\n    role: staff\n    namespace: ${value}\n`,
    (value: string) => `roles:\n  a:\n    members: [${value}]\n`,
    (value: string) => `roles:\n  a:\n    members:\n      - ${value}\n`,
    (value: string) => `guardrails:\n  - id: a\n    expires: { providers: [github], within: ${value} }\n`,
    (value: string) => `tests:\n  - name: t\n    actor: { identities: [github:x] }\n    allow: [${value}]\n`,
  ];
  let followed = 0;
  const worse: string[] = [];
  for (const place of PLACES) {
    for (const value of VALUES) {
      const text = place(value);
      const before = readExample(text);
      for (const diagnostic of before.diagnostics) {
        const instead = replacement(diagnostic.help);
        const { start } = diagnostic.range;
        if (instead === null || diagnostic.file !== 'example.yaml') continue;
        const lines = text.split('\n');
        const offset = lines.slice(0, start.line - 1).join('\n').length + (start.line > 1 ? 1 : 0) + start.column - 1;
        // A mark at the beginning of a text stands for the whole text.
        const rest =
          diagnostic.code === 'YAML_SCALAR_START'
            ? (lines[start.line - 1] ?? '').slice(start.column - 1).replace(/[\]}].*$/, '')
            : textUnder(before, diagnostic);
        const mended = text.slice(0, offset) + instead + text.slice(offset + rest.length);
        const after = readExample(mended);
        followed += 1;
        const isGone = !after.diagnostics.some(
          ({ code, range }) => code === diagnostic.code && range.start.line === start.line,
        );
        if (!isGone || after.diagnostics.length > before.diagnostics.length + 1)
          worse.push([text, `${diagnostic.message} / ${diagnostic.help ?? ''}`, mended, ...summary(after)].join('\n'));
      }
    }
  }
  expect(worse).toEqual([]);
  expect(followed).toBeGreaterThan(60);
});
