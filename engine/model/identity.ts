// Identities: exact (provider, subject) pairs, case-sensitive, NFC, never matched by subject alone or by a joined string
// (docs/meaning.md "Identities and roles").

export interface Identity {
  readonly provider: string;
  readonly subject: string;
}

/**
 * A token's groups claim gives identities of the provider `<provider>-group`. It is declared together with its provider
 * (docs/credentials.md "Group claims").
 */
export const GROUP_SUFFIX = '-group';

export type IdentityFault =
  'no_colon' | 'provider' | 'subject_empty' | 'subject_too_long' | 'subject_space' | 'subject_control' | 'not_nfc';

export type IdentityResult =
  { readonly ok: true; readonly identity: Identity } | { readonly ok: false; readonly fault: IdentityFault };

const NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
// eslint-disable-next-line no-control-regex -- control characters are what is being refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const SUBJECT_BYTES = 255;

/** Keys with a special meaning in JavaScript. Policy files never have them, so nothing that a key names is called so. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Policy, provider, role, grant, guardrail and slot names: `[a-z0-9][a-z0-9._-]{0,127}`. */
export function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text) && !text.endsWith('\n');
}

/** The provider whose groups these are, or the provider itself. */
export function baseProvider(provider: string): string {
  return provider.endsWith(GROUP_SUFFIX) ? provider.slice(0, -GROUP_SUFFIX.length) : provider;
}

/** Whether identities may be of a provider: it is among the known ones, or its groups are. */
export function isProviderOf(known: Pick<ReadonlySet<string>, 'has'>, provider: string): boolean {
  return known.has(provider) || known.has(baseProvider(provider));
}

/** Whether the language lets a provider be declared by a name; `-group` belongs to the groups of providers. */
export function mayBeProvider(name: string): boolean {
  return isName(name) && !name.endsWith(GROUP_SUFFIX) && !FORBIDDEN_KEYS.has(name);
}

/**
 * The texts of identities that were joined to one by spaces, as where a comma is missing: the subject goes on with the name of a
 * provider that is known. Null for a single identity.
 */
export function joinedIdentities(
  identity: Identity,
  known: Pick<ReadonlySet<string>, 'has'>,
): readonly string[] | null {
  if (!identity.subject.includes(' ')) return null;
  const parts = formatIdentity(identity).split(/ +(?=([a-z0-9][a-z0-9._-]{0,127}):)/u);
  // Every other part is the name of a provider that follows.
  const texts = [parts[0] ?? ''];
  for (let i = 1; i < parts.length; i += 2) {
    const [name = '', text = ''] = [parts[i], parts[i + 1]];
    if (isProviderOf(known, name)) texts.push(text);
    else texts.push(`${texts.pop() ?? ''} ${text}`);
  }
  return texts.length < 2 ? null : texts.map((text) => text.replace(/[\s,;]+$/u, ''));
}

export function subjectFault(subject: string): IdentityFault | null {
  if (subject === '') return 'subject_empty';
  if (CONTROL.test(subject) || !subject.isWellFormed()) return 'subject_control';
  if (subject.trim() !== subject) return 'subject_space';
  if (subject.normalize('NFC') !== subject) return 'not_nfc';
  return utf8Length(subject) > SUBJECT_BYTES ? 'subject_too_long' : null;
}

/** An identity made from its parts, or what is wrong with them. */
export function makeIdentity(provider: string, subject: string): IdentityResult {
  if (!isName(provider)) return { ok: false, fault: 'provider' };
  const fault = subjectFault(subject);
  return fault === null ? { ok: true, identity: { provider, subject } } : { ok: false, fault };
}

/** Text form `provider:subject`, split at the first colon. */
export function parseIdentity(text: string): IdentityResult {
  const cut = text.indexOf(':');
  return cut < 0 ? { ok: false, fault: 'no_colon' } : makeIdentity(text.slice(0, cut), text.slice(cut + 1));
}

export function formatIdentity(identity: Identity): string {
  return `${identity.provider}:${identity.subject}`;
}

/** The number of bytes of the text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}
