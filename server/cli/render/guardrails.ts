// Violated guardrails: the witnesses with the grants that cause them, and what to remove (design 3.4, interfaces.md
// Witness). All of them as JSON; as text the first, for a rule that everybody breaks has a witness for everybody.
import type { GuardrailReport, GuardrailViolation, Witness, WitnessCells } from '../../../engine/compiler.js';
import type { GrantRef } from '../../../engine/index.js';
import { count } from './count.js';
import { escapeText } from './escape.js';
import type { Paint } from './palette.js';
import { instantJson, regionText, stretchText } from './region.js';
import { grantText } from './test-failures.js';

/** More than these are counted in text; JSON lists all. */
const SHOWN_WITNESSES = 20;
const SHOWN_IDENTITIES = 8;
const SHOWN_GRANTS = 8;
const SHOWN_REPAIR = 20;
const LISTED = '--format json lists all';

export function renderViolations(violations: readonly GuardrailViolation[], paint: Paint): string {
  return violations.map((violation) => renderViolation(violation, paint)).join('');
}

function renderViolation(violation: GuardrailViolation, paint: Paint): string {
  const where = violation.file === null ? '' : `${escapeText(violation.file)}:${String(violation.line ?? 1)} `;
  const about = violation.description === null ? '' : `: ${escapeText(violation.description)}`;
  const head = `${where}${paint('error', 'violated')} guardrail ${paint('strong', violation.guardrail)}${about}\n`;
  const requires = `  ${paint('info', 'requires')}: ${escapeText(violation.requires)}\n`;
  const witnesses = violation.witnesses.slice(0, SHOWN_WITNESSES).map((witness) => renderWitness(witness, paint));
  const more = violation.witnesses.length - SHOWN_WITNESSES;
  if (more > 0) witnesses.push(`  and ${count(more, 'more witness', 'more witnesses')}: ${LISTED}\n`);
  return `${head}${requires}${witnesses.join('')}${renderRepair(violation.repair, paint)}`;
}

function renderRepair(repair: readonly GrantRef[], paint: Paint): string {
  if (repair.length === 0) return '';
  const shown = repair.slice(0, SHOWN_REPAIR).map(grantText).join(', ');
  const more = repair.length - SHOWN_REPAIR;
  return `  ${paint('info', 'holds without')}: ${shown}${more > 0 ? ` and ${count(more, 'more grant')}: ${LISTED}` : ''}\n`;
}

function renderWitness(witness: Witness, paint: Paint): string {
  const scopes = witness.scopes.join(', ');
  const when = stretchText(witness);
  const head = `  ${identitiesText(witness.identities)}: ${scopes === '' ? 'nothing' : scopes} ${regionText(witness)}${alsoText(witness)}${when === '' ? '' : ` ${when}`}\n`;
  const grants = witness.grants.slice(0, SHOWN_GRANTS);
  const more = witness.grants.length - SHOWN_GRANTS;
  return [
    head,
    ...grants.map((grant) => `    ${paint('info', 'grant')}: ${grantText(grant)}\n`),
    ...(more > 0 ? [`    and ${count(more, 'more grant')}\n`] : []),
    renderAlso(witness),
  ].join('');
}

function alsoText({ alsoAt = [] }: Witness): string {
  return alsoAt.length === 0 ? '' : ` and ${count(alsoAt.length, 'more namespace')}`;
}

/** More of the same identities. */
function renderAlso({ also = [] }: Witness): string {
  return also.length === 0
    ? ''
    : `    and ${count(also.length, 'more place or time', 'more places or times')}: ${LISTED}\n`;
}

function identitiesText(identities: readonly string[]): string {
  if (identities.length === 0) return 'nobody';
  const more = identities.length - SHOWN_IDENTITIES;
  const shown = identities.slice(0, SHOWN_IDENTITIES).map(escapeText).join(', ');
  return more > 0 ? `${shown} and ${count(more, 'more identity', 'more identities')}` : shown;
}

/** As interfaces.md has it: instants are texts, absent things are left out. */
export function guardrailsJson(report: GuardrailReport): object {
  return { ...report, violations: report.violations.map(violationJson) };
}

function violationJson({ description, file, line, witnesses, ...violation }: GuardrailViolation): object {
  return {
    ...violation,
    ...(description === null ? {} : { description }),
    ...(file === null ? {} : { file, line }),
    witnesses: witnesses.map(({ also, ...witness }) => ({
      ...cellsJson(witness),
      ...(also === undefined ? {} : { also: also.map(cellsJson) }),
    })),
  };
}

function cellsJson(cells: WitnessCells): object {
  return { ...cells, from: instantJson(cells.from), until: instantJson(cells.until) };
}
