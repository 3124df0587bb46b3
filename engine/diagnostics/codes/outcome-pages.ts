// Pages of what `check` finds in addition to diagnostics. `sarif`, `github` and `junit` list failed tests and violated guardrails
// under these codes (docs/language.md "Tests", docs/language.md "Guardrails").
import type { CodePage } from './page.js';

const GRANT = 'grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [resource:read] }\n';

export const OUTCOME_PAGES = {
  POLICY_TEST_FAILED: {
    severity: 'error',
    title: 'a test of the policy fails',
    explanation:
      'The policy does not decide what one of its tests expects. Correct the grants, or the test where the policy is right.',
    wrong: `${GRANT}tests:\n  - name: staff may write at the labs\n    actor: { identities: [orcid:0000-0002-1825-0097] }\n    allow: ["resource:write /labs"]\n`,
    right: `${GRANT}tests:\n  - name: staff may read at the labs\n    actor: { identities: [orcid:0000-0002-1825-0097] }\n    allow: ["resource:read /labs"]\n`,
  },
  GUARDRAIL_VIOLATED: {
    severity: 'error',
    title: 'a guardrail of the policy does not hold',
    explanation:
      'Somebody holds what a guardrail forbids, or too few hold what it asks for. The report lists who, where, when and by which grants. For most kinds it also lists a smallest set of grants whose removal makes the guardrail hold.',
    wrong: `${GRANT}guardrails:\n  - { id: nobody-reads, never: { scopes: [resource:read], under: /labs } }\n`,
    right: `${GRANT}guardrails:\n  - { id: nobody-writes, never: { scopes: [resource:write], under: /labs } }\n`,
  },
} as const satisfies Readonly<Record<string, CodePage>>;
