// A policy in the language of Cedar: a permit for each grant, the roles and namespaces as entities, and a schema that both are valid
// under. They decide as `decide` does for an access at the record's own namespace (docs/exporting.md).
import type { GrantRow, PolicyRows, PrincipalRow } from '../../engine/compiler.js';
import { type Exported, listed } from './exported.js';

/** The namespace of Cedar that all names are in. */
const OWN = 'Bailiwick';

export const CEDAR_UNSAID: readonly string[] = [
  'What a canonical path is: a namespace that is not one must be refused before Cedar decides.',
  'Namespaces that no grant names: a request brings the one that it asks about, and those above it, as entities.',
  'Several identities of one actor: a request brings an entity `Actor` whose parents are its identities.',
  'A wrong request: Cedar skips a `forbid` that ends in an error, so validate each request against the schema.',
  'The instant: `context.now` must be the time of the request.',
  'What somebody may see: Cedar answers for one namespace, never with a list of them.',
  'Guardrails, tests, people and delegation: these are checked when the policy is compiled.',
];

export function cedarPolicies(rows: PolicyRows, { about }: { readonly about: string }): Exported {
  return {
    files: new Map<string, Iterable<string>>([
      ['policies.cedar', policiesOf(rows, about)],
      ['entities.json', entitiesOf(rows)],
      ['schema.cedarschema', [schemaOf(rows)]],
    ]),
    unsaid: CEDAR_UNSAID,
  };
}

function* policiesOf({ principals, grants, scopes, exclusive }: PolicyRows, about: string): Generator<string> {
  yield `// ${about}\n//\n// It does not say:\n${CEDAR_UNSAID.map((line) => `// - ${line}\n`).join('')}`;
  const seen = new Map<string, number>();
  for (const grant of grants) {
    const holder = principals[grant.principal];
    if (holder === undefined || grant.from >= grant.until || grant.scopes.length === 0) continue;
    const times = (seen.get(grant.id) ?? 0) + 1;
    seen.set(grant.id, times);
    yield permit(times === 1 ? grant.id : `${grant.id}#${String(times)}`, holder, grant);
  }
  yield `
@id("#restrictions")
forbid (principal, action, resource)
when { context has restrictions && !(resource in context.restrictions) };
`;
  for (const scope of scopes)
    yield `
@id(${quoted(`#scopes ${scope}`)})
forbid (principal, action == ${uid('Action', scope)}, resource)
when { context has scopes && !context.scopes.contains(${quoted(scope)}) };
`;
  for (const [i, [first, second]] of exclusive.entries())
    yield `
@id(${quoted(`#exclusive ${String(i + 1)}`)})
forbid (principal in ${uid('Identity', first)}, action, resource)
when { principal in ${uid('Identity', second)} };
`;
}

function permit(id: string, holder: PrincipalRow, { namespace, inherit, scopes, from, until }: GrantRow): string {
  const conditions = [
    ...(Number.isFinite(from) ? [`context.now >= datetime("${instant(from)}")`] : []),
    ...(Number.isFinite(until) ? [`context.now < datetime("${instant(until)}")`] : []),
  ];
  const when = conditions.length === 0 ? '' : `\nwhen { ${conditions.join(' && ')} }`;
  const actions = scopes.map((scope) => uid('Action', scope)).join(', ');
  return `
@id(${quoted(id)})
permit (
  principal in ${uid(typeOf(holder), holder.name)},
  action in [${actions}],
  resource ${inherit ? 'in' : '=='} ${uid('Namespace', namespace)}
)${when};
`;
}

function* entitiesOf(rows: PolicyRows): Generator<string> {
  yield* listed('[', entityLines(rows), ']\n');
}

function* entityLines({ principals, members, grants }: PolicyRows): Generator<string> {
  const roles = principals.map((): PrincipalRow[] => []);
  for (const [role, member] of members) {
    const named = principals[role];
    if (named !== undefined) roles[member]?.push(named);
  }
  for (const [row, one] of principals.entries())
    yield entity(
      typeOf(one),
      one.name,
      (roles[row] ?? []).map(({ name }) => ['Role', name]),
    );
  const namespaces = new Set<string>(['/']);
  for (const { namespace } of grants)
    for (let path: string = namespace; path !== '/'; path = above(path)) namespaces.add(path);
  for (const path of namespaces) yield entity('Namespace', path, path === '/' ? [] : [['Namespace', above(path)]]);
}

function entity(type: string, id: string, parents: readonly (readonly [string, string])[]): string {
  const name = ([kind, text]: readonly [string, string]): object => ({ type: `${OWN}::${kind}`, id: text });
  return JSON.stringify({ uid: name([type, id]), attrs: {}, parents: parents.map(name) });
}

function above(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

function schemaOf({ scopes }: PolicyRows): string {
  return `namespace ${OWN} {
  entity Role in [Role];
  entity Identity in [Role];
  entity Actor in [Identity];
  entity Namespace in [Namespace];
  type Request = { now: datetime, scopes?: Set<String>, restrictions?: Set<Namespace> };
  action ${scopes.map(quoted).join(', ')}
    appliesTo { principal: [Actor, Identity], resource: [Namespace], context: Request };
}
`;
}

function typeOf({ kind }: PrincipalRow): string {
  return kind === 'role' ? 'Role' : 'Identity';
}

function uid(type: string, id: string): string {
  return `${OWN}::${type}::${quoted(id)}`;
}

/** Names have no control characters, so these two are all that ends a string or means something in it. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
