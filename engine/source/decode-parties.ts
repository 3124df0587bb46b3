// Whose rights a guardrail is about: `to` and `except`. A list that names nobody is refused in `to`: the rule would hold of
// nothing, and look like one that guards.
import type { ExemptionDeclaration, IdentityReference, PartiesDeclaration, RoleReference } from '../model/document.js';
import type { Located } from '../model/span.js';
import { refuse, type FileContext } from './context.js';
import { readRoleReference } from './decode-roles.js';
import {
  isNull,
  isRepeated,
  readFields,
  readList,
  readText,
  refuseNull,
  refuseRepeated,
  type Fields,
} from './fields.js';
import { EXCEPT, type MappingShape, TO } from './shapes.js';
import type { Entry, Node } from './tree.js';
import { readIdentities } from './values.js';

/** What a rule says that has neither. */
export const EVERYONE = { to: 'everyone', except: { roles: [], identities: [] } } as const satisfies PartiesDeclaration;

export function readParties(context: FileContext, fields: Fields | null): PartiesDeclaration {
  return { to: readAudience(context, fields?.get('to')), except: readExemption(context, fields?.get('except')) };
}

const TO_SOMEBODY = 'name `providers`, `roles` or `identities`, or remove it';

/** `{ providers, roles, identities }`, not empty; null if none of it could be read. */
function readAudience(context: FileContext, entry: Entry | undefined): PartiesDeclaration['to'] {
  if (entry === undefined) return EVERYONE.to;
  const fields = readWho(context, entry.value, { shape: TO, empty: '`to` names nobody', instead: TO_SOMEBODY });
  if (fields === null) return null;
  const [providers, roles, identities] = [fields.get('providers'), fields.get('roles'), fields.get('identities')];
  return {
    providers: providers === undefined ? [] : (readProviders(context, providers.value, TO_SOMEBODY) ?? []),
    roles: roles === undefined || isEmptyList(context, roles) ? [] : readRoles(context, roles.value),
    identities: identities === undefined || isEmptyList(context, identities) ? [] : readWhom(context, identities.value),
  };
}

const EXCEPT_SOMEBODY = 'name `roles` or `identities`, or remove it';

/** `{ roles, identities }`, not empty; nobody where it is left out, null if none of it could be read. */
function readExemption(context: FileContext, entry: Entry | undefined): ExemptionDeclaration | null {
  if (entry === undefined) return EVERYONE.except;
  const words = { shape: EXCEPT, empty: '`except` leaves out nobody', instead: EXCEPT_SOMEBODY };
  const fields = readWho(context, entry.value, words);
  if (fields === null) return null;
  const [roles, identities] = [fields.get('roles'), fields.get('identities')];
  return {
    roles: roles === undefined ? [] : readRoles(context, roles.value),
    identities: identities === undefined ? [] : readWhom(context, identities.value),
  };
}

function readWho(
  context: FileContext,
  node: Node,
  { shape, empty, instead }: { readonly shape: MappingShape; readonly empty: string; readonly instead: string },
): Fields | null {
  if (isNull(node)) return refuseNull(context, node, { what: shape.what, instead });
  const fields = readFields(context, node, shape);
  const saysNothing = node.kind === 'mapping' && node.entries.length === 0;
  return saysNothing ? refuse(context, 'VALUE_EMPTY', { at: node, message: empty, help: instead }) : fields;
}

function isEmptyList(context: FileContext, { key, value }: Entry): boolean {
  const isEmpty = value.kind === 'list' && value.items.length === 0;
  if (isEmpty)
    refuse(context, 'VALUE_EMPTY', {
      at: value,
      message: `\`${key.text}\` is an empty list`,
      help: 'name at least one, or remove it',
    });
  return isEmpty;
}

function readRoles(context: FileContext, node: Node): readonly RoleReference[] {
  const items = readList(context, node, '`roles`') ?? [];
  const seen = new Map<string, { text: string; start: number; end: number }>();
  const roles = items.map((item) => readRoleReference(context, item)).filter((role) => role !== null);
  return roles.filter((role) => !isRepeated(context, { text: role.value, start: role.start, end: role.end }, seen));
}

function readWhom(context: FileContext, node: Node): readonly IdentityReference[] {
  return readIdentities(context, node, '`identities`') ?? [];
}

/** At least one provider; `instead` says what to do where none is named. */
export function readProviders(context: FileContext, node: Node, instead: string): readonly Located<string>[] | null {
  if (isNull(node)) return refuseNull(context, node, { what: '`providers`', instead: 'name at least one provider' });
  const items = readList(context, node, '`providers`');
  if (items === null) return null;
  if (items.length === 0)
    return refuse(context, 'VALUE_EMPTY', { at: node, message: '`providers` is an empty list', help: instead });
  const texts = items.map((item) => readText(context, item, 'a provider')).filter((text) => text !== null);
  return refuseRepeated(context, texts).map(({ text, start, end }) => ({ value: text, start, end }));
}
