// One family with the actions of a source that has a single kind of thing, or one family for each kind.
import { ENGINE_LIMITS } from '../../engine/compiler.js';
import { SCOPES } from '../../engine/index.js';
import { ForeignFault, type ImportedFamily } from './imported-policy.js';
import { makeNames } from './make-names.js';

export interface Actions {
  /** Null if there are no actions. */
  readonly family: ImportedFamily | null;
  /** As the source calls them, each once. */
  readonly all: readonly string[];
  readonly scopeOf: (action: string) => string;
}

const COMMON = ['read', 'write'];
const MOST_SCOPES = ENGINE_LIMITS.scopes - SCOPES.length;

export function makeActions(family: string, actions: readonly string[]): Actions {
  const all = [...new Set(actions)];
  const names = makeNames(COMMON);
  const nameOf = (action: string): string => (COMMON.includes(action) ? action : names.of(action));
  const own = all.filter((action) => !COMMON.includes(action));
  const description = own.every((action) => nameOf(action) === action)
    ? `What the source calls ${family}`
    : `What the source calls ${family}: ${own.map((action) => `${nameOf(action)} is ${action}`).join('; ')}`;
  return {
    family: all.length === 0 ? null : { name: family, description, actions: own.map(nameOf) },
    all,
    scopeOf: (action) => `${family}:${nameOf(action)}`,
  };
}

/** Whether a policy has enough scopes for these families. */
export function areFewScopes(families: readonly ImportedFamily[]): boolean {
  return countScopes(families) <= MOST_SCOPES;
}

/** Throws `ForeignFault` if a policy has too few scopes for these families. */
export function requireFewScopes(families: readonly ImportedFamily[]): void {
  if (areFewScopes(families)) return;
  const many = `${String(countScopes(families))} scopes, and a policy has at most ${String(MOST_SCOPES)} of its own`;
  throw new ForeignFault(null, `the rules need ${many}: import fewer files at a time`);
}

function countScopes(families: readonly ImportedFamily[]): number {
  return families.reduce((sum, { actions }) => sum + COMMON.length + actions.length, 0);
}
