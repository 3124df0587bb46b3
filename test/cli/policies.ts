// A small policy and what can be wrong with it, for the tests of the verbs that read policies.

export const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n',
  'roles.yaml': 'roles:\n  staff:\n    members: [orcid:ana]\n',
  'grants/optics.yaml':
    'within: /labs/optics\ngrants:\n  - id: staff\n    role: staff\n    namespace: /labs/optics\n    scopes: ["resource:*"]\n',
};
export const PASSING =
  'tests:\n  - name: staff\n    actor: { identities: [orcid:ana] }\n    allow: ["resource:read /labs/optics"]\n';
export const FAILING =
  'tests:\n  - name: too much\n    actor: { identities: [orcid:ana] }\n    deny: ["resource:write /labs/optics"]\n';
export const BROKEN = 'grants:\n  - id: broken\n    role: staf\n    namespace: /labs\n    scopes: [resource:raed]\n';
