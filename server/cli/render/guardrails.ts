// Violated guardrails: the witnesses with the grants that cause them, and what to remove (docs/language.md
// "Guardrails"). JSON has all witnesses. Text has the first, because a rule that everybody breaks has a witness for
// everybody.
import type {
  GuardrailReport,
  GuardrailViolation,
  Witness,
  WitnessCells,
  WitnessPerson,
} from '../../../engine/compiler.js';
import type { GrantRef } from '../../../engine/index.js';
import { count } from './text.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { instantJson } from '../../exact-json.js';
import { regionText, shortList, stretchText } from './region.js';
import { grantText } from './test-failures.js';

/** Entries that text shows. The others are counted; JSON lists all. */
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
  const help = violation.help === undefined ? '' : `  ${paint('info', 'help')}: ${escapeText(violation.help)}\n`;
  return `${head}${requires}${witnesses.join('')}${renderRepair(violation.repair, paint)}${help}`;
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
  const head = `  ${whoText(witness)}: ${scopes === '' ? 'nothing' : scopes} ${regionText(witness)}${alsoText(witness)}${when === '' ? '' : ` ${when}`}\n`;
  const grants = witness.grants.slice(0, SHOWN_GRANTS);
  const more = witness.grants.length - SHOWN_GRANTS;
  return [
    head,
    ...grants.map((grant) => `    ${paint('info', 'grant')}: ${grantText(grant)}\n`),
    ...(more > 0 ? [`    and ${count(more, 'more grant')}\n`] : []),
    ...(witness.people ?? []).slice(0, SHOWN_IDENTITIES).map(broughtText),
    renderAlso(witness),
  ].join('');
}

function alsoText({ alsoAt = [] }: Witness): string {
  return alsoAt.length === 0 ? '' : ` and ${count(alsoAt.length, 'more namespace')}`;
}

/** More of the same people. */
function renderAlso({ also = [] }: Witness): string {
  return also.length === 0
    ? ''
    : `    and ${count(also.length, 'more place or time', 'more places or times')}: ${LISTED}\n`;
}

/** People by name, each with the identities that contribute something, then those who are not named anywhere. */
function whoText({ identities, people = [] }: Witness): string {
  if (identities.length === 0) return 'nobody';
  const named = people.map(({ person, identities: parts }) => ({ person, parts: parts.map((part) => part.identity) }));
  const told = new Set(named.flatMap(({ parts }) => parts));
  const who = [
    ...named.map(({ person, parts }) => `${person} (${parts.map(escapeText).join(', ')})`),
    ...identities.filter((identity) => !told.has(identity)).map(escapeText),
  ];
  const more = who.length - SHOWN_IDENTITIES;
  if (more <= 0) return who.join(', ');
  const left =
    people.length > 0 ? count(more, 'more person', 'more people') : count(more, 'more identity', 'more identities');
  return `${who.slice(0, SHOWN_IDENTITIES).join(', ')} and ${left}`;
}

/** What each identity of a person brings; not repeated if there is only one. */
function broughtText({ person, identities, namedBy = [] }: WitnessPerson): string {
  const named =
    namedBy.length === 0
      ? ''
      : `    ${person} is also ${shortList(namedBy.map(escapeText), SHOWN_IDENTITIES)}, whom \`to\` names\n`;
  if (identities.length < 2) return named;
  const brought = identities.map(({ identity, scopes = [], grants = [] }) =>
    grants.length === 0
      ? ''
      : `    ${escapeText(identity)} brings ${scopes.join(', ')} by ${shortList(grants, SHOWN_GRANTS)}\n`,
  );
  return brought.join('') + named;
}

/** As JSON: instants are texts, absent things are left out. */
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
