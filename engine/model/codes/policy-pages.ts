// Pages of the codes about what a policy declares and refers to.
import type { CodePage } from './page.js';

export const POLICY_PAGES = {
  POLICY_MISSING: {
    severity: 'error',
    title: 'the folder has no `policy.yaml`',
    explanation: 'A policy folder has a `policy.yaml` at its root, which names the policy and its providers.',
    wrong: 'a folder with `grants.yaml` alone',
    right: 'a folder with `policy.yaml` and `grants.yaml`',
    shows: 'words',
  },
  POLICY_VERSION: {
    severity: 'error',
    title: 'not a version of the policy language',
    explanation: '`bailiwick` says which version of the policy language the folder is written in. There is only 1.',
    wrong: 'bailiwick: 2\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n',
    right: 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n',
    shows: 'policy.yaml',
  },
  PROVIDER_RESERVED: {
    severity: 'error',
    title: 'a provider name that is reserved',
    explanation:
      'Names that end in `-group` stand for the groups which a provider claims in its tokens: `orcid-group:staff` can be a member as soon as `orcid` is declared.',
    wrong: 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {}, orcid-group: {} }\n',
    right: 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n',
    shows: 'policy.yaml',
  },
  PROVIDER_UNKNOWN: {
    severity: 'error',
    title: 'a provider that is not declared',
    explanation: 'Providers are declared in `policy.yaml`, so that a misspelt one cannot name somebody else.',
    wrong: 'roles:\n  optics: { members: [gihub:octocat] }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  ROLE_DUPLICATE: {
    severity: 'error',
    title: 'a role that is declared twice',
    explanation: 'A role is declared once, in one file, so that one place says who its members are.',
    wrong: 'roles:\n  staff: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  ROLE_UNKNOWN: {
    severity: 'error',
    title: 'a role that is not declared',
    explanation: 'The role is in no file of the folder.',
    wrong: 'grants:\n  - { id: a, role: staf, namespace: /labs, scopes: [resource:read] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  ROLE_CYCLE: {
    severity: 'error',
    title: 'roles that are members of each other',
    explanation: 'Whoever is in one of them would be in all of them. Remove one of the memberships.',
    wrong: 'roles:\n  optics: { members: [{ role: lasers }] }\n  lasers: { members: [{ role: optics }] }\n',
    right: 'roles:\n  optics: { members: [{ role: lasers }] }\n  lasers: { members: [] }\n',
  },
  GRANT_DUPLICATE: {
    severity: 'error',
    title: 'a grant id that is used twice',
    explanation: 'Explanations and the log cite grants by id, so an id names one grant.',
    wrong:
      'grants:\n  - { id: a, role: staff, namespace: /labs }\n  - { id: a, role: staff, namespace: /beamlines }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs }\n  - { id: b, role: staff, namespace: /beamlines }\n',
  },
  GRANT_PRINCIPAL: {
    severity: 'error',
    title: 'a grant that does not name exactly one principal',
    explanation: 'A grant names either a `role` or an `identity`. Nothing stands for everyone.',
    wrong: 'grants:\n  - { id: a, namespace: /labs, scopes: [resource:read] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  GRANT_SCOPES_MISSING: {
    severity: 'error',
    title: 'a grant without scopes',
    explanation: 'A grant may leave out its scopes only if it is to a role that has some.',
    wrong: 'grants:\n  - { id: a, role: leads, namespace: /labs }\n',
    right: 'grants:\n  - { id: a, role: leads, namespace: /labs, scopes: [resource:read] }\n',
  },
  GRANT_OUTSIDE_WITHIN: {
    severity: 'error',
    title: 'a grant outside of what its file may grant',
    explanation: '`within` says that every grant of the file is at a namespace or below it.',
    wrong: 'within: /labs\ngrants:\n  - { id: a, role: staff, namespace: /labs2 }\n',
    right: 'within: /labs\ngrants:\n  - { id: a, role: staff, namespace: /labs/optics }\n',
  },
  GRANT_WINDOW: {
    severity: 'error',
    title: 'a grant that is never in force',
    explanation: 'A grant is in force from `notBefore` until just before `expires`, so `expires` must be the later.',
    wrong:
      'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n    notBefore: 2027-01-01T00:00:00Z\n    expires: 2026-01-01T00:00:00Z\n',
    right:
      'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n    notBefore: 2026-01-01T00:00:00Z\n    expires: 2027-01-01T00:00:00Z\n',
  },
  WITHIN_UNUSED: {
    severity: 'warning',
    title: '`within` in a file without grants',
    explanation: '`within` bounds the grants of its own file, not those of other files in the folder.',
    wrong: 'within: /labs\nroles:\n  optics: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  TEST_EXPECTATION: {
    severity: 'error',
    title: 'not an expectation',
    explanation: 'An expectation is a scope (in `sees`, a family), one space, and a namespace.',
    wrong: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: [resource:read]\n',
    right: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:read /labs"]\n',
  },
  TEST_EXPECTS_NOTHING: {
    severity: 'error',
    title: 'a test that expects nothing',
    explanation: 'A test without `allow`, `deny` or `sees` would always pass.',
    wrong: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    allow: []\n',
    right: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:read /labs"]\n',
  },
  GUARDRAIL_DUPLICATE: {
    severity: 'error',
    title: 'a guardrail id that is used twice',
    explanation: 'Reports cite guardrails by id, so an id names one guardrail.',
    wrong:
      'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n  - { id: a, separate: [resource:read, process-run:write] }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
  GUARDRAIL_KIND: {
    severity: 'error',
    title: 'a guardrail that does not have exactly one rule',
    explanation: 'A guardrail has one of `never`, `separate`, `atLeast`, `atMost` and `expires`.',
    wrong: 'guardrails:\n  - { id: a, description: nobody does harm }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
  GUARDRAIL_SCOPES: {
    severity: 'error',
    title: 'both `scope` and `scopes`, or neither',
    explanation: 'A rule names one scope with `scope` or a list of them with `scopes`.',
    wrong: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, at: / }\n',
    right: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, scope: namespace:write, at: / }\n',
  },
  GUARDRAIL_SIDES: {
    severity: 'error',
    title: 'a separation of fewer than two',
    explanation: '`separate` lists at least two scopes or patterns which no identity may hold in one namespace.',
    wrong: 'guardrails:\n  - { id: a, separate: [resource:write] }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
} as const satisfies Readonly<Record<string, CodePage>>;
