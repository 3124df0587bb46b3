// The section `people` and `to` of guardrails: what is read, and every mistake with the text that it is in.
import { describe, expect, it, test } from '@jest/globals';
import { ENGINE_LIMITS, formatFile, lineOf } from '../../../engine/compiler.js';
import { POLICY, readExample, readFolder, ROLES, summary } from './support.js';

const rule = (kind: string): string => `guardrails:\n  - { id: a, ${kind} }\n`;
const never = (to: string): string => rule(`never: { scopes: ["*:write"], under: /labs, to: ${to} }`);

describe('people', () => {
  it('are names with identities, each as text or in parts', () => {
    const text =
      'people:\n  ana: { identities: [github:ana, { provider: orcid, subject: x }] }\n  ben: { identities: [github:ben] }\n';
    const { policy, diagnostics } = readExample(text);
    expect(diagnostics).toEqual([]);
    expect(policy?.people.map(({ name, identities }) => ({ name, identities }))).toEqual([
      {
        name: 'ana',
        identities: [
          { provider: 'github', subject: 'ana' },
          { provider: 'orcid', subject: 'x' },
        ],
      },
      { name: 'ben', identities: [{ provider: 'github', subject: 'ben' }] },
    ]);
    const place = policy?.people[0]?.place ?? null;
    expect(place === null ? null : lineOf(place)).toBe(2);
  });

  test.each([
    ['no people', 'people:\n', ['VALUE_NULL people']],
    ['a list', 'people: [github:a]\n', ['VALUE_NOT_MAPPING [github:a]']],
    ['a name that is none', 'people: { Ana: { identities: [github:a] } }\n', ['NAME_INVALID Ana']],
    [
      'a name that programs trip over',
      'people: { __proto__: { identities: [github:a] } }\n',
      ['KEY_FORBIDDEN __proto__'],
    ],
    ['no identities', 'people: { ana: {} }\n', ['KEY_MISSING {}']],
    ['an empty list', 'people: { ana: { identities: [] } }\n', ['VALUE_EMPTY []']],
    ['an identity in the place of a person', 'people: { ana: [github:a] }\n', ['VALUE_NOT_MAPPING [github:a]']],
    ['an unknown provider', 'people: { ana: { identities: [gihub:a] } }\n', ['PROVIDER_UNKNOWN gihub:a']],
    ['an identity twice', 'people: { ana: { identities: [github:a, github:a] } }\n', ['VALUE_REPEATED github:a']],
    [
      'an identity of two people',
      'people: { ana: { identities: [github:a] }, ben: { identities: [{ provider: github, subject: a }] } }\n',
      ['PERSON_IDENTITY { provider: github, subject: a }'],
    ],
    ['a key that is none', 'people: { ana: { identity: github:a } }\n', ['KEY_UNKNOWN identity']],
  ])('%s', (_name, text, expected) => {
    expect(summary(readExample(text))).toEqual(expected);
  });

  it('are declared once in a folder, and own an identity once', () => {
    const person = (name: string, identity: string): string => `people: { ${name}: { identities: [${identity}] } }\n`;
    const files = { 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'a.yaml': person('ana', 'github:a') };
    const found = readFolder({ ...files, 'b.yaml': person('ana', 'github:b'), 'c.yaml': person('ben', 'github:a') });
    expect(found.policy).toBeNull();
    expect(
      found.diagnostics.map(({ code, file, message, related }) => [code, file, message, related[0]?.file]),
    ).toEqual([
      ['PERSON_DUPLICATE', 'b.yaml', 'the person `ana` is declared twice', 'a.yaml'],
      ['PERSON_IDENTITY', 'c.yaml', '`github:a` is already an identity of `ana`', 'a.yaml'],
    ]);
  });

  it('belong into a file of sections, and are laid out one below the other', () => {
    expect(summary(readFolder({ 'policy.yaml': `${POLICY}people: {}\n` }))).toEqual(['KEY_MISPLACED people']);
    const bytes = new TextEncoder().encode('people: {ana: {identities: [github:a]}, ben: {identities: [github:b]}}\n');
    const formatted = formatFile({ path: 'a.yaml', bytes }, ENGINE_LIMITS);
    expect(formatted).toEqual({
      ok: true,
      text: 'people:\n  ana: { identities: [github:a] }\n  ben: { identities: [github:b] }\n',
    });
  });
});

describe('to', () => {
  it('is read in `never`, `separate` and `atMost`, beside `except`', () => {
    const to = 'to: { providers: [orcid], roles: [staff], identities: [github:a] }, except: { roles: [leads] }';
    const audience = {
      to: { providers: ['orcid'], roles: ['staff'], identities: [{ provider: 'github', subject: 'a' }] },
      except: { roles: ['leads'], identities: [] },
    };
    for (const kind of [
      `never: { scopes: ["*:write"], under: /labs, ${to} }`,
      `separate: { scopes: [resource:read, resource:write], ${to} }`,
      `atMost: { identities: 2, scope: resource:write, at: /, ${to} }`,
    ]) {
      const { policy, diagnostics } = readExample(rule(kind));
      expect(diagnostics).toEqual([]);
      expect(policy?.guardrails[0]?.rule).toMatchObject(audience);
    }
  });

  test.each([
    ['nothing', never(''), ['VALUE_NULL to']],
    ['an empty mapping', never('{}'), ['VALUE_EMPTY {}']],
    ['an empty list of roles', never('{ roles: [] }'), ['VALUE_EMPTY []']],
    ['an empty list of providers', never('{ providers: [], roles: [staff] }'), ['VALUE_EMPTY []']],
    ['an empty list of identities', never('{ identities: [] }'), ['VALUE_EMPTY []']],
    ['an unknown provider', never('{ providers: [gihub] }'), ['PROVIDER_UNKNOWN gihub']],
    ['an unknown role', never('{ roles: [staf] }'), ['ROLE_UNKNOWN staf']],
    ['an unknown key', never('{ people: [ana] }'), ['KEY_UNKNOWN people']],
    ['a list', never('[staff]'), ['VALUE_NOT_MAPPING [staff]']],
    [
      '`atLeast`',
      rule('atLeast: { identities: 1, scope: "*:read", at: /, to: { roles: [staff] } }'),
      ['KEY_UNKNOWN to'],
    ],
  ])('%s', (_name, text, expected) => {
    expect(summary(readExample(text))).toEqual(expected);
  });
});
