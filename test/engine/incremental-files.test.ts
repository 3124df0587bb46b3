// The files of a policy are edited at random. After each edit, what is read, linked, compiled and reported with everything that is
// remembered is what a program says that has read nothing before.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkedDraft,
  checkGuardrails,
  compilePolicy,
  draftPolicy,
  ENGINE_LIMITS,
  type RememberedPolicy,
  type KnownSizes,
  lintPolicy,
  readPolicy,
  rememberingReader,
} from '../../engine/compiler.js';
import { formatInstant, instantOf, scopeNames } from '../../engine/index.js';
import { formatIdentity } from '../../engine/model/identity.js';
import type { PolicyMember, PolicySet } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { windowedWorld } from './oracle/worlds.js';

type Files = ReadonlyMap<string, string>;

const GUARDRAILS = `guardrails:
  - { id: apart, separate: ["resource:write", "namespace:*"] }
  - { id: few, atMost: { identities: 1, scopes: ["resource:*"], at: every-top-level }, description: few }
  - { id: crew, never: { scopes: ["resource:write"], under: /a, except: { roles: [crew] } } }
  - { id: two, atLeast: { identities: 2, scope: resource:read, at: /a } }
  - { id: leave, expires: { providers: [orcid], within: 1d } }
`;
const ALIKE = 'roles:\n  alike: { members: ["orcid:bob", "orcid:Bob"] }\n';
const PEOPLE = 'people:\n  ada: { identities: ["orcid:ada", "orcid:bob"] }\n';

function named(one: PolicyMember | PolicySet['grants'][number]['principal']): object {
  return one.kind === 'role' ? { role: one.role } : { identity: formatIdentity(one.identity) };
}

function windowText({ notBefore = null, expires = null }: Pick<PolicyMember, 'notBefore' | 'expires'>): object {
  return {
    ...(notBefore === null ? {} : { notBefore: formatInstant(notBefore) }),
    ...(expires === null ? {} : { expires: formatInstant(expires) }),
  };
}

/** A file for each role, and the grants in three. */
function print({ families = [], roles, grants }: PolicySet): Files {
  const words = Object.fromEntries(families.map(({ name, actions }) => [name, { actions }]));
  const header = { bailiwick: 1, name: 'world', providers: { github: {}, orcid: {} } };
  const files = new Map([
    ['policy.yaml', JSON.stringify(families.length === 0 ? header : { ...header, families: words })],
    ['guardrails.yaml', GUARDRAILS],
    ['people.yaml', PEOPLE],
    ['roles/alike.yaml', ALIKE],
  ]);
  for (const { name, members } of roles) {
    const listed = members.map((member) => ({ ...named(member), ...windowText(member) }));
    files.set(
      `roles/${name}.yaml`,
      `roles:\n  ${name}: ${JSON.stringify({ scopes: ['resource:read'], members: listed })}\n`,
    );
  }
  grants.forEach(({ id, principal, namespace, scopes, inherit, ...window }, i) => {
    const path = `grants-${String(i % 3)}.yaml`;
    // Some grants to a role take its scopes.
    const own = i % 2 === 0 && principal.kind === 'role' ? {} : { scopes: scopeNames(scopes) };
    const grant = { id, ...named(principal), namespace, ...own, inherit, ...windowText(window) };
    files.set(path, `${files.get(path) ?? 'grants:\n'}  - ${JSON.stringify(grant)}\n`);
  });
  return files;
}

type Edit = (files: Files) => Files;

const inOneFile = (at: number, edit: (text: string) => string): Edit => {
  return (files) => new Map([...files].map(([path, text], i) => [path, i === at % files.size ? edit(text) : text]));
};

/** Also what makes a file wrong, or right again. */
const REPLACED: readonly (readonly [string, string])[] = [
  ['crew', 'crwe'],
  ['crwe', 'crew'],
  ['leads', 'staff'],
  ['resource:read', 'resource:write'],
  ['resource:write', 'namespace:write'],
  ['"/a', '"/b'],
  ['github:', 'gitlab:'],
  ['gitlab:', 'github:'],
  ['"g1"', '"g2"'],
  [']', ''],
];

const anyEdit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(), fc.constantFrom(...REPLACED))
      .map(([at, [from, to]]) => inOneFile(at, (text) => text.replace(from, to))),
  },
  fc.constant<Edit>((files) => {
    const header = files.get('policy.yaml') ?? '';
    const [from, to] = header.includes('github') ? ['github', 'gitlab'] : ['gitlab', 'github'];
    return new Map([...files, ['policy.yaml', header.replace(from, to)]]);
  }),
  // The grants stay in their order, in fewer files.
  fc.constant<Edit>((files) => {
    const more = files.get('grants-1.yaml')?.replace('grants:\n', '') ?? '';
    const joined = [...files].map(([path, text]) => [path, path === 'grants-0.yaml' ? text + more : text] as const);
    return new Map(joined.filter(([path]) => path !== 'grants-1.yaml' || !files.has('grants-0.yaml')));
  }),
  // All that a file declares is declared twice.
  fc.nat().map(
    (at): Edit =>
      (files) =>
        new Map([...files, ['copy.yaml', [...files.values()][at % files.size] ?? '']]),
  ),
  fc.nat().map((at) => inOneFile(at, (text) => `# a comment\n${text}`)),
  fc.nat().map((at) => inOneFile(at, (text) => text.replace(/\n {2}- .*/, ''))),
  fc.nat().map(
    (at): Edit =>
      (files) =>
        new Map([...files].filter((_, i) => i !== at % files.size)),
  ),
  // Some files as they are in another policy: mended, new, or about something else.
  {
    weight: 3,
    arbitrary: fc
      .tuple(windowedWorld, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }))
      .map(([world, taken]): Edit => {
        const others = [...print(world)].filter((_, i) => taken[i] === true);
        return (files) => new Map([...files, ...others]);
      }),
  },
);

/** Says everything about one version after the other. */
function makeTeller(): (files: Files) => { readonly said: unknown; readonly isValid: boolean } {
  const reader = rememberingReader();
  let known: RememberedPolicy | null = null;
  let sizes: KnownSizes | null = null;
  return (files) => {
    const sources = [...files].map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
    const { names, ...read } = readPolicy(sources, ENGINE_LIMITS, reader);
    const { policy: set } = read;
    if (set === null) return { said: { ...read, names: names() }, isValid: false };
    const draft = draftPolicy(set, ENGINE_LIMITS, known?.set ?? null);
    if (draft === null) throw new Error('a small policy is within the limits');
    const at = instantOf(5);
    const linted = lintPolicy({ ...read, policy: set }, { at, soonMilliseconds: 10, levels: new Map() });
    const checked = checkedDraft(set, ENGINE_LIMITS, { before: sizes, policy: draft });
    const compiled = compilePolicy(set, ENGINE_LIMITS, known);
    if (!checked.ok || !compiled.ok) throw new Error('a small policy is within the limits');
    ({ sizes } = checked);
    ({ known } = compiled);
    const said = {
      ...read,
      names: names(),
      linted,
      guardrails: checkGuardrails(set, draft),
      snapshot: compiled.snapshot,
    };
    return { said, isValid: true };
  };
}

it('says of each version of a folder what is said of it alone', () => {
  const seen = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(windowedWorld, fc.array(anyEdit, { minLength: 3, maxLength: 8 }), (world, edits) => {
      const tell = makeTeller();
      let files = print(world);
      tell(files);
      for (const edit of edits) {
        files = edit(files);
        const { said, isValid } = tell(files);
        expect(said).toEqual(makeTeller()(files).said);
        seen[isValid ? 'valid' : 'invalid'] += 1;
      }
    }),
    testRuns({ usual: 150, deep: 3000 }),
  );
  expect(seen.valid).toBeGreaterThan(100);
  expect(seen.invalid).toBeGreaterThan(100);
});

const TIGHT = { ...ENGINE_LIMITS, roles: 5, members: 9, grants: 7, namespaces: 9, roleDepth: 2 };

it('reports what is too much, or declared twice, of each version as of it alone', () => {
  const codes = new Map<string, number>();
  let valid = 0;
  fc.assert(
    fc.property(windowedWorld, fc.array(anyEdit, { minLength: 3, maxLength: 8 }), (world, edits) => {
      const reader = rememberingReader();
      let files = print(world);
      for (const edit of [(same: Files) => same, ...edits]) {
        files = edit(files);
        const sources = [...files].map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
        const { diagnostics, policy } = readPolicy(sources, TIGHT, reader);
        const alone = readPolicy(sources, TIGHT);
        expect([diagnostics, policy]).toEqual([alone.diagnostics, alone.policy]);
        if (policy !== null) valid += 1;
        for (const { code } of diagnostics) codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }),
    testRuns({ usual: 150, deep: 3000 }),
  );
  expect(valid).toBeGreaterThan(20);
  for (const code of ['LIMIT_COUNT', 'LIMIT_ROLE_DEPTH', 'GRANT_DUPLICATE', 'ROLE_DUPLICATE'])
    expect({ code, often: (codes.get(code) ?? 0) > 20 }).toEqual({ code, often: true });
});
