// Pages of what `check` finds in addition to diagnostics. `sarif`, `github` and `junit` list failed tests and violated guardrails
// under these codes (docs/language.md "Tests", docs/language.md "Guardrails").
import { pagesOf } from './page.js';

const grant = (scopes: string): string =>
  `grants:\n  - { id: a, role: staff, namespace: /labs, scopes: [${scopes}] }\n`;

const TEST =
  'tests:\n  - name: staff may write at the labs\n    actor: { identities: [orcid:0000-0002-1825-0097] }\n    allow: ["resource:write /labs"]\n';
const GUARDRAIL =
  'guardrails:\n  - { id: archive-is-fixed, never: { scopes: ["*:write"], under: /labs, to: { providers: [orcid] } } }\n';

export const OUTCOME_PAGES = pagesOf({
  POLICY_TEST_FAILED: {
    title: 'a test of the policy fails',
    explanation:
      'The policy does not decide what one of its tests expects. Correct the grants. Correct the test only if what it expects was never right.',
    wrong: `${grant('resource:read')}${TEST}`,
    right: `${grant('resource:read, resource:write')}${TEST}`,
  },
  GUARDRAIL_VIOLATED: {
    title: 'a guardrail of the policy does not hold',
    explanation:
      'Somebody holds access that a guardrail forbids, or too few people hold access that it requires. The report lists who, where, when and by which grants. For most kinds it also lists a minimal set of grants whose removal would satisfy the guardrail. Correct the grants. A weaker guardrail would no longer protect anybody else either.',
    wrong: `${grant('resource:read, resource:write')}${GUARDRAIL}`,
    right: `${grant('resource:read')}${GUARDRAIL}`,
  },
});
