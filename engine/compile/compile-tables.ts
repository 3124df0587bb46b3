// A linked policy to decision tables: number everything in its sorted order, so that the result depends on what the
// policy says and never on the order in which it was said (design 4). Guardrails and tests stay behind: they are
// checked before anything is compiled into a file.
import type { Identity } from '../model/identity.js';
import { windowOf } from '../model/instant.js';
import { invariant } from '../model/invariant.js';
import { compareTexts } from '../model/order.js';
import type { Place, PolicyMember, PolicyRole, PolicySet, Principal } from '../model/policy-set.js';
import type { GrantColumns, IdentityColumns, MemberColumns, PolicyTables, RoleColumns } from '../model/tables.js';
import { compileNamespaces } from './namespaces.js';

interface Numbers {
  readonly file: (place: Place | null) => number;
  readonly principal: (principal: Principal) => number;
}

/** Total: linking has already refused whatever could not be compiled. */
export function compileTables(policy: PolicySet): PolicyTables {
  const providers = numberTexts(providerNames(policy));
  const files = numberTexts(placesOf(policy));
  const roles = [...policy.roles].sort((a, b) => compareTexts(a.name, b.name));
  const roleRows = new Map(roles.map((role, row) => [role.name, row]));
  invariant(roleRows.size === roles.length, 'role names are unique');
  const { identities, rowOf } = numberIdentities(policy, providers);
  const numbers: Numbers = {
    file: (place) => (place === null ? 0 : found(files.rows.get(place.file)) + 1),
    principal: (principal) =>
      principal.kind === 'role' ? found(roleRows.get(principal.role)) : roles.length + rowOf(principal.identity),
  };
  const namespaces = compileNamespaces(policy.grants.map((grant) => grant.namespace));
  return {
    name: policy.name,
    providers: providers.texts,
    files: files.texts,
    segments: namespaces.segments,
    identities,
    roles: roleColumns(roles, numbers),
    members: memberColumns(roles, numbers),
    namespaces: namespaces.columns,
    grants: grantColumns(policy, numbers, namespaces.rowOf),
  };
}

interface Numbered {
  readonly texts: readonly string[];
  readonly rows: ReadonlyMap<string, number>;
}

function numberTexts(texts: Iterable<string>): Numbered {
  const sorted = [...new Set(texts)].sort(compareTexts);
  return { texts: sorted, rows: new Map(sorted.map((text, row) => [text, row])) };
}

function found(row: number | undefined): number {
  invariant(row !== undefined, 'a policy set has no dangling reference');
  return row;
}

/** Declared providers, and those of identities where a set built in memory declares none. */
function* providerNames(policy: PolicySet): Iterable<string> {
  for (const provider of policy.providers) yield provider.name;
  for (const identity of namedIdentities(policy)) yield identity.provider;
}

function* namedIdentities(policy: PolicySet): Iterable<Identity> {
  for (const role of policy.roles) {
    for (const member of role.members) if (member.kind === 'identity') yield member.identity;
  }
  for (const grant of policy.grants) if (grant.principal.kind === 'identity') yield grant.principal.identity;
}

function* placesOf(policy: PolicySet): Iterable<string> {
  for (const role of policy.roles) {
    if (role.place !== null) yield role.place.file;
    for (const member of role.members) if (member.place !== null) yield member.place.file;
  }
  for (const grant of policy.grants) if (grant.place !== null) yield grant.place.file;
}

interface NumberedIdentities {
  readonly identities: IdentityColumns;
  readonly rowOf: (identity: Identity) => number;
}

function numberIdentities(policy: PolicySet, providers: Numbered): NumberedIdentities {
  const subjects = providers.texts.map(() => new Map<string, number>());
  const of = (identity: Identity): Map<string, number> => {
    const bySubject = subjects[found(providers.rows.get(identity.provider))];
    invariant(bySubject !== undefined, 'every provider has its subjects');
    return bySubject;
  };
  for (const identity of namedIdentities(policy)) of(identity).set(identity.subject, -1);
  const provider: number[] = [];
  const subject: string[] = [];
  subjects.forEach((bySubject, row) => {
    for (const text of [...bySubject.keys()].sort(compareTexts)) {
      bySubject.set(text, subject.length);
      provider.push(row);
      subject.push(text);
    }
  });
  return {
    identities: { provider: Int32Array.from(provider), subject },
    rowOf: (identity) => found(of(identity).get(identity.subject)),
  };
}

function roleColumns(roles: readonly PolicyRole[], numbers: Numbers): RoleColumns {
  return {
    name: roles.map((role) => role.name),
    file: Int32Array.from(roles, (role) => numbers.file(role.place)),
    line: Int32Array.from(roles, (role) => lineOf(role.place)),
  };
}

function memberColumns(roles: readonly PolicyRole[], numbers: Numbers): MemberColumns {
  const rows: { role: number; member: number; place: Place | null }[] = [];
  roles.forEach((role, row) => {
    const members = role.members.map((member) => ({
      role: row,
      member: numbers.principal(principalOf(member)),
      place: member.place,
    }));
    members.sort((a, b) => a.member - b.member);
    members.forEach((member, i) => {
      invariant(members[i - 1]?.member !== member.member, 'a role lists a member once');
      rows.push(member);
    });
  });
  return {
    role: Int32Array.from(rows, (row) => row.role),
    member: Int32Array.from(rows, (row) => row.member),
    file: Int32Array.from(rows, (row) => numbers.file(row.place)),
    line: Int32Array.from(rows, (row) => lineOf(row.place)),
  };
}

function principalOf(member: PolicyMember): Principal {
  return member.kind === 'role' ? { kind: 'role', role: member.role } : { kind: 'identity', identity: member.identity };
}

function grantColumns(policy: PolicySet, numbers: Numbers, namespaceRow: (path: string) => number): GrantColumns {
  const grants = [...policy.grants].sort((a, b) => compareTexts(a.id, b.id));
  grants.forEach((grant, row) => {
    invariant(grants[row - 1]?.id !== grant.id, 'grant ids are unique');
  });
  const windows = grants.map(windowOf);
  return {
    id: grants.map((grant) => grant.id),
    principal: Int32Array.from(grants, (grant) => numbers.principal(grant.principal)),
    namespace: Int32Array.from(grants, (grant) => namespaceRow(grant.namespace)),
    scopes: Uint16Array.from(grants, (grant) => grant.scopes),
    inherit: Uint8Array.from(grants, (grant) => (grant.inherit ? 1 : 0)),
    notBefore: Float64Array.from(windows, ({ from }) => from),
    expires: Float64Array.from(windows, ({ until }) => until),
    file: Int32Array.from(grants, (grant) => numbers.file(grant.place)),
    line: Int32Array.from(grants, (grant) => lineOf(grant.place)),
  };
}

function lineOf(place: Place | null): number {
  return place === null ? 0 : place.range.start.line;
}
