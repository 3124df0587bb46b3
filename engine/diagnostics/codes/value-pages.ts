// Pages of the codes about the keys and values of policy files.
import { pagesOf } from './page.js';

export const VALUE_PAGES = pagesOf({
  KEY_UNKNOWN: {
    title: 'a key that does not exist',
    explanation: 'A misspelt key would silently have no effect, so unknown keys are refused.',
    wrong: 'roles:\n  optics: { member: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  KEY_MISSING: {
    title: 'a key is missing',
    explanation: 'The mapping needs this key. A missing key never means "all".',
    wrong: 'grants:\n  - { id: a, role: staff }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs }\n',
  },
  KEY_MISPLACED: {
    title: 'a key in the wrong file',
    explanation:
      '`policy.yaml` has `bailiwick`, `name`, `providers`, `families`, `folders` and `exclusive`. Every other file has `within`, `roles`, `people`, `grants`, `guardrails` and `tests`.',
    wrong: 'name: photon-facility\ngrants: []\n',
    right: 'grants: []\n',
  },
  KEY_FORBIDDEN: {
    title: 'a key that is never accepted',
    explanation:
      '`__proto__`, `constructor` and `prototype` have a meaning of their own in JavaScript, so programs could misread such a file. Choose another name.',
    wrong: 'roles:\n  constructor: { members: [] }\n',
    right: 'roles:\n  builders: { members: [] }\n',
  },
  VALUE_NULL: {
    title: 'a key without a value',
    explanation:
      'A key without a value could mean "none", or that the value was forgotten. Write `[]` or `{}` where there may be none, or remove the key.',
    wrong: 'grants:\n',
    right: 'grants: []\n',
  },
  VALUE_NOT_TEXT: {
    title: 'a value that is not text',
    explanation:
      'YAML reads the value as a number, a boolean, a list or a mapping. Text that looks like one of these needs quotes.',
    wrong: 'roles:\n  optics: { description: 0123 }\n',
    right: 'roles:\n  optics: { description: "0123" }\n',
  },
  VALUE_NOT_LIST: {
    title: 'a value that is not a list',
    explanation: 'Write a list, even for a single entry.',
    wrong: 'roles:\n  optics: { members: github:octocat }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  VALUE_NOT_MAPPING: {
    title: 'a value that is not a mapping',
    explanation: 'Write a mapping of keys to values.',
    wrong: 'roles:\n  optics: [github:octocat]\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  VALUE_NOT_BOOLEAN: {
    title: 'a value that is neither `true` nor `false`',
    explanation: 'Exactly the words `true` and `false`, in lower case and without quotes, are accepted.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs, inherit: no }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, inherit: false }\n',
  },
  VALUE_NOT_COUNT: {
    title: 'a value that is not a number of identities',
    explanation: 'Write a whole number in plain digits: at least 1 for `atLeast`, at least 0 for `atMost`.',
    wrong: 'guardrails:\n  - id: a\n    atLeast: { identities: two, scope: namespace:write, at: / }\n',
    right: 'guardrails:\n  - id: a\n    atLeast: { identities: 2, scope: namespace:write, at: / }\n',
  },
  VALUE_TOO_LONG: {
    title: 'a text that is too long',
    explanation: 'Descriptions, reasons and names of tests have at most 1,000 bytes.',
    wrong: 'a reason of 1,001 bytes',
    right: 'a reason of one line',
    shows: 'words',
  },
  VALUE_EMPTY: {
    title: 'an empty value',
    explanation:
      'An empty list or string has no meaning here. It does not mean "all". Give it content, or remove the key.',
    wrong: 'guardrails:\n  - id: a\n    expires: { providers: [], within: 90d }\n',
    right: 'guardrails:\n  - id: a\n    expires: { providers: [orcid], within: 90d }\n',
  },
  VALUE_REPEATED: {
    title: 'the same entry twice in one list',
    explanation: 'The second one has no effect, so perhaps something else was meant. Correct it, or remove it.',
    wrong: 'roles:\n  optics: { members: [github:octocat, github:octocat] }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  NAME_INVALID: {
    title: 'not a name',
    explanation:
      'Names of policies, providers, roles, grants and guardrails have 1 to 128 of the characters `a-z`, `0-9`, `.`, `_` and `-`, and begin with a letter or a digit.',
    wrong: 'roles:\n  Optics Group: { members: [] }\n',
    right: 'roles:\n  optics-group: { members: [] }\n',
  },
  IDENTITY_INVALID: {
    title: 'not an identity',
    explanation: 'An identity is `provider:subject`. The subject has 1 to 255 bytes and no space at its ends.',
    wrong: 'roles:\n  optics: { members: [octocat] }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  INSTANT_INVALID: {
    title: 'not an instant',
    explanation:
      'Instants are RFC 3339 with an offset, such as `2026-12-01T00:00:00Z`: upper-case `T` and `Z`, at most milliseconds, no leap second.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs, expires: 2027-06-30 }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, expires: 2027-06-30T00:00:00Z }\n',
  },
  DURATION_INVALID: {
    title: 'not a duration',
    explanation:
      'A duration is a whole number above 0, followed by `s`, `m`, `h` or `d` for seconds, minutes, hours or days.',
    wrong: 'guardrails:\n  - id: a\n    expires: { providers: [orcid], within: 3 months }\n',
    right: 'guardrails:\n  - id: a\n    expires: { providers: [orcid], within: 90d }\n',
  },
  NAMESPACE_INVALID: {
    title: 'not a namespace',
    explanation:
      'A namespace is `/`, or up to 32 segments with a slash before each, at most 1,024 bytes in all. A segment has 1 to 63 of the characters `a-z`, `0-9`, `.`, `_`, `~` and `-`. `.` and `..` are not segments.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs/Optics }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs/optics }\n',
  },
  NAMESPACE_NOT_CANONICAL: {
    title: 'a namespace that is not in its canonical form',
    explanation: 'In policy files a namespace begins with a slash and does not end with one.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: labs/optics/ }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs/optics }\n',
  },
  SCOPE_UNKNOWN: {
    title: 'not a scope',
    explanation:
      'A scope is a family, a colon and an action, such as `resource:read`. The families are `namespace`, `resource-template`, `resource`, `process-template` and `process-run`, with the actions `read` and `write`, and those that `policy.yaml` declares. Patterns are `<family>:*`, `*:read` and `*:write`.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resources:read] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  SCOPE_LIST_EMPTY: {
    title: 'an empty list of scopes',
    explanation: 'An empty list would grant, forbid or count nothing. Name a scope, or remove the declaration.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [] }\n',
    right: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n',
  },
  SCOPE_NOT_SINGLE: {
    title: 'a pattern in place of a single scope',
    explanation: 'An expectation is about one scope. Write one line per scope.',
    wrong: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:* /labs"]\n',
    right: 'tests:\n  - name: a\n    actor: { identities: [github:octocat] }\n    deny: ["resource:read /labs"]\n',
  },
  SCOPE_TEMPLATE_PATTERN: {
    title: 'a pattern that is allowed only in guardrails',
    explanation:
      '`*-template` means both template families, but only in guardrails. Grants and roles name each family.',
    wrong: 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: ["*-template:read"] }\n',
    right:
      'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource-template:read, process-template:read] }\n',
  },
});
