// Pages of the lint rules: what is legal, and hardly meant. A rule never says more than a warning unless it is raised, and
// `# bailiwick-ignore LINT_…: reason` above an entry, behind it, or at the head of a file for all of it, silences it.
import type { CodePage } from './page.js';

const grant = (rest: string): string => `  - { ${rest} }\n`;

/** Somebody who may read, so that what is written has a reader. */
const READER = grant('id: r, identity: github:hubot, scopes: ["*:read"], namespace: /');

export const LINT_PAGES = {
  LINT_GRANT_UNREACHABLE: {
    severity: 'warning',
    title: 'a grant that gives nobody anything',
    explanation:
      'The role has no members, also not through other roles; or the grant has ended before the first instant that anybody can ask about.',
    wrong: `roles:\n  optics: {}\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:octocat] }\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_REDUNDANT: {
    severity: 'warning',
    title: 'a grant that other grants cover',
    explanation:
      'Without the grant everybody could do exactly the same, at all times: the grants that are named give all of it to everybody who holds it, perhaps some to one and others to another. Remove it, or the others. All grants with this code can be removed at once, and then there is no other that could be spared.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs')}${grant('id: b, identity: github:octocat, scopes: [resource:read], namespace: /labs/optics')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_EXPIRED: {
    severity: 'warning',
    title: 'a grant that is over',
    explanation:
      'By now (or `--at`) the grant has expired, so it gives nobody anything any more. Never more than a warning, since a policy must not become invalid by itself; `compile` tells it only with `--at`.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2026-01-01T00:00:00Z, namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2028-01-01T00:00:00Z, namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_GRANT_EXPIRES_SOON: {
    severity: 'warning',
    title: 'a grant that is over soon',
    explanation:
      'The grant expires within `--soon` (30 days unless given) from now (or `--at`) on. Extend it or let it end, knowingly.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2027-01-15T00:00:00Z, namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], expires: 2028-01-01T00:00:00Z, namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_ROLE_EMPTY: {
    severity: 'warning',
    title: 'a role that nobody is in',
    explanation: 'The role has no members, also not through other roles. Add some, or remove the role.',
    wrong: `roles:\n  optics: {}\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:hubot] }\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_ROLE_UNUSED: {
    severity: 'warning',
    title: 'a role that nothing refers to',
    explanation: 'No grant is to the role, no role has it as a member, and no guardrail exempts it.',
    wrong: 'roles:\n  optics: { members: [github:octocat] }\n',
    right: `roles:\n  optics: { members: [github:octocat] }\ngrants:\n${grant('id: a, role: optics, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_MEMBER_REPEATED: {
    severity: 'warning',
    title: 'a member that is reached twice',
    explanation:
      'The member is in the role anyway, through another member of it. Whoever removes one of the two entries would believe the membership gone.',
    wrong: `roles:\n  optics: { members: [github:octocat] }\n  labs: { members: [github:octocat, { role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    right: `roles:\n  optics: { members: [github:octocat] }\n  labs: { members: [{ role: optics }] }\ngrants:\n${grant('id: a, role: labs, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_WRITE_AT_ROOT: {
    severity: 'warning',
    title: 'a grant to write at the root',
    explanation:
      'What is granted at `/` reaches every namespace that will ever exist, and the root itself is everybody’s lineage. Grant it where it is needed, or say in an ignore comment why everywhere.',
    wrong: `grants:\n${READER}${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /')}`,
    right: `grants:\n${READER}${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_WRITE_UNREAD: {
    severity: 'warning',
    title: 'a grant to write what nobody may read',
    explanation:
      'Write never implies read. Somewhere and at some time, which the message tells, the grant lets records be written where nobody at all may read them then, whoever wrote them included.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["resource:*"], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_IDENTITY_LOOKALIKE: {
    severity: 'warning',
    title: 'two identities that look alike',
    explanation:
      'Identities are compared exactly. Two of one provider that differ only in case or in characters that look alike are two people, or one of them is a slip, or a trap.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}${grant('id: b, identity: github:0ctocat, scopes: [resource:read], namespace: /labs')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: [resource:read], namespace: /labs')}`,
    shows: 'alone',
  },
  LINT_NAMESPACE_LOOKALIKE: {
    severity: 'warning',
    title: 'a namespace that looks like a slip for its neighbour',
    explanation:
      'Namespaces are declared nowhere, so a slip in one is access that is silently missing. Two in the same namespace are compared: one is told that at most two grants name (it or something below it), that is one letter more, less, another or swapped away from one that at least twice as many name, and that no test and no guardrail names. Names that differ in digits (`run-1` and `run-2`) or in a word of one letter (`lab-a` and `lab-b`) are meant, and so are names of less than five characters; a namespace with more than 10,000 children is not looked at.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /archive')}${grant('id: b, identity: github:hubot, scopes: ["*:read"], namespace: /archive')}${grant('id: c, identity: github:mona, scopes: ["*:read"], namespace: /archve')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /archive')}${grant('id: b, identity: github:hubot, scopes: ["*:read"], namespace: /archive')}${grant('id: c, identity: github:mona, scopes: ["*:read"], namespace: /archive')}`,
    shows: 'alone',
  },
  LINT_NAMESPACE_UNSTORED: {
    severity: 'warning',
    title: 'a grant at a namespace that the store does not have',
    explanation:
      'Told by `check --store` alone, which asks the store that `--data-dir` or `--database-url` names (here it has `/labs/optics`). Until the namespace is there the grant opens nothing. It may be a slip of the hand, or a namespace that is still to be created: then say so in an ignore comment.',
    wrong: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs/optcis')}`,
    right: `grants:\n${grant('id: a, identity: github:octocat, scopes: ["*:read"], namespace: /labs/optics')}`,
    shows: 'alone',
  },
  LINT_WITHIN_MISSING: {
    severity: 'warning',
    title: 'a file of grants without `within` beside files that have it',
    explanation:
      'In a folder in which some files say how far their grants may reach, a file that does not say so may grant anything anywhere, and its neighbours make it look bound. Add `within`, or an ignore comment with the reason at the head of the file.',
    wrong: 'grants/optics.yaml with `within: /labs/optics`, and grants/lasers.yaml without `within`',
    right: 'both with `within`',
    shows: 'words',
  },
  LINT_IGNORE_REASON: {
    severity: 'warning',
    title: 'an ignore comment that cannot be followed',
    explanation:
      'An ignore comment names rules and says why: `# bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree`. Without a reason it ignores nothing.',
    wrong: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    right: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: / }\n`,
    shows: 'alone',
  },
  LINT_IGNORE_UNUSED: {
    severity: 'warning',
    title: 'an ignore comment that ignores nothing',
    explanation:
      'The rule finds nothing on the line below the comment (or on its own line, or, at the head of a file, in the file). Remove it, before it hides something else.',
    wrong: `grants:\n${READER}  # bailiwick-ignore LINT_WRITE_AT_ROOT: curators own the tree\n  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    right: `grants:\n${READER}  - { id: a, identity: github:octocat, scopes: [resource:write], namespace: /labs }\n`,
    shows: 'alone',
  },
  LIMIT_LINT: {
    severity: 'info',
    title: 'not all grants were compared with each other',
    explanation:
      'There are so many overlapping grants that looking for redundant ones, or for those who may read what is written, was given up. What is reported is true; more may be.',
    wrong: 'a hundred thousand grants with different windows for one role at one namespace',
    right: 'the same role with one grant for each season',
    shows: 'words',
  },
} as const satisfies Readonly<Record<string, CodePage>>;
