// The scopes that a policy knows: the ten, and those of the families that it declares. A family declares nothing about records:
// it is a word that an application asks about (docs/meaning.md "Families of your own").
import { compareTexts } from './order.js';
import { FAMILIES, familyOf, isScopeName, type OwnScope, type ScopeName, scopeOf, SCOPES } from './scope.js';
import { commonScopes, RECORD_SCOPE_SET, scopeBit, scopeNames, type ScopeSet, scopeSetOf } from './scope-set.js';

/** A family that a policy declares beside the five of records. */
export interface OwnFamily {
  readonly name: string;
  /** Beside `read` and `write`, which every family has. Sorted. */
  readonly actions: readonly string[];
  readonly description: string | null;
}

export interface Vocabulary {
  /** Sorted by name. */
  readonly families: readonly OwnFamily[];
  /** The scopes of these families, sorted. */
  readonly own: readonly OwnScope[];
  /** All scopes, sorted. */
  readonly scopes: readonly ScopeName[];
  /** The names of all families: the five in their order, then the others, sorted. */
  readonly familyNames: readonly string[];
  /** What may be written where a scope stands, with the scopes that it means. */
  readonly patterns: ReadonlyMap<string, ScopeSet>;
}

/** Actions that every family has. */
export const COMMON_ACTIONS: readonly string[] = Object.freeze(['read', 'write']);

export function makeVocabulary(declared: readonly OwnFamily[]): Vocabulary {
  const families = [...declared].sort((a, b) => compareTexts(a.name, b.name));
  const own = families.flatMap(scopesOfFamily).sort(compareTexts);
  const familyNames = [...FAMILIES, ...families.map(({ name }) => name)];
  const scopes = [...SCOPES, ...own].sort(compareTexts);
  const ofFamily = (family: string): ScopeSet => scopeSetOf(scopes.filter((scope) => familyOf(scope) === family));
  const ofAction = (action: string): ScopeSet => scopeSetOf(SCOPES.filter((scope) => scope.endsWith(`:${action}`)));
  const patterns = new Map<string, ScopeSet>([
    ...[...SCOPES, ...own].map((name): [string, ScopeSet] => [name, scopeBit(name)]),
    ...familyNames.map((family): [string, ScopeSet] => [`${family}:*`, ofFamily(family)]),
    // Those of records alone, so that a family which is declared later widens no grant.
    ...COMMON_ACTIONS.map((action): [string, ScopeSet] => [`*:${action}`, ofAction(action)]),
  ]);
  return { families, own, scopes, familyNames, patterns };
}

function scopesOfFamily({ name, actions }: OwnFamily): readonly OwnScope[] {
  return [...COMMON_ACTIONS, ...actions].map((action) => scopeOf(name, action) as OwnScope);
}

/** Families as `policy.yaml` states them, sorted. */
export function declaredFamilies(
  declared: readonly {
    readonly name: { readonly value: string };
    readonly actions: readonly string[] | null;
    readonly description: string | null;
  }[],
): readonly OwnFamily[] {
  return declared
    .map(({ name, actions, description }) => ({ name: name.value, actions: actions ?? [], description }))
    .sort((a, b) => compareTexts(a.name, b.name));
}

/** Of a policy without families of its own. */
export const RECORD_VOCABULARY: Vocabulary = makeVocabulary([]);

const made = new WeakMap<readonly OwnFamily[], Vocabulary>();

/** Of something that may declare families. */
export function vocabularyOf({ families }: { readonly families?: readonly OwnFamily[] | undefined }): Vocabulary {
  if (families === undefined || families.length === 0) return RECORD_VOCABULARY;
  let vocabulary = made.get(families);
  if (vocabulary === undefined) made.set(families, (vocabulary = makeVocabulary(families)));
  return vocabulary;
}

export function knowsScope({ patterns }: Vocabulary, text: string): text is ScopeName {
  return isScopeName(text) && patterns.has(text);
}

/**
 * `<family>:*`, `*:read`, `*:write` or a scope name: the only patterns (docs/language.md "Scope patterns"). Null for
 * anything else.
 */
export function parseScopePattern(text: string, { patterns } = RECORD_VOCABULARY): ScopeSet | null {
  return patterns.get(text) ?? null;
}

/** The fewest patterns that mean this set, in the form that an author would write and `parseScopePattern` reads. */
export function scopePatterns(set: ScopeSet, vocabulary = RECORD_VOCABULARY): readonly string[] {
  const isWhole = (pattern: string): boolean => {
    const all = parseScopePattern(pattern, vocabulary);
    return all !== null && commonScopes(set, all) === all;
  };
  const actions = ['*:read', '*:write'].filter(isWhole);
  const covered = scopeSetOf(
    actions.flatMap((action) => scopeNames(vocabulary.patterns.get(action) ?? RECORD_SCOPE_SET)),
  );
  const rest = scopeNames(set).filter((name) => commonScopes(covered, scopeBit(name)) === 0);
  const families = rest.map((name) => {
    const family = `${familyOf(name)}:*`;
    return (actions.length === 0 || !(FAMILIES as readonly string[]).includes(familyOf(name))) && isWhole(family)
      ? family
      : name;
  });
  return [...actions, ...new Set(families)];
}

declare const all: unique symbol;

/** Of a credential that is not narrowed: every scope that the policy knows, whichever policy that is. */
export type AllScopes = '*' & { readonly [all]: 'AllScopes' };

export const ALL_SCOPES = '*' as AllScopes;

/** What a credential carries. A scope that a policy does not know opens nothing there. */
export type CarriedScopes = ScopeSet | AllScopes;

export function carriesAll(carried: CarriedScopes): carried is AllScopes {
  return carried === ALL_SCOPES;
}

/** The names of what a credential carries under a policy, sorted. */
export function carriedNames(carried: CarriedScopes, { scopes }: Pick<Vocabulary, 'scopes'>): readonly ScopeName[] {
  if (carriesAll(carried)) return scopes;
  const known = new Set(scopes);
  return scopeNames(carried).filter((name) => known.has(name));
}

/** What both carry. */
export function carriedByBoth(a: CarriedScopes, b: CarriedScopes): CarriedScopes {
  if (carriesAll(a)) return b;
  return carriesAll(b) ? a : commonScopes(a, b);
}

export function carriesScope(carried: CarriedScopes, scope: ScopeName): boolean {
  return carriesAll(carried) || commonScopes(carried, scopeBit(scope)) !== 0;
}
