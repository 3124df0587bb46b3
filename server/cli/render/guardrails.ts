// Violated guardrails: the witnesses with the grants that cause them, and what to remove (docs/language.md
// "Guardrails"). JSON has all witnesses. Text has the first, because a rule that everybody breaks has a witness for
// everybody.
import {
  GROUP_SUFFIX,
  type GuardrailReport,
  type GuardrailViolation,
  type Witness,
  type WitnessCells,
  type WitnessGrant,
  type WitnessPerson,
} from '../../../engine/compiler.js';
import type { GrantRef } from '../../../engine/index.js';
import { count, firstOf } from './text.js';
import { citedText, grantText, regionText, roleText, shortList, stretchText } from './words.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { instantJson } from '../../json/exact-json.js';

/** Entries that text shows. The others are counted; JSON lists all. */
const SHOWN_WITNESSES = 20;
const SHOWN_IDENTITIES = 8;
const SHOWN_GRANTS = 8;
const SHOWN_REPAIR = 20;
const SHOWN_RELIANCES = 3;
const LISTED = '--format json lists all';

export function renderViolations({ violations, repair: common }: Reported, paint: Paint): string {
  if (common === undefined) return violations.map((one) => renderViolation(one, paint)).join('');
  const each = violations.map((violation) => renderViolation({ ...violation, repair: [] }, paint));
  const mended = violations.filter(({ repair }) => repair.length > 0).map(({ guardrail }) => guardrail);
  const isAll = mended.length === violations.length;
  return [...each, renderRepair(common, isAll ? 'them all' : shortList(mended, SHOWN_IDENTITIES), paint)].join('');
}

/** Guardrails that hold by `exclusive` alone, one line each: whoever changes the lists should know. */
export function renderReliances({ reliesOn = [] }: GuardrailReport, paint: Paint): string {
  const known = reliesOn.filter(({ unknown }) => unknown !== true);
  const unknown = reliesOn.length - known.length;
  const rest = `for ${count(unknown, 'more guardrail')} that held, finding out what they rely on takes too many steps\n`;
  const lines = known
    .map(({ guardrail, pairs }) => {
      const more = (left: number): string => `and ${count(left, 'more pair')}`;
      const apart = firstOf(pairs, (pair) => pair.map(escapeText).join(' and '), { most: SHOWN_RELIANCES, more });
      return `guardrail ${paint('strong', guardrail)} held, because \`exclusive\` keeps apart ${apart.join('; ')}\n`;
    })
    .join('');
  return unknown === 0 ? lines : `${lines}${rest}`;
}

/** Violations, and what would mend all of them if there are several. */
type Reported = Pick<GuardrailReport, 'violations' | 'repair'>;

function renderViolation(violation: GuardrailViolation, paint: Paint): string {
  const where = violation.file === null ? '' : `${escapeText(violation.file)}:${String(violation.line ?? 1)} `;
  const about = violation.description === null ? '' : `: ${escapeText(violation.description)}`;
  const head = `${where}${paint('error', violation.unproved === true ? 'unproved' : 'violated')} guardrail ${paint('strong', violation.guardrail)}${about}\n`;
  const requires = `  ${paint('info', 'requires')}: ${escapeText(violation.requires)}\n`;
  const witnesses = firstOf(violation.witnesses, (witness) => renderWitness(witness, paint), {
    most: SHOWN_WITNESSES,
    more: (left) => `  and ${count(left, 'more witness', 'more witnesses')}: ${LISTED}\n`,
  });
  const help = violation.help === undefined ? '' : `  ${paint('info', 'help')}: ${escapeText(violation.help)}\n`;
  return `${head}${requires}${witnesses.join('')}${renderRepair(violation.repair, 'it', paint)}${help}`;
}

function renderRepair(repair: readonly GrantRef[], what: string, paint: Paint): string {
  if (repair.length === 0) return '';
  const shown = repair.slice(0, SHOWN_REPAIR).map(grantText).join(', ');
  const more = repair.length - SHOWN_REPAIR;
  const which = repair.length === 1 ? 'this grant' : `these ${count(repair.length, 'grant')}`;
  const rest = more > 0 ? ` and ${count(more, 'more grant')}: ${LISTED}` : '';
  return `  ${paint('info', 'help')}: removing ${which} would satisfy ${what}: ${shown}${rest}\n`;
}

function renderWitness(witness: Witness, paint: Paint): string {
  const scopes = witness.scopes.join(', ');
  const when = stretchText(witness);
  const { alsoAt = [], also = [], people = [] } = witness;
  const places = alsoAt.length === 0 ? '' : ` and ${count(alsoAt.length, 'more namespace')}`;
  const head = `  ${whoText(witness)}: ${scopes === '' ? 'nothing' : scopes} ${regionText(witness)}${places}${when === '' ? '' : ` ${when}`}\n`;
  const causeText = (grant: WitnessGrant): string =>
    `    ${paint('info', 'grant')}: ${citedText(grant)}${forRole(grant)}\n`;
  const more = (left: number): string => `    and ${count(left, 'more grant')}\n`;
  return [
    head,
    ...firstOf(witness.grants, causeText, { most: SHOWN_GRANTS, more }),
    ...people.slice(0, SHOWN_IDENTITIES).map(broughtText),
    also.length === 0 ? '' : `    and ${count(also.length, 'more place or time', 'more places or times')}: ${LISTED}\n`,
  ].join('');
}

function forRole({ role, description }: WitnessGrant): string {
  return role === undefined
    ? ''
    : `, for role ${roleText({ role, ...(description === undefined ? {} : { description }) })}`;
}

/** People by name, each with the identities that contribute something, then those who are not named anywhere. */
function whoText(witness: Witness): string {
  const { identities, people = [] } = witness;
  if (identities.length === 0) return 'nobody';
  const named = people.map(({ person, identities: parts }) => ({ person, parts: parts.map((part) => part.identity) }));
  const told = new Set(named.flatMap(({ parts }) => parts));
  const who = [
    ...named.map(({ person, parts }) => `${person} (${parts.map(escapeText).join(', ')})`),
    ...identities.filter((identity) => !told.has(identity)).map(partyText),
  ];
  const more = who.length - SHOWN_IDENTITIES;
  const carried = besideText(witness);
  if (more <= 0) return `${who.join(', ')}${carried}`;
  const left =
    people.length > 0 ? count(more, 'more person', 'more people') : count(more, 'more identity', 'more identities');
  return `${who.slice(0, SHOWN_IDENTITIES).join(', ')} and ${left}${carried}`;
}

/** A group stands for whoever is in it. */
function partyText(identity: string): string {
  return isGroup(identity) ? `whoever is in ${escapeText(identity)}` : escapeText(identity);
}

/** What an actor of theirs carries besides. */
function besideText({ beside = [] }: Witness): string {
  if (beside.length === 0) return '';
  const carried = shortList(beside.map(escapeText), SHOWN_IDENTITIES);
  return beside.every(isGroup) ? `, if also in ${carried}` : `, together with ${carried}`;
}

function isGroup(identity: string): boolean {
  return identity.slice(0, identity.indexOf(':')).endsWith(GROUP_SUFFIX);
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
  return { ...report, violations: report.violations.map(violationJson), reliesOn: report.reliesOn ?? [] };
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
