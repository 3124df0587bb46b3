// A rule about tests: one that denies something to an identity which the policy does not name passes whatever the policy says.
import { makeSuggester, type Suggester } from '../diagnostics/nearest.js';
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../model/identity.js';
import { compareTexts } from '../model/order.js';
import type { PolicySet } from '../model/policy-set.js';
import { firstFrom } from '../model/row-lists.js';
import { identityText, type PolicyTables } from '../model/tables.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, placed } from './rule.js';

export function findTestsOfStrangers({ set, tables }: LintWorld, context: LintContext): void {
  const denying = set.tests.filter(
    ({ deny, sees }) => deny.length > 0 || sees.some(({ namespaces }) => namespaces.length === 0),
  );
  if (denying.length === 0) return;
  const claimed = new Set(identitiesOfClaims(set).map(formatIdentity));
  const isNamed = (identity: Identity): boolean =>
    isInTables(tables, identity) || claimed.has(formatIdentity(identity));
  let suggester: Suggester | null = null;
  for (const { identities, place } of denying) {
    const [groups, strangers] = [identities.filter(isNamed), identities.filter((identity) => !isNamed(identity))];
    // Whoever is in a group may be anybody.
    const odd = strangers.filter(({ provider }) => !groups.some((group) => group.provider === provider + GROUP_SUFFIX));
    const [first] = odd;
    if (first === undefined) continue;
    suggester ??= makeSuggester(tables.identities.subject.map((_, row) => identityText(tables, row)));
    const near = suggester.nearest(formatIdentity(first));
    const who = odd.map((identity) => `\`${formatIdentity(identity)}\``).join(', ');
    context.report({
      code: 'LINT_TEST_IDENTITY',
      place: placed(place),
      message: `the policy does not name ${who}, so what this test denies is denied, and what it hides is hidden, whatever the policy says`,
      help: near === null ? ACCEPT : `did you mean \`${near}\`?`,
    });
  }
}

const ACCEPT =
  'test an identity that the policy names, or say why strangers are tested: `# bailiwick-ignore LINT_TEST_IDENTITY: why`';

/** Whether a role, a grant or a list of `exclusive` names the identity. */
function isInTables({ identities, providers }: PolicyTables, { provider, subject }: Identity): boolean {
  const orderAt = (row: number): number =>
    compareTexts(providers[identities.provider[row] ?? 0] ?? '', provider) ||
    compareTexts(identities.subject[row] ?? '', subject);
  const row = firstFrom(identities.subject.length, (i) => orderAt(i) >= 0);
  return row < identities.subject.length && orderAt(row) === 0;
}

function identitiesOfClaims({ people, guardrails }: PolicySet): readonly Identity[] {
  return [
    ...people.flatMap(({ identities }) => identities),
    ...guardrails.flatMap(({ rule }) =>
      'except' in rule ? [...(rule.to?.identities ?? []), ...rule.except.identities] : [],
    ),
  ];
}
