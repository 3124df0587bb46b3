// The formatter: one layout, idempotent, never another meaning, no comment lost; and a formatted file that is cut at the
// end of any line never grants more than the whole.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compilePolicy, formatFile, type PolicySet, readPolicy } from '../../engine/compiler.js';
import { fromRoot } from '../support/root.js';

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
      name: 'puts keys in order and keeps the order of entries',
      text: 'grants:\n- namespace: /b\n  reason: why\n  scopes: [resource:read]\n  identity: orcid:x\n  id: b\n- {namespace: /a, id: a, scopes: ["*:read"], identity: "orcid:x"}\nwithin: /\n',
      layout:
        'within: /\ngrants:\n  - id: b\n    identity: orcid:x\n    scopes: [resource:read]\n    namespace: /b\n    reason: why\n  - { id: a, identity: orcid:x, scopes: ["*:read"], namespace: /a }\n',
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
      text: 'roles:\n  a: { description: "x\\u202ey", members: ["orcid:a\u00adb", "orcid:\\U000e0041"] }\n',
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

interface Dice {
  /** Below n. */
  readonly roll: (n: number) => number;
}

function makeDice(seed: number): Dice {
  let state = seed >>> 0;
  return {
    roll: (n) => {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
      return (state >>> 7) % n;
    },
  };
}

/** YAML as many hands might write it: blocks and brackets, quotes or none, comments and blank lines anywhere. */
function untidy(value: unknown, dice: Dice): string {
  let comments = 0;
  const remark = (): string => `# comment ${String((comments += 1))}: [x] "y`;
  const scalar = (text: unknown, flow: boolean): string => {
    if (typeof text !== 'string') return String(text);
    const plain = /^[a-z/][\w/.:-]*$/.test(text) && !text.endsWith(':') && !/^(?:true|false|null)$/.test(text);
    const quoted =
      dice.roll(2) === 0 && !text.includes('\n') ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
    return plain && !(flow && /[,[\]{}]/.test(text)) && dice.roll(3) > 0 ? text : quoted;
  };
  const flow = (item: unknown): string => {
    const space = [' ', '', '  '][dice.roll(3)] ?? '';
    if (Array.isArray(item)) return `[${space}${item.map(flow).join(`,${space}`)}${space}]`;
    if (typeof item !== 'object' || item === null) return scalar(item, true);
    const pairs = shuffled(Object.entries(item), dice).map(([key, inner]) => `${scalar(key, true)}: ${flow(inner)}`);
    return `{${space}${pairs.join(`,${space || ' '}`)}${space}}`;
  };
  const between = (indent: string): string => {
    const lines = Array.from({ length: [0, 0, 0, 1, 2][dice.roll(5)] ?? 0 }, () =>
      dice.roll(2) === 0 ? '\n' : `${indent}${' '.repeat(dice.roll(3))}${remark()}\n`,
    );
    return lines.join('');
  };
  const behind = (): string => (dice.roll(5) === 0 ? `   ${remark()}` : '');
  const block = (item: unknown, indent: string): string => {
    const step = `${indent}${' '.repeat(1 + dice.roll(4))}`;
    if (typeof item !== 'object' || item === null) return ` ${scalar(item, false)}${behind()}\n`;
    const entries = Object.entries(item);
    if (entries.length === 0 || dice.roll(3) === 0) return ` ${flow(item)}${behind()}\n`;
    if (Array.isArray(item)) {
      const lines = item.map((inner) => `${between(step)}${step}-${below(inner, step)}`);
      return `${behind()}\n${lines.join('')}${between(step)}`;
    }
    const lines = shuffled(entries, dice).map(
      ([key, inner]) => `${between(step)}${step}${scalar(key, false)}:${block(inner, step)}`,
    );
    return `${behind()}\n${lines.join('')}${between(step)}`;
  };
  // The first key of a mapping stands behind the dash, the others below it.
  const below = (item: unknown, indent: string): string => {
    if (typeof item !== 'object' || item === null || Array.isArray(item) || dice.roll(3) === 0)
      return block(item, indent);
    const inner = `${indent}  `;
    const lines = shuffled(Object.entries(item), dice).map(([key, part], index) => {
      const before = index === 0 ? ' ' : `${between(inner)}${inner}`;
      return `${before}${scalar(key, false)}:${block(part, inner)}`;
    });
    return lines.length === 0 ? ' {}\n' : lines.join('');
  };
  const sections = shuffled(Object.entries(value as object), dice);
  return sections.map(([key, inner]) => `${between('')}${key}:${block(inner, '')}`).join('') + between('');
}

function shuffled<T>(items: readonly T[], dice: Dice): readonly T[] {
  const rest = [...items];
  return items.map(() => rest.splice(dice.roll(rest.length), 1)).flat();
}

const SCOPES = ['resource:read', '*:write', 'process-run:*', 'namespace:read'];
const scopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 3 });
const people = fc.constantFrom('orcid:a', "github:o'n", 'orcid:x # y', 'orcid:b: c', 'github:[x]');
const prose = fc.constantFrom(
  'why',
  'two\nlines\n',
  ' lead',
  'a #b',
  'x: y',
  'true',
  '12:30:45',
  'é – ü',
  'long words '.repeat(20).trim(),
);
const policies = fc.record(
  {
    within: fc.constant('/'),
    roles: fc.record(
      {
        staff: fc.record(
          {
            description: prose,
            members: fc.uniqueArray(people, { maxLength: 3 }),
            scopes: fc.constant(['*:read', '*:write']),
          },
          { requiredKeys: ['scopes'] },
        ),
        '1': fc.record({ members: fc.constant([{ role: 'staff' }, 'orcid:c']) }),
      },
      { requiredKeys: ['staff'] },
    ),
    grants: fc
      .array(
        fc.record(
          {
            identity: people,
            scopes,
            namespace: fc.constantFrom('/', '/labs', '/labs/optics'),
            inherit: fc.boolean(),
            notBefore: fc.constant('2026-01-01T00:00:00Z'),
            expires: fc.constant('2027-01-01T00:00:00.5+02:00'),
            reason: prose,
          },
          { requiredKeys: ['namespace'] },
        ),
        { maxLength: 4 },
      )
      .map((grants) =>
        grants.map(({ identity, scopes: few, ...grant }, index) => ({
          ...grant,
          id: `g${String(index)}`,
          ...(identity === undefined || few === undefined ? { role: 'staff' } : { identity }),
          ...(few === undefined ? {} : { scopes: few }),
        })),
      ),
    tests: fc.constant([
      {
        name: 'two words',
        actor: { identities: ['orcid:a', { provider: 'github', subject: '1' }] },
        deny: ['resource:read /x'],
        sees: { 'resource /labs': ['/labs'] },
      },
    ]),
    guardrails: fc.constant([{ id: 'g', atMost: { identities: 2, scope: '*:write', at: '/' } }]),
  },
  { requiredKeys: ['roles', 'grants'] },
);

test('any policy, however it is written, keeps its meaning and its comments, and is formatted once', () => {
  let compiled = 0;
  fc.assert(
    fc.property(policies, fc.integer(), (policy, seed) => {
      const text = untidy(policy, makeDice(seed));
      const before = read(text);
      expect({ text, found: before.diagnostics }).toEqual({ text, found: [] });
      const formatted = format(text);
      const after = read(formatted);
      expect(meaning(after.policy)).toBe(meaning(before.policy));
      expect(format(formatted)).toBe(formatted);
      expect(formatted.match(/# comment \d+:/g)?.length).toBe(text.match(/# comment \d+:/g)?.length);
      if (before.policy === null || after.policy === null || seed % 8 !== 0) return;
      const [old, now] = [compilePolicy(before.policy), compilePolicy(after.policy)];
      expect(now.ok && now.snapshot.decisions).toBe(old.ok && old.snapshot.decisions);
      compiled += 1;
    }),
    { numRuns: 100 },
  );
  expect(compiled).toBeGreaterThan(3);
});

test('a formatted file that is cut at the end of a line never grants more', () => {
  let cuts = 0;
  fc.assert(
    fc.property(policies, fc.integer(), (policy, seed) => {
      const formatted = format(untidy(policy, makeDice(seed)));
      const whole = new Map(read(formatted).policy?.grants.map((grant) => [grant.id, grant]));
      for (let at = formatted.indexOf('\n'); at >= 0; at = formatted.indexOf('\n', at + 1)) {
        for (const grant of read(formatted.slice(0, at + 1)).policy?.grants ?? []) {
          cuts += 1;
          const full = whole.get(grant.id);
          const { scopes: held, inherit, notBefore, expires, namespace, principal } = grant;
          expect(full).toMatchObject({ inherit, notBefore, expires, namespace, principal });
          expect(held & ~(full?.scopes ?? 0)).toBe(0);
        }
      }
    }),
    { numRuns: 15 },
  );
  expect(cuts).toBeGreaterThan(50);
});
