// `who-can`, `what-can`, `visible` and `explain` for people.
import {
  type ChainLink,
  type HeldGrant,
  type HeldRegion,
  type Holder,
  type ProvedEdit,
} from '../../../engine/compiler.js';
import {
  canonicalize,
  formatInstant,
  groupDigits,
  type Instant,
  meantPath,
  pathFaultText,
  type Visibility,
} from '../../../engine/index.js';
import { count } from './text.js';
import { citedText, placeText, roleText } from './citation.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import type { AccessProof } from '../../signing/access-proof.js';
import type { Proved } from '../../policy/explanation-json.js';
import { patternsOf, regionText } from './region.js';

/** With the name of the person who has the identity. */
export type NamedHolder = Holder & { readonly person?: string };

export function renderWhoCan(
  holders: readonly NamedHolder[],
  asked: { scope: string; namespace: string; at: Instant },
  paint: Paint,
): string {
  const lines = holders.map(
    ({ identity, person, grants }) =>
      `${paint('strong', escapeText(identity))}${person === undefined ? '' : ` (${person})`}\n${grantLines(grants)}`,
  );
  const who = holders.length === 0 ? 'nobody holds' : count(holders.length, 'identity holds', 'identities hold');
  return `${lines.join('')}${paint('faint', `${who} ${asked.scope} at ${asked.namespace} at ${formatInstant(asked.at)}`)}\n`;
}

export function renderWhatCan(
  regions: readonly HeldRegion[],
  asked: { person?: string | undefined; identities: readonly string[]; at: Instant },
  paint: Paint,
): string {
  const { person, identities } = asked;
  const who = person === undefined ? identities.join(', ') : `${person} (${identities.join(', ')})`;
  const lines = regions.map(
    (region) =>
      `${paint('strong', regionText(region))}\n  ${patternsOf(region.scopes).join(', ')}\n${grantLines(region.grants)}`,
  );
  const what = regions.length === 0 ? 'nothing' : `this, in ${count(regions.length, 'region')}`;
  return `${lines.join('')}${paint('faint', `${escapeText(who)} holds ${what}, at ${formatInstant(asked.at)}`)}\n`;
}

/** One line: what the proof shows, and against which root. */
export function renderAccessProof({ identity, holds, scope, namespace, at, root, size }: AccessProof): string {
  const holders = count(size, 'identity that holds anything', 'identities that hold anything');
  return `${escapeText(identity)} ${holds ? 'holds' : 'does not hold'} ${scope} at ${namespace} at ${at}\nroot ${root}, of ${holders}\n`;
}

function grantLines(grants: readonly HeldGrant[]): string {
  return grants.map((grant) => `  by ${citedText(grant)}${throughText(grant.through ?? [])}\n`).join('');
}

/**
 * `, through leads (roles/amx.yaml:4) until 2030-04-01T00:00:00.000Z in staff (roles/amx.yaml:9)`: each place is where the membership is
 * declared, and each window is that of the membership.
 */
function throughText(links: readonly ChainLink[]): string {
  if (links.length === 0) return '';
  return `, through ${links.map(linkText).join(' in ')}`;
}

function linkText({ notBefore, expires, ...role }: ChainLink): string {
  const from = notBefore === undefined ? '' : ` from ${notBefore}`;
  return `${roleText(role)}${from}${expires === undefined ? '' : ` until ${expires}`}`;
}

/** `asked` are the namespaces as they were typed: for step 1 the invalid one is named. */
export function renderVisible(visible: Visibility, asked: readonly string[], paint: Paint): string {
  if (visible.kind === 'none') {
    const why = visible.step === 'canonicalize' ? `: ${asked.flatMap(pathFaults).join('; ')}` : '';
    return `${paint('error', 'nothing is visible')}: denied at ${visible.step}${why}\n`;
  }
  if (visible.kind === 'all') return `${paint('good', 'everything')}\n`;
  return [
    ...visible.exact.map((path) => `at ${path}\n`),
    ...visible.subtrees.map((path) => `at and below ${path}\n`),
  ].join('');
}

function pathFaults(text: string): readonly string[] {
  const result = canonicalize(text);
  if (result.ok) return [];
  const meant = meantPath(text);
  const help = meant === null ? '' : `; did you mean \`${meant}\`?`;
  return [`\`${escapeText(text)}\` is not a namespace: ${pathFaultText(result.fault)}${help}`];
}

export function renderExplanation(explanation: Proved, paint: Paint): string {
  const { decision, step, steps, grants } = explanation;
  const width = Math.max(...steps.map((one) => one.step.length));
  const lines = steps.map(({ step: name, passed, text }) => {
    const mark = passed ? paint('good', 'passed') : paint('error', 'failed');
    return `  ${mark}  ${name.padEnd(width)}  ${escapeText(text)}\n`;
  });
  const head = decision === 'allow' ? paint('good', 'allowed') : `${paint('error', 'denied')} at ${step ?? 'no step'}`;
  return `${head}\n${lines.join('')}${grants.length === 0 ? '' : `grants\n${grantLines(grants)}`}${decision === 'allow' ? '' : renderEdits(explanation, paint)}`;
}

function renderEdits({ edits, noEdit = '' }: Proved, paint: Paint): string {
  if (edits.length === 0)
    return `${paint('info', 'help')}: no edit of the policy or the credential allows it: ${escapeText(noEdit)}\n`;
  const cells = edits.map(({ opens }) => groupDigits(opens.cells));
  const width = Math.max(...cells.map((text) => text.length));
  const lines = edits.map(({ text, change, breaks }, i) => {
    const where = 'grant' in change ? placeText(change.grant) : '';
    return `  ${(cells[i] ?? '').padStart(width)}  ${escapeText(text)}${where}${breaksText(breaks)}\n`;
  });
  return `${paint('info', 'help')}: any one of these changes would allow it (first column: other accesses it also grants)\n${lines.join('')}`;
}

function breaksText(breaks: ProvedEdit['breaks']): string {
  if (breaks === null || breaks.length === 0) return '';
  const names = breaks.map((id) => `\`${escapeText(id)}\``).join(', ');
  return `; breaks ${breaks.length === 1 ? 'guardrail' : 'guardrails'} ${names}`;
}

/** For people: a note if it was not checked for every edit which guardrails it breaks. */
export function noteOnUnproved(edits: readonly ProvedEdit[], source: 'folder' | 'file' | 'stdin'): string {
  const unproved = edits.filter(({ breaks }) => breaks === null).length;
  if (unproved === 0) return '';
  const why =
    source === 'folder' ? 'the policy is too large to prove them all' : 'a snapshot does not contain its guardrails';
  const which = unproved === edits.length ? 'these changes' : `the last ${groupDigits(unproved)} changes`;
  const help = source === 'folder' ? 'make the change and run `bailiwick check`' : 'name the policy folder';
  return `note: which guardrails ${which} would break was not computed, since ${why}: ${help}\n`;
}
