// Which grants the tests of a policy cover, for people.
import { coveredPercent, type GrantCoverage } from '../../../engine/compiler.js';
import { groupDigits } from '../../../engine/index.js';
import { countOf, percentText } from './text.js';
import { grantText } from './test-failures.js';

export function renderCoverage(coverage: GrantCoverage): string {
  const { total, covered, pinned, uncovered } = coverage;
  const lines = uncovered.map((grant) => `not covered: ${grantText(grant)}\n`);
  return `${lines.join('')}${countOf(covered, total, 'grant')} covered (${percentText(coveredPercent(coverage))}), ${groupDigits(pinned)} so that a test would notice the loss\n`;
}
