// Violated guardrails: every witness with the grants that cause it, and what to remove (design 3.4, interfaces.md Witness).
import type { GuardrailReport, GuardrailViolation, Witness } from '../../../engine/compiler.js';
import { count } from './count.js';
import { escapeText } from './escape.js';
import type { Paint } from './palette.js';
import { instantJson, regionText, stretchText } from './region.js';
import { grantText } from './test-failures.js';

/** More identities than this are counted in text; JSON lists all. */
const SHOWN_IDENTITIES = 8;

export function renderViolations(violations: readonly GuardrailViolation[], paint: Paint): string {
  return violations.map((violation) => renderViolation(violation, paint)).join('');
}

function renderViolation(violation: GuardrailViolation, paint: Paint): string {
  const where = violation.file === null ? '' : `${escapeText(violation.file)}:${String(violation.line ?? 1)} `;
  const about = violation.description === null ? '' : `: ${escapeText(violation.description)}`;
  const head = `${where}${paint('error', 'violated')} guardrail ${paint('strong', violation.guardrail)}${about}\n`;
  const requires = `  ${paint('info', 'requires')}: ${escapeText(violation.requires)}\n`;
  const witnesses = violation.witnesses.map((witness) => renderWitness(witness, paint));
  const repair = violation.repair.map(grantText).join(', ');
  return `${head}${requires}${witnesses.join('')}${repair === '' ? '' : `  ${paint('info', 'holds without')}: ${repair}\n`}`;
}

function renderWitness(witness: Witness, paint: Paint): string {
  const scopes = witness.scopes.join(', ');
  const when = stretchText(witness);
  const head = `  ${identitiesText(witness.identities)}: ${scopes === '' ? 'nothing' : scopes} ${regionText(witness)}${when === '' ? '' : ` ${when}`}\n`;
  return head + witness.grants.map((grant) => `    ${paint('info', 'grant')}: ${grantText(grant)}\n`).join('');
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
    witnesses: witnesses.map((witness) => ({
      ...witness,
      from: instantJson(witness.from),
      until: instantJson(witness.until),
    })),
  };
}
