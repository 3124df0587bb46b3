// Pages of the lint rules: what is legal but probably not intended. A rule reports a warning at most, unless its level is raised.
// `# bailiwick-ignore LINT_…: reason` silences it above an entry, behind it, or for the whole file at the file's head.
import { pagesOf } from './page.js';

const grant = (rest: string): string => `  - { ${rest} }\n`;

/** A read grant, so that an example with a write grant does not also break LINT_WRITE_UNREAD. */
const READER = grant('id: r, identity: github:hubot, scopes: ["*:read"], namespace: /');

export const LINT_PAGES = pagesOf({
  LINT_GRANT_UNREACHABLE: {
    title: 'a grant that gives nobody anything',
    explanation:
      'The role has no members, not even through other roles, or the grant ends before the first instant that anybody can ask about.',
    wrong: `roles:\n  optics: {}\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:octocat] }\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_REDUNDANT: {
    title: 'a grant that other grants cover',
    explanation:
      'Without this grant, everybody could still do exactly the same at all times, because of the grants that the message names. Different grants may cover different people. Remove this grant, or the others. All grants with this code can be removed at once; after that, no grant is redundant.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs')}${grant('id: b, identity: github:octocat, scopes: [resource:read], namespace: /labs/optics')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_EXPIRED: {
    title: 'a grant or a membership that has expired',
    explanation:
      'The grant, or the membership of a role, has expired by now (or by `--at`), so it no longer gives anybody anything. This is never an error, because a policy must not become invalid by itself. `compile` reports it only with `--at`.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2026-01-01T00:00:00Z, namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2028-01-01T00:00:00Z, namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_EXPIRES_SOON: {
    title: 'a grant or a membership that expires soon',
    explanation:
      'The grant, or the membership of a role, expires within `--soon` (30 days by default) from now, or from `--at`. Extend it, or let it end on purpose.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2027-01-15T00:00:00Z, namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2028-01-01T00:00:00Z, namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_ROLE_EMPTY: {
    title: 'a role that nobody is in',
    explanation: 'The role has no members, not even through other roles. Add some, or remove the role.',
    wrong: `roles:\n  optics: {}\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:hubot] }\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_ROLE_UNUSED: {
    title: 'a role that nothing refers to',
    explanation: 'No grant names the role, no role has it as a member, and no guardrail names it.',
    wrong: 'roles:\n  optics: { members: [github:octocat] }\n',
    right: `roles:\n  optics: { members: [github:octocat] }\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_MEMBER_REPEATED: {
    title: 'a member that is reached twice',
    explanation:
      'The member is in the role anyway, through another member. Someone who removes one of the two entries would believe that the membership has ended.',
    wrong: `roles:\n  optics: { members: [github:octocat] }\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:octocat] }\n  labs: { members: [{ role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_WRITE_AT_ROOT: {
    title: 'a grant to write at the root',
    explanation:
      'What is granted at `/` reaches every namespace that will ever exist, and the root is in the lineage of every namespace. Grant it where it is needed, or say in an ignore comment why it is needed everywhere.',
    wrong: `grants:\n${READER}${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /')}`,
    right: `grants:\n${READER}${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_WRITE_UNREAD: {
    title: 'a grant to write records that nobody may read',
    explanation:
      'Write never implies read. At the place and time that the message names, the grant allows writing records that nobody may read then, not even the person who wrote them.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["resource:*"], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_IDENTITY_LOOKALIKE: {
    title: 'two identities that look alike',
    explanation:
      'Two identities of one provider differ only in case, or in characters that look alike. Identities are compared exactly, so they are two people, or one of them is a typing mistake or a trap.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}${grant('id: b, identity: github:0ctocat, scopes: [resource:read], namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_NAMESPACE_LOOKALIKE: {
    title: 'a namespace that looks like a typing mistake for its neighbour',
    explanation:
      'Namespaces are declared nowhere, so a typing mistake in one silently removes access, or the protection of a guardrail. The rule compares namespaces with the same parent. It reports one that at most two grants name (at it or below it), if changing, adding, removing or swapping one letter turns it into another that at least twice as many grants name, and if no test and no guardrail names it. It also reports a guardrail at a namespace that no grant and no test names, if one letter turns that into a namespace of at least two grants: such a guardrail holds and guards nothing. It skips names that differ in digits (`run-1` and `run-2`) or in a word of one letter (`lab-a` and `lab-b`), names of less than five characters, and namespaces with more than 10,000 children.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /archive')}${grant('id: b, identity: github:hubot, scopes: ["*:read"], namespace: /archive')}${grant('id: c, identity: github:mona, scopes: ["*:read"], namespace: /archve')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /archive')}${grant('id: b, identity: github:hubot, scopes: ["*:read"], namespace: /archive')}${grant('id: c, identity: github:mona, scopes: ["*:read"], namespace: /archive')}`,
    shows: 'alone',
  },
  LINT_NAMESPACE_UNSTORED: {
    title: 'a grant at a namespace that the store does not have',
    explanation:
      'Only `check --store` reports this. It asks the store that `--data-dir` or `--database-url` names (here the store has `/labs/optics`). Until the namespace exists, the grant opens nothing. It may be a typing mistake. If the namespace is still to be created, say so in an ignore comment.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs/optcis')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs/optics')}`,
    shows: 'alone',
  },
  LINT_WITHIN_MISSING: {
    title: 'a file of grants without `within` beside files that have it',
    explanation:
      'Some files of this folder limit how far their grants may reach. A file without `within` may grant anything anywhere, although its neighbours make it look limited. Add `within`, or an ignore comment with the reason at the head of the file.',
    wrong: 'grants/optics.yaml with `within: /labs/optics`, and grants/lasers.yaml without `within`',
    right: 'both with `within`',
    shows: 'words',
  },
  LINT_TEST_IDENTITY: {
    title: 'a `deny` test for somebody whom the policy does not name',
    explanation:
      'No role, grant, person, guardrail or list of `exclusive` names the identity. So it is denied everything, and the test passes whatever the policy says. Usually the identity is misspelt. If the test is about strangers, say so in an ignore comment. An identity beside a group of its provider is not reported, if the policy names the group.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}tests:\n  - { name: a, actor: { identities: [github:octokat] }, deny: ["resource:read /vault"] }\n`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}tests:\n  - { name: a, actor: { identities: [github:octocat] }, deny: ["resource:read /vault"] }\n`,
    shows: 'alone',
  },
  LINT_IGNORE_REASON: {
    title: 'an ignore comment without a valid rule or a reason',
    explanation:
      'An ignore comment names rules and gives a reason: `# bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree`. Without a reason it ignores nothing.',
    wrong: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    right: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: / }\n`,
    shows: 'alone',
  },
  LINT_IGNORE_UNUSED: {
    title: 'an ignore comment that ignores nothing',
    explanation:
      'The rule finds nothing on the line below the comment, nor on its own line, nor (for a comment at the head of a file) in the file. Remove it before it hides something else.',
    wrong: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    right: `grants:\n${READER}  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    shows: 'alone',
  },
  LIMIT_LINT: {
    severity: 'info',
    title: 'not all grants or members could be compared with each other',
    explanation:
      'There are too many overlapping grants to find all redundant ones, or all writes that nobody may read, or too many roles inside others to find all members that are in a role anyway. What is reported is true, but there may be more.',
    wrong: 'a hundred thousand grants with different windows for one role at one namespace',
    right: 'the same role with one grant for each season',
    shows: 'words',
  },
});
