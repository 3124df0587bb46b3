// Families and actions for what rules of Kubernetes name. A policy has few scopes, so verbs that no rule tells apart are one action: `read`
// for those that read, `write` for those that change. What a `*` stands for beside everything that is named is called `other`.
import type { ImportedFamily } from '../imported-policy.js';
import { areFewScopes, requireFewScopes } from '../make-actions.js';
import { makeNames } from '../make-names.js';
import { valueIn } from '../value-in.js';
import type { RbacRequest } from './authorize.js';
import type { RbacRule } from './read-objects.js';

const OTHER = 'other';
const READING = ['get', 'list', 'watch'];
const CHANGING = ['update', 'create', 'patch', 'delete', 'deletecollection'];

export interface RbacWords {
  readonly families: readonly ImportedFamily[];
  /** Every request that some rule names and some rule allows, with the scope that stands for it. */
  readonly requests: readonly (RbacRequest & { readonly scope: string })[];
  readonly scopesOf: (rule: RbacRule) => readonly string[];
}

interface Kind {
  readonly apiGroup: string;
  readonly resource: string;
  /** For each verb that some rule allows, the rules that do. */
  readonly verbs: ReadonlyMap<string, readonly number[]>;
}

/** Throws `ForeignFault` if the rules need more scopes than a policy has. */
export function makeRbacWords(rules: readonly RbacRule[]): RbacWords {
  const kinds = kindsOf(rules);
  const fine = declare(kinds.map((kind) => [kind]));
  const declared = areFewScopes(fine.families) ? fine : declare(alike(kinds));
  requireFewScopes(declared.families);
  const byRule = new Map<number, Set<string>>();
  for (const { scope, rules: carrying } of declared.requests)
    for (const at of carrying) byRule.set(at, (byRule.get(at) ?? new Set()).add(scope));
  const index = new Map(rules.map((rule, at) => [rule, at]));
  return {
    families: declared.families,
    requests: declared.requests,
    scopesOf: (rule) => [...(byRule.get(index.get(rule) ?? -1) ?? [])],
  };
}

/** Every pair of group and resource that a rule names, with what rules allow on it. */
function kindsOf(rules: readonly RbacRule[]): readonly Kind[] {
  const named = (text: string): string => text.replace('*', OTHER);
  const verbs = [...new Set(rules.flatMap((rule) => rule.verbs.map(named)))].sort(byCustom);
  const pairs = new Map(
    rules.flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) =>
        resources.map((name) => {
          const pair = { apiGroup: named(group), resource: named(name) };
          return [JSON.stringify(pair), pair] as const;
        }),
      ),
    ),
  );
  const rulesOf = new Map<string, Set<number>>();
  for (const [at, { resources }] of rules.entries())
    for (const name of resources) valueIn(rulesOf, name, () => new Set()).add(at);
  return [...pairs.values()]
    .map(({ apiGroup, resource }) => ({
      apiGroup,
      resource,
      verbs: coveredVerbs(rules, rulesOf, { apiGroup, resource, verbs }),
    }))
    .filter((kind) => kind.verbs.size > 0);
}

/** `rulesOf`: the places of the rules that name a resource. */
function coveredVerbs(
  rules: readonly RbacRule[],
  rulesOf: ReadonlyMap<string, ReadonlySet<number>>,
  {
    apiGroup,
    resource,
    verbs,
  }: { readonly apiGroup: string; readonly resource: string; readonly verbs: readonly string[] },
): ReadonlyMap<string, readonly number[]> {
  const [, sub] = resource.split('/');
  const spellings = ['*', resource, ...(sub === undefined ? [] : [`*/${sub}`])];
  const naming = new Set(spellings.flatMap((name) => [...(rulesOf.get(name) ?? [])]));
  const covering = [...naming]
    .sort((a, b) => a - b)
    .flatMap((at) => rules.slice(at, at + 1).map((rule) => [at, rule] as const))
    .filter(
      ([, rule]) =>
        rule.resourceNames.length === 0 && rule.apiGroups.some((group) => group === '*' || group === apiGroup),
    );
  return new Map(
    verbs
      .map((verb) => {
        const carrying = covering.filter(([, rule]) => rule.verbs.some((name) => name === '*' || name === verb));
        return [verb, carrying.map(([at]) => at)] as const;
      })
      .filter(([, carrying]) => carrying.length > 0),
  );
}

/** Resources that no rule tells apart, together. */
function alike(kinds: readonly Kind[]): readonly (readonly Kind[])[] {
  const groups = new Map<string, Kind[]>();
  for (const kind of kinds) {
    const key = JSON.stringify([...kind.verbs]);
    groups.set(key, [...(groups.get(key) ?? []), kind]);
  }
  return [...groups.values()];
}

interface Declared {
  readonly families: readonly ImportedFamily[];
  readonly requests: readonly (RbacRequest & { readonly scope: string; readonly rules: readonly number[] })[];
}

function declare(groups: readonly (readonly Kind[])[]): Declared {
  const names = makeNames(['namespace', 'resource-template', 'resource', 'process-template', 'process-run']);
  const families: ImportedFamily[] = [];
  const requests: Declared['requests'][number][] = [];
  for (const group of groups) {
    const [first] = group;
    if (first === undefined) continue;
    const name = names.of(JSON.stringify([first.apiGroup, first.resource]), familyName(first));
    const classes = actionsOf(first.verbs);
    const actions = classes.map(({ action }) => action).filter((action) => action !== 'read' && action !== 'write');
    const what = group.map(titleOf);
    const how = classes.map(({ action, verbs }) => `${action} is ${verbs.join(', ')}`);
    families.push({ name, description: `${what.join(', ')}: ${how.join('; ')}`, actions });
    for (const { apiGroup, resource } of group)
      for (const { action, verbs, rules } of classes)
        for (const verb of verbs) requests.push({ apiGroup, resource, verb, scope: `${name}:${action}`, rules });
  }
  return { families, requests };
}

function titleOf({ apiGroup, resource }: Kind): string {
  if (resource === OTHER)
    return apiGroup === OTHER ? 'all that no rule names' : `all of ${apiGroup} that no rule names`;
  return apiGroup === '' ? resource : `${resource}.${apiGroup}`;
}

function familyName({ apiGroup, resource }: Kind): string {
  const name = resource === OTHER ? 'other-resources' : resource.replace('/', '.');
  return apiGroup === '' || apiGroup === OTHER ? name : `${name}.${apiGroup}`;
}

interface VerbClass {
  readonly action: string;
  readonly verbs: readonly string[];
  readonly rules: readonly number[];
}

function actionsOf(verbs: Kind['verbs']): readonly VerbClass[] {
  const classes = new Map<string, { readonly verbs: string[]; readonly rules: readonly number[] }>();
  for (const [verb, rules] of verbs) {
    const key = JSON.stringify([READING.includes(verb), rules]);
    const found = classes.get(key);
    if (found === undefined) classes.set(key, { verbs: [verb], rules });
    else found.verbs.push(verb);
  }
  const names = makeNames(['read', 'write']);
  const firstOf = (wanted: readonly string[]): string | undefined => wanted.find((verb) => verbs.has(verb));
  const [reading, changing] = [firstOf(READING), firstOf(CHANGING)];
  return [...classes.values()].map((one) => ({
    ...one,
    action:
      reading !== undefined && one.verbs.includes(reading)
        ? 'read'
        : changing !== undefined && one.verbs.includes(changing)
          ? 'write'
          : names.of(one.verbs.join('-')),
  }));
}

/** Verbs in the order in which people list them. */
function byCustom(a: string, b: string): number {
  const order = [...READING, ...CHANGING];
  const rank = (verb: string): number => (order.includes(verb) ? order.indexOf(verb) : order.length);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}
