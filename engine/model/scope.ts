// The ten scopes: five families times read and write, as one bit each. Write never implies read (docs/meaning.md "Families
// and scopes").

declare const brand: unique symbol;

export const FAMILIES = Object.freeze([
  'namespace',
  'resource-template',
  'resource',
  'process-template',
  'process-run',
] as const);

export type Family = (typeof FAMILIES)[number];
export type Action = 'read' | 'write';
export type ScopeName = `${Family}:${Action}`;

/** A set of scopes as bits, in the order of `SCOPES`. The empty set means none, never all. */
export type ScopeSet = number & { readonly [brand]: 'ScopeSet' };

export const SCOPES: readonly ScopeName[] = Object.freeze(
  FAMILIES.flatMap((family): ScopeName[] => [`${family}:read`, `${family}:write`]),
);

export const NO_SCOPES = 0 as ScopeSet;
export const ALL_SCOPES = ((1 << SCOPES.length) - 1) as ScopeSet;

const BITS: ReadonlyMap<string, ScopeSet> = new Map(SCOPES.map((name, index) => [name, (1 << index) as ScopeSet]));
const BY_CODE_POINT: readonly ScopeName[] = [...SCOPES].sort();
const FAMILY_NAMES: ReadonlySet<string> = new Set(FAMILIES);

export function isFamily(text: unknown): text is Family {
  return typeof text === 'string' && FAMILY_NAMES.has(text);
}

export function isScopeName(text: unknown): text is ScopeName {
  return typeof text === 'string' && BITS.has(text);
}

/** The set of one scope. */
export function scopeBit(name: ScopeName): ScopeSet {
  return BITS.get(name) ?? NO_SCOPES;
}

/** A key made from the length and the first letter. No two scopes share one. */
function keyOf(text: string): number {
  return (text.length << 2) | ((text.charCodeAt(0) >> 1) & 3);
}

const BY_KEY: (ScopeName | undefined)[] = [];
for (const name of SCOPES) BY_KEY[keyOf(name)] = name;
const BIT_BY_KEY = BY_KEY.map((name) => (name === undefined ? NO_SCOPES : scopeBit(name)));

/**
 * The set of the scope that the text names; empty if it names none. It takes a single comparison, because this runs for
 * every decision. Throws if a caller without types passes something other than a string.
 */
export function scopeBitOf(text: string): ScopeSet {
  if (typeof text !== 'string') throw new TypeError('a scope must be a string');
  const key = keyOf(text);
  return BY_KEY[key] === text ? (BIT_BY_KEY[key] ?? NO_SCOPES) : NO_SCOPES;
}

/**
 * What can also be seen from the namespaces below: everything that can be read except process runs (docs/meaning.md
 * "Relations").
 */
export const READS_FROM_BELOW: ScopeSet = scopeSetOf(
  SCOPES.filter((name) => name.endsWith(':read') && name !== 'process-run:read'),
);

export function scopeSetOf(names: Iterable<ScopeName>): ScopeSet {
  let set = 0;
  for (const name of names) set |= scopeBit(name);
  return set as ScopeSet;
}

/**
 * The names in the order of code points, as all lists of this kind are shown. The bits are in the order of `SCOPES`.
 */
export function scopeNames(set: number): readonly ScopeName[] {
  return BY_CODE_POINT.filter((name) => (set & scopeBit(name)) !== 0);
}

export function unionScopes(a: ScopeSet, b: ScopeSet): ScopeSet {
  return (a | b) as ScopeSet;
}

export function hasScope(set: ScopeSet, name: ScopeName): boolean {
  return (set & scopeBit(name)) !== 0;
}

/**
 * `<family>:*`, `*:read`, `*:write` or a scope name: the only patterns (docs/language.md "Scope patterns"). Null for
 * anything else.
 */
export function parseScopePattern(text: string): ScopeSet | null {
  const exact = BITS.get(text);
  if (exact !== undefined) return exact;
  const matches = SCOPES.filter((name) => {
    const cut = name.indexOf(':');
    return text === `${name.slice(0, cut)}:*` || text === `*:${name.slice(cut + 1)}`;
  });
  return matches.length === 0 ? null : scopeSetOf(matches);
}

/** The fewest patterns that mean this set, in the form that an author would write and `parseScopePattern` reads. */
export function scopePatterns(set: ScopeSet): readonly string[] {
  const isWhole = (pattern: string): boolean => {
    const all = parseScopePattern(pattern) ?? NO_SCOPES;
    return (set & all) === all;
  };
  const actions = ['*:read', '*:write'].filter(isWhole);
  const rest = scopeNames(set).filter((name) => !actions.includes(`*${name.slice(name.indexOf(':'))}`));
  const families = rest.map((name) => {
    const family = `${name.slice(0, name.indexOf(':'))}:*`;
    return actions.length === 0 && isWhole(family) ? family : name;
  });
  return [...actions, ...new Set(families)];
}
