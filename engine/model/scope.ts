// Scopes and the ten of the record families: five families times read and write. Write never implies read (docs/meaning.md
// "Families and scopes"). A policy may declare families and scopes of its own beside them (vocabulary.ts).
import { isName } from './identity.js';

declare const brand: unique symbol;

/** The families of records. */
export const FAMILIES = Object.freeze([
  'namespace',
  'resource-template',
  'resource',
  'process-template',
  'process-run',
] as const);

export type Family = (typeof FAMILIES)[number];
export type Action = 'read' | 'write';
export type RecordScope = `${Family}:${Action}`;
/** A scope of a family that some policy declares. Whether a given policy does is for its vocabulary to say. */
export type OwnScope = `${string}:${string}` & { readonly [brand]: 'OwnScope' };
export type ScopeName = RecordScope | OwnScope;

/** The scopes of the record families: those of every policy. */
export const SCOPES: readonly RecordScope[] = Object.freeze(
  FAMILIES.flatMap((family): RecordScope[] => [`${family}:read`, `${family}:write`]),
);

const RECORD_SCOPES: ReadonlySet<string> = new Set(SCOPES);
const FAMILY_NAMES: ReadonlySet<string> = new Set(FAMILIES);

export function isFamily(text: unknown): text is Family {
  return typeof text === 'string' && FAMILY_NAMES.has(text);
}

/** Whether it is one of the ten. */
export function isRecordScope(text: unknown): text is RecordScope {
  return typeof text === 'string' && RECORD_SCOPES.has(text);
}

/** Whether it is one of the ten, or could be a scope of a family that a policy declares. */
export function isScopeName(text: unknown): text is ScopeName {
  return isRecordScope(text) || isOwnScope(text);
}

export function isOwnScope(text: unknown): text is OwnScope {
  if (typeof text !== 'string') return false;
  const cut = text.indexOf(':');
  const family = text.slice(0, Math.max(cut, 0));
  return isName(family) && !FAMILY_NAMES.has(family) && isName(text.slice(cut + 1));
}

const NAME = '[a-z0-9][a-z0-9._-]{0,127}';
/** What `isScopeName` accepts, as a pattern for schemas. */
export const SCOPE_PATTERN = `^(?:(?:${FAMILIES.join('|')}):(?:read|write)|(?!(?:${FAMILIES.join('|')}):)${NAME}:${NAME})$`;

/** The family of a scope. */
export function familyOf(scope: ScopeName): string {
  return scope.slice(0, scope.indexOf(':'));
}

/** The scope of an action on a family. */
export function scopeOf(family: string, action: string): string {
  return `${family}:${action}`;
}

/**
 * Whether what may be read at a namespace can also be seen from the namespaces below: everything that is read, except process
 * runs (docs/meaning.md "Relations").
 */
export function readsFromBelow(scope: string): boolean {
  return scope.endsWith(':read') && scope !== 'process-run:read';
}
