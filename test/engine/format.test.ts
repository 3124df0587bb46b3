// The formatter: one layout, idempotent, never another meaning, no comment lost; and a formatted file that is cut at the
// end of any line never grants more than the whole.
import { NO_SCOPES, scopesWithout } from '../../engine/model/scope-set.js';
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compilePolicy, formatFile, type PolicySet, readPolicy } from '../../engine/compiler.js';
import { fromRoot } from '../support/root.js';
import { testRuns } from '../support/test-runs.js';
import { tokensOf, type Token } from './comment-tokens.js';
import { makeDice, policies, untidy } from './untidy-policies.js';

const POLICY = 'bailiwick: 1\nname: p\nproviders: { orcid: {}, github: {} }\n';
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (text: string): ReturnType<typeof readPolicy> =>
  readPolicy([
    { path: 'policy.yaml', bytes: encode(POLICY) },
    { path: 'a.yaml', bytes: encode(text) },
  ]);

function format(text: string | Uint8Array, path = 'a.yaml'): string {
  const formatted = formatFile({ path, bytes: typeof text === 'string' ? encode(text) : text });
  if (!formatted.ok) throw new Error(formatted.diagnostics.map(({ code }) => code).join());
  return formatted.text;
}

/** What a policy says, without places. */
function meaning(set: PolicySet | null): string {
  return JSON.stringify(set, (key, value: unknown) => (key === 'place' ? undefined : value));
}

describe('the layout', () => {
  test.each([
    {
      name: 'puts the keys of an entry in order, and keeps that of sections and entries',
      text: 'grants:\n- namespace: /b\n  reason: why\n  scopes: [resource:read]\n  identity: orcid:x\n  id: b\n- {namespace: /a, id: a, scopes: ["*:read"], identity: "orcid:x"}\nwithin: /\n',
      layout:
        'grants:\n  - id: b\n    identity: orcid:x\n    scopes: [resource:read]\n    namespace: /b\n    reason: why\n  - { id: a, identity: orcid:x, scopes: ["*:read"], namespace: /a }\nwithin: /\n',
    },
    {
      name: 'keeps a blank line between entries before the dash, whichever key comes first',
      text: 'grants:\n  - role: r\n    id: a\n    namespace: /x\n\n  - role: r\n    id: b\n\n    namespace: /y\n',
      layout: 'grants:\n  - id: a\n    role: r\n    namespace: /x\n\n  - id: b\n    role: r\n\n    namespace: /y\n',
    },
    {
      name: 'moves comments with what they speak of',
      text: '# head\n\n# of roles\nroles:   # behind\n    # of a\n    b: {} # empty\n\n\n    # of c\n\n    c:\n      scopes: [ resource:read, # one\n        "*:write" ]\n      # before members\n      members: # who\n        - orcid:x   # Ada\n        # gone: orcid:y\n    # end of roles\n# end\n',
      layout:
        '# head\n\n# of roles\nroles: # behind\n  # of a\n  b: {} # empty\n\n  # of c\n\n  c:\n    # before members\n    members: # who\n      - orcid:x # Ada\n      # gone: orcid:y\n    scopes:\n      - resource:read # one\n      - "*:write"\n  # end of roles\n# end\n',
    },
    {
      name: 'sets a comment above an entry whose dash leaves it no room',
      text: 'grants:\n  - { id: z, role: x, namespace: / }\n  - # new\n    # soon\n    namespace: /a\n    # who\n    id: a\n    identity: orcid:x\n    scopes: [resource:read]\n',
      layout:
        'grants:\n  - { id: z, role: x, namespace: / }\n  # new\n  # soon\n  # who\n  - id: a\n    identity: orcid:x\n    scopes: [resource:read]\n    namespace: /a\n',
    },
    {
      name: 'keeps comments in and around brackets where they stand',
      text: 'roles:\n  a: { # of a\n    members: [ # who\n      # first\n      orcid:x, # Ada\n      orcid:y # Bob\n      , orcid:z,\n      # gone: orcid:w\n    ], # end of members\n    scopes: ["*:read"] } # end of a\n  b: { members: [orcid:x] } # of b\n  c: # of c\n    { members: [] }\n',
      layout:
        'roles:\n  a: # of a\n    members: # who\n      # first\n      - orcid:x # Ada\n      - orcid:y # Bob\n      - orcid:z\n      # gone: orcid:w\n      # end of members\n    scopes: ["*:read"]\n    # end of a\n  b: { members: [orcid:x] } # of b\n  c: # of c\n    members: []\n',
    },
    {
      name: 'keeps comments between a key and its text, and does not fold a text with a comment behind it',
      text: `roles:\n  a:\n    # why\n    description: # one\n      # two\n      'x'\n  b:\n    description: >- # folded\n      ${'words '.repeat(25).trim()}\n  c:\n    description: ${'words '.repeat(25)}# behind\n`,
      layout: `roles:\n  a:\n    # why\n    description: # one\n      # two\n      x\n  b:\n    description: >- # folded\n      ${'words '.repeat(19).trim()}\n      ${'words '.repeat(6).trim()}\n  c:\n    description: ${'words '.repeat(25)}# behind\n`,
    },
    {
      name: 'breaks brackets that do not fit, and folds long prose',
      text: `roles:\n  a: { members: [${Array.from({ length: 9 }, (_, i) => `orcid:0000-0000-0000-000${String(i)}`).join(', ')}] }\n  b:\n    description: ${'ninety nine words '.repeat(8)}\n`,
      layout: `roles:\n  a:\n    members:\n${Array.from({ length: 9 }, (_, i) => `      - orcid:0000-0000-0000-000${String(i)}\n`).join('')}  b:\n    description: >-\n      ${'ninety nine words '.repeat(6).trim()} ninety\n      nine words ninety nine words\n`,
    },
    {
      name: 'quotes what would read as something else, and only that',
      text: "roles:\n  '1': { description: 'yes' }\n  x: { description: \"it's\" }\n  w: { description: 'a: b' }\n  z: { description: \"two\\nlines\" }\n  q: { description: 'say \"it\"' }\n",
      layout:
        'roles:\n  "1": { description: "yes" }\n  x: { description: it\'s }\n  w: { description: "a: b" }\n  z: { description: "two\\nlines" }\n  q: { description: say "it" }\n',
    },
    {
      name: 'escapes what nobody sees',
      text: 'roles:\n  a: { description: "x\\u202ey", members: ["orcid:a\\u00adb", "orcid:\\U000e0041"] }\n',
      layout: 'roles:\n  a: { description: "x\\u202ey", members: ["orcid:a\\u00adb", "orcid:\\U000e0041"] }\n',
    },
    {
      name: 'drops a document mark and CR, and ends the file',
      text: '# a\r\n---\r\nroles: {a: {}}',
      layout: '# a\nroles:\n  a: {}\n',
    },
  ])('$name', ({ text, layout }) => {
    expect(format(text)).toBe(layout);
    expect(format(layout)).toBe(layout);
  });

  it('refuses a file that cannot be read, with what is wrong', () => {
    const refused = formatFile({ path: 'a.yaml', bytes: encode('grants:\n  - { id: A }\n') });
    expect(refused.ok ? [] : refused.diagnostics.map(({ code }) => code)).toContain('NAME_INVALID');
  });

  it('leaves a file of comments as it is, and does not ask for declared names', () => {
    expect(format('# nothing\n\n')).toBe('# nothing\n\n');
    expect(format('grants:\n- {id: a, role: nobody, namespace: /}\n')).toContain('role: nobody');
  });
});

test('every fixture and the shipped policy keep their meaning', () => {
  let formatted = 0;
  for (const root of ['fixtures/policies/good', 'fixtures/policies/bad', 'policies']) {
    const folder = fromRoot(root);
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const path of paths.filter((name) => name.endsWith('.yaml') && statSync(join(folder, name)).isFile())) {
      const bytes = new Uint8Array(readFileSync(join(folder, path)));
      const as = path.endsWith('policy.yaml') ? 'policy.yaml' : 'a.yaml';
      if (!formatFile({ path: as, bytes }).ok) continue;
      const text = format(bytes, as);
      expect(format(text, as)).toBe(text);
      formatted += 1;
    }
  }
  expect(formatted).toBeGreaterThan(100);
});

const anyHand = fc.record({ seed: fc.integer(), crlf: fc.boolean() });

/** A file that is right, with every comment that it has; formatted, it has the same meaning and is formatted once. */
function write(policy: object, keys: 'in order' | 'any', hand: { seed: number; crlf: boolean }): [string, string] {
  const text = untidy(policy, { dice: makeDice(hand.seed), keys });
  const found = read(text).diagnostics;
  expect({ text, found }).toEqual({ text, found: [] });
  const formatted = format(hand.crlf ? text.replaceAll('\n', '\r\n') : text);
  expect(format(formatted)).toBe(formatted);
  return [text, formatted];
}

test('any policy, however it is written, keeps its meaning, and is formatted once', () => {
  let compiled = 0;
  fc.assert(
    fc.property(policies, anyHand, (policy, hand) => {
      const [text, formatted] = write(policy, 'any', hand);
      const [before, after] = [read(text), read(formatted)];
      expect(meaning(after.policy)).toBe(meaning(before.policy));
      if (before.policy === null || after.policy === null || hand.seed % 8 !== 0) return;
      const [old, now] = [compilePolicy(before.policy), compilePolicy(after.policy)];
      expect(now.ok && now.snapshot.decisions).toBe(old.ok && old.snapshot.decisions);
      compiled += 1;
    }),
    testRuns({ usual: 50, deep: 100 }),
  );
  expect(compiled).toBeGreaterThan(3);
});

test('every comment stays between the texts where it stood, and no text changes its place', () => {
  let comments = 0;
  fc.assert(
    fc.property(policies, anyHand, (policy, hand) => {
      const [text, formatted] = write(policy, 'in order', hand);
      const before = tokensOf(text);
      expect({ text, formatted, tokens: tokensOf(formatted) }).toEqual({ text, formatted, tokens: before });
      comments += before.filter(({ kind }) => kind === 'comment').length;
    }),
    testRuns({ usual: 75, deep: 150 }),
  );
  expect(comments).toBeGreaterThan(500);
});

test('a comment goes with the key that it stands above or behind, where keys are put in order', () => {
  let comments = 0;
  fc.assert(
    fc.property(policies, anyHand, (policy, hand) => {
      const [text, formatted] = write(policy, 'any', hand);
      const [before, after] = [neighbours(tokensOf(text)), neighbours(tokensOf(formatted))];
      expect({ text, formatted, after }).toEqual({ text, formatted, after: before });
      comments += before.size;
    }),
    testRuns({ usual: 50, deep: 100 }),
  );
  expect(comments).toBeGreaterThan(300);
});

/** Of comments above something the text that comes next, of those behind something the one before; the others are there. */
function neighbours(tokens: readonly Token[]): ReadonlyMap<string, string> {
  const found = tokens.flatMap(({ kind, text }, index): [string, string][] => {
    if (kind === 'text') return [];
    const isText = (token: Token): boolean => token.kind === 'text';
    const next = tokens.slice(index).find(isText)?.text ?? '';
    const before = tokens.slice(0, index).findLast(isText)?.text ?? '';
    return [[text, text.startsWith('# above') ? next : text.startsWith('# behind') ? before : '']];
  });
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('a formatted file that is cut at the end of a line never grants more', () => {
  let cuts = 0;
  fc.assert(
    fc.property(policies, fc.integer(), (policy, seed) => {
      const formatted = format(untidy(policy, { dice: makeDice(seed), keys: 'any' }));
      const whole = new Map(read(formatted).policy?.grants.map((grant) => [grant.id, grant]));
      for (let at = formatted.indexOf('\n'); at >= 0; at = formatted.indexOf('\n', at + 1)) {
        for (const grant of read(formatted.slice(0, at + 1)).policy?.grants ?? []) {
          cuts += 1;
          const full = whole.get(grant.id);
          const { scopes: held, inherit, notBefore, expires, namespace, principal } = grant;
          expect(full).toMatchObject({ inherit, notBefore, expires, namespace, principal });
          expect(scopesWithout(held, full?.scopes ?? NO_SCOPES)).toBe(0);
        }
      }
    }),
    testRuns(15),
  );
  expect(cuts).toBeGreaterThan(50);
});
