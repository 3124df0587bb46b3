// The values of the policy language: namespaces, identities, instants, durations (docs/language.md "Every key").
import { identityFaultText, pathFaultText } from '../diagnostics/fault-words.js';
import { formatIdentity, makeIdentity, parseIdentity, type IdentityFault } from '../model/identity.js';
import { parseInstant, type Instant } from '../model/instant.js';
import { canonicalize, type NamespacePath } from '../model/namespace.js';
import { nearest } from '../diagnostics/nearest.js';

import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import {
  distinct,
  filled,
  itemsOf,
  readBoolean,
  readFreeText,
  readName,
  readText,
  readWord,
  textsOf,
  type Reader,
} from './fields.js';
import type { IdentityReference } from '../model/document.js';
import { either, list, mapping, readMapping, shape, text, value, type Value } from './shape.js';
import { durationAdvice, instantAdvice } from './time-advice.js';
import type { Node, WrittenText } from './tree.js';

export const NAME = value(text('name'), readName);
export const BOOLEAN = value({ kind: 'boolean' }, readBoolean);
export const PROSE = value(
  text('free-text'),
  (context, node, what) => readFreeText(context, node, what)?.value ?? null,
);
export const DESCRIPTION = [PROSE, 'Free text for people.'] as const;

/** A namespace in its canonical form (docs/meaning.md "Namespaces"). A correction is suggested but never applied. */
export const NAMESPACE = value(text('namespace'), (context, node, what) => {
  const written = readWord(context, node, what);
  return written === null ? null : namespaceOf(context, written, what);
});

export function namespaceOf(context: FileContext, written: WrittenText, what: string): Located<NamespacePath> | null {
  const result = canonicalize(written.text);
  if (!result.ok) {
    const message = `${what} is not a namespace: ${pathFaultText(result.fault)}`;
    return refuse(context, 'NAMESPACE_INVALID', { at: written, message, help: namespaceHelp(written.text) });
  }
  if (result.path !== written.text) {
    const message = `${what} is not in its canonical form`;
    refuse(context, 'NAMESPACE_NOT_CANONICAL', { at: written, message, help: `write \`${result.path}\`` });
  }
  // What else is wrong with it, such as where it is, is so in its canonical form.
  return { value: result.path, start: written.start, end: written.end };
}

/** Suggests what may have been meant: without surrounding spaces, in lower case, with single slashes. */
function namespaceHelp(text: string): string {
  const plain = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s\\]+/g, '-');
  const near = canonicalize(plain.replaceAll(/\/+/g, '/').replace(/\/\*+$/, ''));
  if (near.ok && plain.endsWith('*')) return `write \`${near.path}\`: a grant covers everything below its namespace`;
  return near.ok ? `did you mean \`${near.path}\`?` : 'write a path such as `/labs/optics`, or `/` for the root';
}

const readDistinct = textsOf(undefined, readWord);

/** None twice. */
export const NAMESPACES = value(list(NAMESPACE), (context, node, what) => {
  const paths = readDistinct(context, node, what)?.map((one) => namespaceOf(context, one, `\`${one.text}\``));
  return paths?.filter((path) => path !== null).map(({ value }) => value) ?? null;
});

/** `provider:subject`. */
export const IDENTITY = value(text('identity'), readIdentity);

export function readIdentity(context: FileContext, node: Node, what: string): IdentityReference | null {
  const written = readWord(context, node, what);
  if (written === null) return null;
  const result = parseIdentity(written.text);
  if (result.ok) return { kind: 'identity', value: result.identity, start: written.start, end: written.end };
  return refuse(context, 'IDENTITY_INVALID', {
    at: written,
    message: `\`${written.text}\` is not an identity: ${identityFaultText(result.fault)}`,
    help: identityHelp(written.text, result.fault, what),
  });
}

/** How to name a role in places that take a role or an identity. */
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

const IDENTITY_PARTS = shape(
  'an identity',
  {
    provider: [NAME, 'A provider that `policy.yaml` declares.'],
    subject: [value(text('subject'), readText), 'As the provider calls it, case-sensitive.'],
  },
  { required: ['provider', 'subject'] },
);

/** A mapping of provider and subject, as in requests. */
function readIdentityParts(context: FileContext, node: Node): IdentityReference | null {
  const { provider = null, subject = null } = readMapping(context, node, IDENTITY_PARTS)?.values ?? {};
  if (provider === null || subject === null) return null;
  const result = makeIdentity(provider.value, subject.text);
  if (result.ok) return { kind: 'identity', value: result.identity, start: node.start, end: node.end };
  return refuse(context, 'IDENTITY_INVALID', {
    at: subject,
    message: `not an identity: ${identityFaultText(result.fault)}`,
    help: 'write the subject exactly as the provider gives it',
  });
}

const readEachIdentity = itemsOf<IdentityReference>((context, node, what) =>
  node.kind === 'mapping' ? readIdentityParts(context, node) : readIdentity(context, node, what),
);

const readIdentities: Reader<readonly IdentityReference[]> = (context, node, what) => {
  const identities = readEachIdentity(context, node, what);
  return identities === null ? null : distinct(context, identities, { textOf: ({ value }) => formatIdentity(value) });
};

const ONE_IDENTITY = either(IDENTITY, mapping(IDENTITY_PARTS));

/** None twice. */
export const IDENTITIES = value(list(ONE_IDENTITY), readIdentities);
/** A list that is not empty. `instead` tells the author what to do if it is. Editors ask for `least` identities. */
export function someIdentities(instead: string, least = 1): Value<readonly IdentityReference[]> {
  return value(list(ONE_IDENTITY, least), filled(readIdentities, { empty: instead }));
}

export const INSTANT = value(text('instant'), readInstant);

function readInstant(context: FileContext, node: Node, what: string): Instant | null {
  const written = readWord(context, node, what);
  const instant = written === null ? null : parseInstant(written.text);
  if (written === null || instant !== null) return instant;
  const { fault, help } = instantAdvice(written.text, what);
  return refuse(context, 'INSTANT_INVALID', { at: written, message: `${what} ${fault}`, help });
}

const DURATION_TEXT = /^([1-9][0-9]{0,8})([smhd])$/;
const UNIT_MILLISECONDS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** In milliseconds. */
export const DURATION = value(text('duration'), (context, node, what) => {
  const written = readWord(context, node, what);
  if (written === null) return null;
  const match = DURATION_TEXT.exec(written.text);
  const unit = UNIT_MILLISECONDS.get(match?.[2] ?? '');
  if (match !== null && unit !== undefined) return Number(match[1]) * unit;
  const { fault, help } = durationAdvice(written.text);
  return refuse(context, 'DURATION_INVALID', { at: written, message: `${what} ${fault}`, help });
});

/** Refuses a text without quotes that ends where the file ends: the file may have been cut off in the middle of the text. */
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

/** Help with the nearest of the allowed words. */
export function nearestHelp(text: string, words: Iterable<string>): string | undefined {
  const near = nearest(text, words);
  return near === null ? undefined : `did you mean \`${near}\`?`;
}
