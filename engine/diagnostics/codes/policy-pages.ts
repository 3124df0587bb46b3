// Pages of the codes about what a policy declares and refers to.
import { pagesOf } from './page.js';

const HEAD = 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n';

export const POLICY_PAGES = pagesOf({
  POLICY_MISSING: {
    title: 'the folder has no `policy.yaml`',
    explanation:
      'A policy folder has a `policy.yaml` at its root, which names the policy and its providers. One without content, or with nothing but comments, is reported alike, and then no file is blamed for a name that it should declare.',
    wrong: 'a folder with `grants.yaml` alone',
    right: 'a folder with `policy.yaml` and `grants.yaml`',
    shows: 'words',
  },
  POLICY_VERSION: {
    title: 'not a version of the policy language',
    explanation: '`bailiwick` names the version of the policy language. The only version is 1.',
    wrong: 'bailiwick: 2\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n',
    right: HEAD,
    shows: 'policy.yaml',
  },
  PROVIDER_RESERVED: {
    title: 'a provider name that is reserved',
    explanation:
      'Names that end in `-group` stand for the groups that a provider claims in its tokens: `orcid-group:staff` can be a member as soon as `orcid` is declared.',
    wrong: 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {}, orcid-group: {} }\n',
    right: HEAD,
    shows: 'policy.yaml',
  },
  FAMILY_RESERVED: {
    title: 'a family that is built in',
    explanation:
      'Every policy has the five families of records, and their actions cannot be changed. Choose another name.',
    wrong: `${HEAD}families: { resource: { actions: [lend] } }\n`,
    right: `${HEAD}families: { loan: { actions: [lend] } }\n`,
    shows: 'policy.yaml',
  },
  FAMILY_ACTION: {
    title: 'an action that the family already has',
    explanation: 'Every family has `read` and `write`. List only its other actions in `actions`, each once.',
    wrong: `${HEAD}families: { loan: { actions: [read, lend] } }\n`,
    right: `${HEAD}families: { loan: { actions: [lend] } }\n`,
    shows: 'policy.yaml',
  },
  FOLDER_PATH: {
    title: 'not the path of a folder',
    explanation:
      'A folder is named by its path from the folder of `policy.yaml`, with `/` between names and no slash at either end, such as `teams/amx`.',
    wrong: `${HEAD}folders: { teams/amx/: { within: /labs } }\n`,
    right: HEAD,
    shows: 'policy.yaml',
  },
  FOLDER_UNKNOWN: {
    title: 'a delegated folder without files',
    explanation:
      'No policy file is in this folder. If its name is misspelt, the files of the intended folder are not limited.',
    wrong: `${HEAD}folders: { teams/amx: { within: /labs } }\n`,
    right: HEAD,
    shows: 'policy.yaml',
  },
  FOLDER_EXPORT: {
    title: 'an exported role that the folder does not declare',
    explanation:
      '`exports` lists roles that files of this folder declare. Correct the name, or declare the role in the folder.',
    wrong:
      'a `policy.yaml` with `folders: { teams/amx: { within: /labs, exports: [staff] } }` and `staff` in `roles.yaml`',
    right: 'the same with `staff` in `teams/amx/roles.yaml`',
    shows: 'words',
  },
  DELEGATED_OUTSIDE: {
    title: 'a file of a delegated folder that decides about a namespace outside of it',
    explanation:
      'Everything in a delegated folder is at or below the `within` of the folder: grants, accesses in tests, namespaces of guardrails, `within` of a file, and folders inside the folder. Move the entry to a file whose owners decide about that namespace.',
    wrong:
      'a grant at `/labs` in `teams/amx/grants.yaml`, and `folders: { teams/amx: { within: /labs/amx } }` in `policy.yaml`',
    right: 'a grant at `/labs/amx` in that file',
    shows: 'words',
  },
  DELEGATED_SECTION: {
    title: 'content that a delegated folder cannot have',
    explanation:
      'People, and guardrails about every namespace (`expires`, `at: every-top-level`), concern everybody, so a delegated folder cannot have them. Move them to a file that is not delegated.',
    wrong: '`people` in a file of a delegated folder',
    right: '`people` in a file that is not delegated',
    shows: 'words',
  },
  DELEGATED_ROLE: {
    title: 'a role of a delegated folder that is used outside of it',
    explanation:
      'The owners of a delegated folder decide who is in its roles. So a grant outside of `within`, or a guardrail outside of the folder, may name such a role, or a role that contains it, only if `exports` lists the role.',
    wrong:
      'a grant at `/` to a role that `teams/amx/roles.yaml` declares, where `teams/amx` is delegated within `/labs/amx`',
    right: 'the same with the role in the `exports` of `teams/amx`',
    shows: 'words',
  },
  EXCLUSIVE_SINGLE: {
    title: 'a list of `exclusive` with one identity',
    explanation:
      'No actor may have two identities of one list, so a list of one excludes nothing. Add the others, or remove the list.',
    wrong: `${HEAD}exclusive:\n  - [github:ada]\n`,
    right: `${HEAD}exclusive:\n  - [github:ada, github-group:buyers]\n`,
    shows: 'policy.yaml',
  },
  PROVIDER_UNKNOWN: {
    title: 'a provider that is not declared',
    explanation:
      'Providers are declared in `policy.yaml`, so that a misspelt one cannot name somebody else. Where none is declared at all, that is reported once, and not at each identity.',
    wrong: 'roles:\n  optics: { members: [gihub:octocat] }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  IDENTITY_JOINED: {
    title: 'several identities in one text',
    explanation:
      'A comma is missing, or two identities were pasted into one line. As written, they are one identity with a long subject, which nobody has. So a subject must not contain a space that is followed by a declared provider and a colon.',
    wrong: 'roles:\n  optics: { members: [github:octocat github:hubot] }\n',
    right: 'roles:\n  optics: { members: [github:octocat, github:hubot] }\n',
  },
  ROLE_DUPLICATE: {
    title: 'a role that is declared twice',
    explanation: 'A role is declared once, in one file, so that one place says who its members are.',
    wrong: 'roles:\n  staff: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  ROLE_UNKNOWN: {
    title: 'a role that is not declared',
    explanation: 'No file of the folder declares the role. Correct the name, or declare the role.',
    wrong: 'grants:\n  - { id: a, role: staf, namespace: /labs, scopes: [resource:read] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  ROLE_CYCLE: {
    title: 'roles that are members of each other',
    explanation: 'A member of one of them would be a member of all of them. Remove one of the memberships.',
    wrong: 'roles:\n  optics: { members: [{ role: lasers }] }\n  lasers: { members: [{ role: optics }] }\n',
    right: 'roles:\n  optics: { members: [{ role: lasers }] }\n  lasers: { members: [] }\n',
  },
  PERSON_DUPLICATE: {
    title: 'a person who is declared twice',
    explanation: 'A person is declared once, so that one place says which identities are theirs.',
    wrong: 'two files with the person `ana-ortiz`, each with other identities',
    right: 'one file with the person `ana-ortiz` and all identities of hers',
    shows: 'words',
  },
  PERSON_IDENTITY: {
    title: 'an identity of two people',
    explanation: 'An identity belongs to at most one person.',
    wrong: 'people:\n  octo: { identities: [github:octocat] }\n  josiah: { identities: [github:octocat] }\n',
    right: 'people:\n  octo: { identities: [github:octocat] }\n  josiah: { identities: [orcid:0000-0002-1825-0097] }\n',
  },
  GRANT_DUPLICATE: {
    title: 'a grant id that is used twice',
    explanation: 'Explanations cite grants by id, so each grant needs an id of its own.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs }\n  - { id: a, role: staff, namespace: /beamlines }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs }\n  - { id: b, role: staff, namespace: /beamlines }\n',
  },
  GRANT_PRINCIPAL: {
    title: 'a grant that does not name exactly one principal',
    explanation: 'A grant names either a `role` or an `identity`. No name stands for everyone.',
    wrong: 'grants:\n  - { id: a, namespace: /labs, scopes: [resource:read] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  GRANT_SCOPES_MISSING: {
    title: 'a grant without scopes',
    explanation:
      'A grant may omit `scopes` only if it names a role that declares some. Add `scopes` to the grant or to the role.',
    wrong: 'grants:\n  - { id: a, role: leads, namespace: /labs }\n',
    right: 'grants:\n  - { id: a, role: leads, namespace: /labs, scopes: [resource:read] }\n',
  },
  GRANT_OUTSIDE_WITHIN: {
    title: 'a grant outside of the `within` of its file',
    explanation:
      'Every grant of a file is at or below the `within` of the file. Correct the namespace, or move the grant to another file.',
    wrong: 'within: /labs\ngrants:\n  - { id: a, role: staff, namespace: /labs2 }\n',
    right: 'within: /labs\ngrants:\n  - { id: a, role: staff, namespace: /labs/optics }\n',
  },
  GRANT_WINDOW: {
    title: 'a grant that is never in force',
    explanation: 'A grant is in force from `notBefore` until just before `expires`, so `expires` must be later.',
    wrong:
      'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n    notBefore: 2027-01-01T00:00:00Z\n    expires: 2026-01-01T00:00:00Z\n',
    right:
      'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n    notBefore: 2026-01-01T00:00:00Z\n    expires: 2027-01-01T00:00:00Z\n',
  },
  WITHIN_UNUSED: {
    severity: 'warning',
    title: '`within` in a file without grants',
    explanation:
      '`within` limits the grants of its own file, not those of other files in the folder. Remove it, or move it to the file of the grants.',
    wrong: 'within: /labs\nroles:\n  optics: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  TEST_DUPLICATE: {
    title: 'a test name that is used twice',
    explanation:
      'Reports name the test that failed, and `diff` lists tests by name, so each test needs a name of its own.',
    wrong:
      'tests:\n  - { name: a, actor: { identities: [github:octocat] }, deny: ["resource:read /labs"] }\n  - { name: a, actor: { identities: [github:octocat] }, deny: ["resource:read /vault"] }\n',
    right:
      'tests:\n  - { name: a, actor: { identities: [github:octocat] }, deny: ["resource:read /labs"] }\n  - { name: b, actor: { identities: [github:octocat] }, deny: ["resource:read /vault"] }\n',
  },
  TEST_EXPECTATION: {
    title: 'not an expectation',
    explanation: 'An expectation is a scope (in `sees`, a family), one space, and a namespace.',
    wrong: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: [resource:read]\n',
    right: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:read /labs"]\n',
  },
  TEST_EXPECTS_NOTHING: {
    title: 'a test that expects nothing',
    explanation: 'A test without `allow`, `deny` or `sees` would always pass.',
    wrong: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    allow: []\n',
    right: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:read /labs"]\n',
  },
  GUARDRAIL_DUPLICATE: {
    title: 'a guardrail id that is used twice',
    explanation: 'Reports cite guardrails by id, so each guardrail needs an id of its own.',
    wrong:
      'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n  - { id: a, separate: [resource:read, process-run:write] }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
  GUARDRAIL_KIND: {
    title: 'a guardrail that does not have exactly one rule',
    explanation: 'A guardrail has one of `never`, `separate`, `atLeast`, `atMost` and `expires`.',
    wrong: 'guardrails:\n  - { id: a, description: nobody does harm }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
  GUARDRAIL_PLACE: {
    title: 'a rule with both `at` and `under`, or with neither',
    explanation:
      'A rule that counts people has either `at`, for one namespace alone, or `under`, for a namespace and everything below it.',
    wrong: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, scope: namespace:write }\n',
    right: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, scope: namespace:write, under: / }\n',
  },
  GUARDRAIL_SCOPES: {
    title: 'a rule with both `scope` and `scopes`, or with neither',
    explanation: 'A rule has either `scope`, for one scope, or `scopes`, for a list.',
    wrong: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, at: / }\n',
    right: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, scope: namespace:write, at: / }\n',
  },
  GUARDRAIL_SIDES: {
    title: 'a separation of fewer than two scopes or patterns',
    explanation: '`separate` lists at least two scopes or patterns that no person may hold together in one namespace.',
    wrong: 'guardrails:\n  - { id: a, separate: [resource:write] }\n',
    right: 'guardrails:\n  - { id: a, separate: [resource:write, process-run:write] }\n',
  },
});
