// Whose rights a guardrail is about: `to` and `except`. An empty list in `to` is refused: the rule would apply to nobody, and still look
// like one that guards something.
import type {
  AudienceDeclaration,
  ExemptionDeclaration,
  PartiesDeclaration,
  RoleReference,
} from '../model/document.js';
import type { Located } from '../model/span.js';
import { refuse } from './context.js';
import { distinct, filled, isNull, itemsOf, refuseNull, textsOf, type Reader } from './fields.js';
import { ROLE_REFERENCE } from './decode-roles.js';
import { list, mapping, readMapping, shape, text, value, type MappingShape, type Value } from './shape.js';
import { IDENTITIES, someIdentities } from './values.js';

const readTexts = textsOf('a provider');

/** A list of at least one provider. `instead` tells the author what to do if it is empty. */
export function someProviders(instead: string): Value<readonly Located<string>[]> {
  const read: Reader<readonly Located<string>[]> = (context, node, what) =>
    readTexts(context, node, what)?.map(({ text: name, start, end }) => ({ value: name, start, end })) ?? null;
  const words = { empty: instead, none: 'name at least one provider' };
  return value(list(text('reference'), 1), filled(read, words));
}

const readReferences = itemsOf(ROLE_REFERENCE.read);

const readRoles: Reader<readonly RoleReference[]> = (context, node, what) =>
  distinct(context, readReferences(context, node, what) ?? [], { textOf: ({ value: name }) => name });

const ABOUT_ROLES = 'Members of these roles, nested ones too.';
const ONE_OR_NO_KEY = 'name at least one, or remove it';
const TO_SOMEBODY = 'name `providers`, `roles` or `identities`, or remove it';

const TO = shape(
  '`to`',
  {
    providers: [someProviders(TO_SOMEBODY), 'Everyone who signs in there, and the groups that the provider claims.'],
    roles: [value(list(text('reference'), 1), filled(readRoles, { empty: ONE_OR_NO_KEY })), ABOUT_ROLES],
    identities: [someIdentities(ONE_OR_NO_KEY), 'These identities.'],
  },
  { notEmpty: true },
);

const EXCEPT = shape(
  '`except`',
  { roles: [value(list(text('reference')), readRoles), ABOUT_ROLES], identities: [IDENTITIES, 'These identities.'] },
  { notEmpty: true },
);

/** A mapping that must name somebody. */
function naming<T>(
  of: MappingShape,
  read: Reader<T>,
  words: { readonly empty: string; readonly instead: string },
): Value<T> {
  return value(mapping(of), (context, node, what) => {
    if (isNull(node)) return refuseNull(context, node, { what, instead: words.instead });
    const saysNothing = node.kind === 'mapping' && node.entries.length === 0;
    if (!saysNothing) return read(context, node, what);
    return refuse(context, 'VALUE_EMPTY', { at: node, message: words.empty, help: words.instead });
  });
}

const readAudience: Reader<AudienceDeclaration> = (context, node) => {
  const to = readMapping(context, node, TO)?.values;
  if (to === undefined) return null;
  return { providers: to.providers ?? [], roles: to.roles ?? [], identities: to.identities ?? [] };
};

const readExemption: Reader<ExemptionDeclaration> = (context, node) => {
  const except = readMapping(context, node, EXCEPT)?.values;
  return except === undefined ? null : { roles: except.roles ?? [], identities: except.identities ?? [] };
};

/** The keys that restrict whom a rule is about. */
export const PARTIES = {
  to: [
    naming(TO, readAudience, { empty: '`to` names nobody', instead: TO_SOMEBODY }),
    'Whom the rule is about. Without it, everyone.',
  ],
  except: [
    naming(EXCEPT, readExemption, {
      empty: '`except` leaves out nobody',
      instead: 'name `roles` or `identities`, or remove it',
    }),
    'Identities that do not count, whatever grant they use.',
  ],
} as const;

/** A rule without `to` and `except` is about everyone. */
export function partiesOf(rule: {
  readonly to?: AudienceDeclaration | null;
  readonly except?: ExemptionDeclaration | null;
}): PartiesDeclaration {
  const { to = 'everyone', except = { roles: [], identities: [] } } = rule;
  return { to, except };
}
