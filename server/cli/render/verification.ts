// What `verify` found, for people.
import { formatInstant, type Keyring, type SignatureReport } from '../../../engine/index.js';
import type { Verification } from '../verify-snapshot.js';
import { count, renderCounts } from './text.js';
import { escapeText } from './escape.js';
import type { Paint } from './palette.js';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['malformed', 'is no signature'],
  ['unknown_key', 'fits no key of the keyring'],
  ['wrong', 'is not by this key over what is signed'],
  ['duplicate_key', 'by the same key again'],
]);
const SHOWN_KEY_ID = 71;

interface Counted {
  readonly keyring: Keyring;
  /** Keys whose signature counts. */
  readonly counted: number;
}

export function renderVerification({ policy, signed }: Verification, paint: Paint): string {
  const lines = [
    `snapshot  ${policy.digest}`,
    `decisions ${policy.decisions}`,
    `policy    ${escapeText(policy.name)}: ${renderCounts(policy.counts)}`,
  ];
  if (signed === null) {
    lines.push(`${paint('good', 'intact')}; publisher not verified (use --keyring)`);
    return `${lines.join('\n')}\n`;
  }
  const { keyring, statement, signatures, faults } = signed;
  if (statement !== null) {
    const { environment, generation, issued, expires } = statement;
    lines.push(
      `published for ${environment}, generation ${String(generation)}`,
      `in force  ${formatInstant(issued)} until ${formatInstant(expires)}`,
    );
  }
  lines.push(signedLine({ keyring, counted: signatures.filter(({ ok }) => ok).length }, paint));
  for (const signature of signatures) lines.push(`  ${signatureLine(signature, paint)}`);
  for (const fault of faults) lines.push(paint('error', `refused: ${escapeText(fault.message)}`));
  if (faults.length === 0) lines.push(paint('good', 'intact and published'));
  return `${lines.join('\n')}\n`;
}

function signedLine({ keyring: { keys, threshold }, counted }: Counted, paint: Paint): string {
  const by = `signed by ${String(counted)} of ${count(keys.length, 'key')}`;
  const needed = `${String(threshold)} ${threshold === 1 ? 'is' : 'are'} needed`;
  return counted < threshold ? paint('error', `${by}: too few, ${needed}`) : `${by}, ${needed}`;
}

function signatureLine({ ok, name, keyId, reason }: SignatureReport, paint: Paint): string {
  const who = escapeText([...(name === null ? [] : [name]), (keyId ?? 'no key id').slice(0, SHOWN_KEY_ID)].join(' '));
  return ok
    ? `${paint('good', 'ok')}  ${who}`
    : `${paint('error', 'no')}  ${who}: ${REASONS.get(reason ?? '') ?? 'does not count'}`;
}
