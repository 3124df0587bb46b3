// The values of the policy language: namespaces, identities, scopes and patterns, instants, durations (docs/language.md
// "Every key").
import { identityFaultText, pathFaultText } from '../diagnostics/fault-words.js';
import { formatIdentity, makeIdentity, parseIdentity, type Identity, type IdentityFault } from '../model/identity.js';
import { parseInstant, type Instant } from '../model/instant.js';
import { canonicalize, type NamespacePath } from '../model/namespace.js';
import { nearest } from '../diagnostics/nearest.js';
import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import { isRepeated, readFields, readList, readName, readText, refuseRepeated } from './fields.js';
import type { IdentityReference } from '../model/document.js';
import { IDENTITY_PARTS } from './shapes.js';
import type { Node } from './tree.js';

/** A namespace in its canonical form (docs/meaning.md "Namespaces"); the fix is offered, never applied. */
export function readNamespace(context: FileContext, node: Node, what: string): Located<NamespacePath> | null {
  const text = readText(context, node, what);
  return text === null ? null : namespaceOf(context, text, what);
}

/** The namespace that `text` is; it may be a part of a node. */
export function namespaceOf(
  context: FileContext,
  text: { readonly text: string; readonly start: number; readonly end: number },
  what: string,
): Located<NamespacePath> | null {
  const result = canonicalize(text.text);
  if (result.ok && result.path === text.text) return { value: result.path, start: text.start, end: text.end };
  if (result.ok) {
    const message = `${what} is not in its canonical form`;
    refuse(context, 'NAMESPACE_NOT_CANONICAL', { at: text, message, help: `write \`${result.path}\`` });
    // What else is wrong with it, such as where it is, is so in its canonical form.
    return { value: result.path, start: text.start, end: text.end };
  }
  return refuse(context, 'NAMESPACE_INVALID', {
    at: text,
    message: `${what} is not a namespace: ${pathFaultText(result.fault)}`,
    help: namespaceHelp(text.text),
  });
}

/** What was perhaps meant: without spaces, in lower case, with single slashes. */
function namespaceHelp(text: string): string {
  const plain = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s\\]+/g, '-');
  const near = canonicalize(plain.replaceAll(/\/+/g, '/').replace(/\/\*+$/, ''));
  if (near.ok && plain.endsWith('*')) return `write \`${near.path}\`: a grant covers everything below its namespace`;
  return near.ok ? `did you mean \`${near.path}\`?` : 'write a path such as `/labs/optics`, or `/` for the root';
}

/** A list of namespaces, none twice. */
export function readNamespaces(context: FileContext, node: Node, what: string): readonly NamespacePath[] | null {
  const items = readList(context, node, what);
  if (items === null) return null;
  const texts = items.map((item) => readText(context, item, `an entry of ${what}`)).filter((text) => text !== null);
  const paths = refuseRepeated(context, texts).map((text) => namespaceOf(context, text, `\`${text.text}\``));
  return paths.filter((path) => path !== null).map((path) => path.value);
}

/** `provider:subject`. */
export function readIdentity(context: FileContext, node: Node, what: string): IdentityReference | null {
  const text = readText(context, node, what);
  if (text === null) return null;
  const result = parseIdentity(text.text);
  if (result.ok) return { kind: 'identity', value: result.identity, start: text.start, end: text.end };
  return refuse(context, 'IDENTITY_INVALID', {
    at: text,
    message: `\`${text.text}\` is not an identity: ${identityFaultText(result.fault)}`,
    help: identityHelp(text.text, result.fault, what),
  });
}

/** How a role is named in the places that take one as well as an identity. */
const ROLE_INSTEAD: ReadonlyMap<string, string> = new Map([
  ['a member', '; to name a role, write `{ role: … }`'],
  ['`identity`', '; to name a role, write `role: …` in place of `identity`'],
]);

function identityHelp(text: string, fault: IdentityFault, what: string): string {
  if (fault === 'no_colon')
    return `write \`provider:subject\`${ROLE_INSTEAD.get(what) ?? '; a role is not possible here'}`;
  const near = parseIdentity(text.trim().replace(/^[^:]*/, (provider) => provider.trim().toLowerCase()));
  if (near.ok) return `did you mean \`${formatIdentity(near.identity)}\`?`;
  return 'write `provider:subject`, with a provider that `policy.yaml` declares';
}

/** A list of identities, each a text or, as in requests, a mapping of provider and subject; none twice. */
export function readIdentities(context: FileContext, node: Node, what: string): readonly IdentityReference[] | null {
  const items = readList(context, node, what);
  if (items === null) return null;
  const seen = new Map<string, { text: string; start: number; end: number }>();
  const identities: IdentityReference[] = [];
  for (const item of items) {
    const identity =
      item.kind === 'mapping' ? readIdentityParts(context, item) : readIdentity(context, item, `an entry of ${what}`);
    if (identity === null) continue;
    const text = formatIdentity(identity.value);
    if (!isRepeated(context, { text, start: identity.start, end: identity.end }, seen)) identities.push(identity);
  }
  return identities;
}

function readIdentityParts(context: FileContext, node: Node): IdentityReference | null {
  const fields = readFields(context, node, IDENTITY_PARTS);
  const [providerField, subjectField] = [fields?.get('provider'), fields?.get('subject')];
  const provider = providerField === undefined ? null : readName(context, providerField.value, '`provider`');
  const subject = subjectField === undefined ? null : readText(context, subjectField.value, '`subject`');
  if (provider === null || subject === null) return null;
  const result = makeIdentity(provider.value, subject.text);
  if (result.ok)
    return { kind: 'identity', value: result.identity satisfies Identity, start: node.start, end: node.end };
  return refuse(context, 'IDENTITY_INVALID', {
    at: subject,
    message: `not an identity: ${identityFaultText(result.fault)}`,
    help: 'write the subject exactly as the provider gives it',
  });
}

export function readInstant(context: FileContext, node: Node, what: string): Instant | null {
  const text = readText(context, node, what);
  if (text === null) return null;
  const instant = parseInstant(text.text);
  if (instant !== null) return instant;
  const help = instantHelp(text.text);
  return refuse(context, 'INSTANT_INVALID', { at: text, message: `${what} is not an instant`, help });
}

function instantHelp(text: string): string {
  const attempts = [
    `${text}T00:00:00Z`,
    `${text}Z`,
    `${text}:00Z`,
    text.toUpperCase(),
    text.replace(' ', 'T'),
    `${text.replace(' ', 'T')}Z`,
  ];
  const fitting = attempts.find((attempt) => parseInstant(attempt) !== null);
  return fitting === undefined ? 'write it as `2026-12-01T00:00:00Z`' : `did you mean \`${fitting}\`?`;
}

const DURATION = /^([1-9][0-9]{0,8})([smhd])$/;
const UNIT_MILLISECONDS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** In milliseconds. */
export function readDuration(context: FileContext, node: Node, what: string): number | null {
  if (node.kind === 'text' && /^[1-9][0-9]{0,8}$/.test(node.text))
    return refuse(context, 'DURATION_INVALID', {
      at: node,
      message: `${what} is not a duration: it has no unit`,
      help: `did you mean \`${node.text}d\`?`,
    });
  const text = readText(context, node, what);
  if (text === null) return null;
  const match = DURATION.exec(text.text);
  const unit = UNIT_MILLISECONDS.get(match?.[2] ?? '');
  if (match !== null && unit !== undefined) return Number(match[1]) * unit;
  return refuse(context, 'DURATION_INVALID', {
    at: text,
    message: `${what} is not a duration`,
    help: 'write it as `30s`, `15m`, `24h` or `90d`',
  });
}

/** Refuses a text that ends where the file does, without quotes: what was cut off may have made it another one. */
export function refuseCutOff(context: FileContext, node: Node): boolean {
  const cutOff = node.kind === 'text' && node.plain && node.text !== '' && node.end === context.text.length;
  if (cutOff)
    refuse(context, 'TEXT_CUT_OFF', {
      at: node,
      message: `the file ends within \`${node.text}\``,
      help: 'end the last line with a line break',
    });
  return cutOff;
}

/** What is nearest of the words that a place allows, as a help. */
export function nearestHelp(text: string, words: Iterable<string>): string | undefined {
  const near = nearest(text, words);
  return near === null ? undefined : `did you mean \`${near}\`?`;
}
