// What `explain` proposes must be policy that can be read: each identity is written where an edit says, with the provider that it asks for.
import { expect, test } from '@jest/globals';
import { compilePolicy, explain, openCompiled, readPolicy } from '../../../engine/compiler.js';
import { instantOf, parseIdentity, SCOPES } from '../../../engine/index.js';

const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: p\nproviders: { okta: {}, ad: {} }\n',
  'a.yaml':
    'roles:\n  staff: { members: [okta:ana, okta-group:crew] }\ngrants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
};

function read(files: Readonly<Record<string, string>>): ReturnType<typeof readPolicy> {
  return readPolicy(Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })));
}

function changesFor(identity: string): readonly { readonly provider?: string; readonly kind: string }[] {
  const { policy: set } = read(FILES);
  const compiled = set === null ? null : compilePolicy(set);
  const opened = compiled?.ok === true ? openCompiled(compiled.snapshot) : null;
  const parsed = parseIdentity(identity);
  if (opened?.ok !== true || !parsed.ok) throw new Error(`not asked: ${identity}`);
  const asked = { credentialScopes: null, namespaceRestrictions: null, scope: SCOPES[4] ?? '', at: instantOf(0) };
  const place = { context: '/labs', target: '/labs' };
  return explain(opened.policy, { identities: [parsed.identity], ...asked, ...place }).edits.map(
    ({ change }) => change,
  );
}

test.each([
  ['okta:bob', true],
  ['okta-group:night', true],
  ['gitlab:bo', true],
  ['gitlab-group:night', true],
  ['role:staff', true],
  ['roles:staff', true],
  ['okta:- x', true],
  ['okta:# "x", \'y\' {z}', true],
  ['okta:\u202ebob', true],
  ['okta:null', true],
  ['okta:bob gitlab:bo', true],
  ['constructor:bo', false],
  ['prototype:bo', false],
  ['constructor-group:bo', false],
  ['a-group-group:bo', false],
  ['okta:bob okta:bo', false],
  ['okta:bob ad-group:night', false],
  ['gitlab:bob gitlab:bo', false],
  ['gitlab:bob gitlab-group:bo', false],
  ['gitlab-group:bob gitlab:bo', false],
])('for %s, that is proposed: %s', (identity, isProposed) => {
  const changes = changesFor(identity);
  expect(changes.map(({ kind }) => kind).sort()).toEqual(isProposed ? ['grant', 'member'] : []);
  const [provider] = changes.flatMap(({ provider: missing = 'ad' }) => [missing]);
  const written = JSON.stringify(identity).replaceAll('\u202e', '\\u202e');
  const { diagnostics } = read({
    'policy.yaml': `bailiwick: 1\nname: p\nproviders: { okta: {}, ad: {}, ${provider === 'ad' ? '' : `${provider ?? 'gitlab'}: {}`} }\n`,
    'a.yaml': FILES['a.yaml'],
    'b.yaml': `grants:\n  - { id: b, identity: ${written}, namespace: /labs, scopes: [resource:read] }\n`,
  });
  expect(diagnostics.length === 0).toBe(isProposed);
});
