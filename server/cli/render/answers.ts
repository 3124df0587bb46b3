// `who-can`, `what-can`, `visible` and `explain` for people, with notes on what the policy does not know.
import {
  type ChainLink,
  type Closes,
  type HeldGrant,
  type HeldRegion,
  type Holder,
  unknownPart,
  unknownPlace,
} from '../../../engine/compiler.js';
import {
  canonicalize,
  formatIdentity,
  formatInstant,
  groupDigits,
  type Identity,
  type Instant,
  meantPath,
  type NamespacePath,
  pathFaultText,
  type Policy,
  type Visibility,
} from '../../../engine/index.js';
import { count } from './text.js';
import { citedText, patternsOf, placeText, regionText, roleText, shortList } from './words.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import type { AppliedEdit } from '../apply-edit.js';
import type { AccessProof } from '../../signing/access-proof.js';
import type { AnyEdit, Proved } from '../../policy/explanation-json.js';

/** With the name of the person who has the identity. */
export type NamedHolder = Holder & { readonly person: string | undefined };

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
  return `${head}\n${lines.join('')}${grants.length === 0 ? '' : `grants\n${grantLines(grants)}`}${renderEdits(explanation, paint)}`;
}

/** Edits are numbered, so that `--apply` can name one. */
function renderEdits({ decision, edits, more = false, noEdit = '' }: Proved, paint: Paint): string {
  const help = paint('info', 'help');
  if (edits.length === 0)
    return decision === 'allow'
      ? ''
      : `${help}: no edit of the policy or the credential allows it: ${escapeText(noEdit)}\n`;
  const counts = edits.map((edit) => groupDigits('closes' in edit ? edit.closes.others : edit.opens.cells));
  const width = Math.max(...counts.map((text) => text.length));
  const lines = edits.map((edit, i) => {
    const { text, change } = edit;
    const where = 'grant' in change || 'member' in change ? placeText('grant' in change ? change.grant : change) : '';
    const number = paint('faint', `${String(i + 1).padStart(String(edits.length).length)}.`);
    const whose = 'closes' in edit ? losersText(edit.closes.rows, edit.closes.others) : '';
    return `  ${number} ${(counts[i] ?? '').padStart(width)}  ${escapeText(text)}${where}${effectsText(edit)}\n${whose}`;
  });
  const what =
    decision === 'allow'
      ? 'any one of these changes would deny it (first column: other accesses it also takes away)'
      : 'any one of these changes would allow it (first column: other accesses it also grants)';
  const left = more ? `  there are more, with as many changes as the last or more\n` : '';
  return `${help}: ${what}\n${lines.join('')}${left}`;
}

/** The change that was made, line by line, and what it breaks. */
export function renderApplied(edit: AnyEdit, { hunks, snapshot }: AppliedEdit, paint: Paint): string {
  const lines = hunks.flatMap(({ file, line, removed, added }) => [
    `${paint('strong', `${escapeText(file)}:${String(line)}`)}\n`,
    ...removed.map((text) => `${paint('error', '-')} ${escapeText(text)}\n`),
    ...added.map((text) => `${paint('good', '+')} ${escapeText(text)}\n`),
  ]);
  return `changed: ${escapeText(edit.text)}${effectsText(edit)}\n${lines.join('')}${paint('faint', `snapshot ${snapshot}`)}\n`;
}

const SHOWN_LOSERS = 4;
const SHOWN_CHECKS = 4;

/** Who else loses something, or what else the same identity loses. */
function losersText(rows: Closes['rows'], others: bigint): string {
  if (others === 0n) return '';
  const names = [...new Set(rows.flatMap(({ identities }) => identities))].map(escapeText);
  return `       from ${shortList(names, SHOWN_LOSERS)}\n`;
}

function effectsText({ breaks, repairs, breaksTests, repairsTests }: AnyEdit): string {
  const named = (verb: string, what: string, names: readonly string[] | null): string => {
    if (names === null || names.length === 0) return '';
    return `; ${verb} ${what}${names.length === 1 ? '' : 's'} ${shortList(
      names.map((name) => `\`${escapeText(name)}\``),
      SHOWN_CHECKS,
    )}`;
  };
  return [
    named('breaks', 'guardrail', breaks),
    named('repairs', 'guardrail', repairs),
    named('breaks', 'test', breaksTests),
    named('repairs', 'test', repairsTests),
  ].join('');
}

/** For people: a note if it was not checked for every edit which guardrails and tests it breaks. */
export function noteOnUnproved(edits: readonly AnyEdit[], source: 'folder' | 'file' | 'stdin'): string {
  const unproved = edits.filter(({ breaks, breaksTests }) => breaks === null || breaksTests === null).length;
  if (unproved === 0) return '';
  const why = source === 'folder' ? 'the policy is too large to prove them all' : 'a snapshot does not contain them';
  const which = unproved === edits.length ? 'these changes' : `${groupDigits(unproved)} of these changes`;
  const help = source === 'folder' ? 'make the change and run `bailiwick check`' : 'name the policy folder';
  return `note: which guardrails and tests ${which} would break was not computed, since ${why}: ${help}\n`;
}

/** Notes for people about identities that the policy does not know. Answers about them are exact all the same. */
export function notesOn(policy: Policy, identities: readonly Identity[]): string {
  return identities
    .map((identity) => {
      const unknown = unknownPart(policy, identity);
      if (unknown === null) return '';
      const what =
        unknown.part === 'provider'
          ? `declares no provider \`${identity.provider}\``
          : `names \`${formatIdentity(identity)}\` nowhere`;
      const help = unknown.meant === null ? '' : `; did you mean \`${unknown.meant}\`?`;
      return `note: the policy ${escapeText(what + help)}\n`;
    })
    .join('');
}

/** The same for a namespace. */
export function noteOnPlace(policy: Policy, path: NamespacePath): string {
  const unknown = unknownPlace(policy, path);
  if (unknown === null) return '';
  const help = unknown.meant === null ? '' : `; did you mean \`${unknown.meant}\`?`;
  return `note: no grant names \`${path}\` or a namespace below it${help}\n`;
}
