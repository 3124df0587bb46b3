// Turns a linked policy into decision tables. Everything is numbered in sorted order, so the result depends only on what the policy
// says and not on the order of its entries. Guardrails and tests are left out: they are checked before a file is compiled. No strings
// are compared after this step: everything later works with row numbers.
import { ENGINE_LIMITS } from '../limits.js';
import { rememberLast } from '../model/group.js';
import { groupHolders, type HolderClasses } from '../model/holders.js';
import type { Identity } from '../model/identity.js';
import { windowOf } from '../model/instant.js';
import { pairRows } from '../model/exclusions.js';
import { invariant } from '../model/invariant.js';
import { narrowMembers } from '../model/narrow-members.js';
import type { Place, PolicySet } from '../model/policy-set.js';
import { lineOf } from '../model/span.js';
import { makeScopeColumn, NO_SCOPES, type ScopeSet } from '../model/scope-set.js';
import {
  type GrantColumns,
  type IdentityColumns,
  type MemberColumns,
  type PolicyTables,
  type RoleColumns,
  statedTables,
  type TextColumn,
  windowColumns,
} from '../model/tables.js';
import { vocabularyOf } from '../model/vocabulary.js';
import { type CompiledNamespaces, compileNamespaces } from './namespaces.js';
import { makeIdentityNumbers, makeTextNumbers } from './number-texts.js';

/** The tables of a policy, and the row of each of its roles and grants by position in the policy. */
export interface CompiledTables {
  readonly tables: PolicyTables;
  readonly roleRows: Int32Array;
  readonly grantRows: Int32Array;
  /** Whether there would be more grants than the limit, narrowed for members with a window. */
  readonly isTooLarge: boolean;
  /** Principals of the members of all roles, role after role. */
  readonly memberPrincipals: Int32Array;
  /** The holder classes of the tables (`groupHolders`). */
  readonly holders: (limit: number) => HolderClasses | null;
}

interface NumberedPolicy {
  readonly compiled: CompiledTables;
  readonly numbers: Numbers;
}

/** Everything that is found by sorting texts. */
interface Numbers {
  readonly roles: Numbered;
  readonly grants: Numbered;
  readonly principals: Principals;
  readonly namespaces: CompiledNamespaces;
}

/** Tables by policy set. A set never changes, so lint and the snapshot share one numbering of it. */
const numbered = new WeakMap<PolicySet, NumberedPolicy>();

/**
 * Cannot fail: linking has already refused everything that could not be compiled. What an earlier version names in the same order is not
 * sorted again.
 */
export function compileTables(policy: PolicySet, before: PolicySet | null = null): CompiledTables {
  let known = numbered.get(policy);
  if (known === undefined) numbered.set(policy, (known = numberPolicy(policy, before)));
  return known.compiled;
}

/** An earlier version of a policy. What it has in common with the policy is taken from it, as the same objects. */
interface Earlier {
  readonly before: PolicySet;
  readonly known: NumberedPolicy;
}

function numberPolicy(policy: PolicySet, before: PolicySet | null): NumberedPolicy {
  const known = before === null ? undefined : numbered.get(before);
  const earlier = before === null || known === undefined ? null : { before, known };
  const numbers = numberTexts(policy, earlier);
  return { compiled: makeTables(policy, numbers, earlier), numbers };
}

function numberTexts(policy: PolicySet, earlier: Earlier | null): Numbers {
  const before = earlier?.before ?? policy;
  const known = earlier?.known.numbers ?? null;
  const isSame = (areAlike: (a: PolicySet, b: PolicySet) => boolean): Numbers | null =>
    known !== null && areAlike(policy, before) ? known : null;
  const roles = isSame(nameSameRoles)?.roles ?? numberUnique(policy.roles.map((role) => role.name));
  const namespaces =
    isSame(nameSameNamespaces)?.namespaces ?? compileNamespaces(policy.grants.map((grant) => grant.namespace));
  return {
    roles,
    grants: isSame(nameSameIds)?.grants ?? numberUnique(policy.grants.map((grant) => grant.id)),
    principals: isSame(nameSamePrincipals)?.principals ?? numberPrincipals(policy, roles.rows),
    namespaces,
  };
}

function makeTables(
  policy: PolicySet,
  { roles, grants, principals, namespaces }: Numbers,
  earlier: Earlier | null,
): CompiledTables {
  const files = numberFiles(policy);
  const columns = { roles, grants, principals, files, namespaceRows: namespaces.rows };
  const same = earlier === null ? null : statedTables(earlier.known.compiled.tables);
  const hasSameRoles =
    earlier !== null &&
    earlier.known.numbers.principals === principals &&
    areAllSame(policy.roles, earlier.before.roles, (role, other) => role === other) &&
    areAllSame(files.texts, same?.files ?? [], (file, other) => file === other);
  const stated: PolicyTables = {
    name: policy.name,
    providers: principals.providers,
    files: files.texts,
    segments: namespaces.segments,
    identities: principals.identities,
    roles: (hasSameRoles ? same?.roles : null) ?? roleColumns(policy, columns),
    members: (hasSameRoles ? same?.members : null) ?? memberColumns(policy, columns),
    namespaces: namespaces.columns,
    grants: grantColumns(policy, columns),
    exclusive: pairRows(principals.ofExclusive),
    vocabulary: vocabularyOf(policy),
  };
  const narrowed = narrowMembers(stated, ENGINE_LIMITS.grants);
  // Whoever has a window holds nothing where there are too many rows, until compiling says so.
  const tables = narrowed ?? stated;
  const { rows } = tables.narrowed ?? {};
  return {
    tables,
    roleRows: roles.rows,
    grantRows: rows === undefined ? grants.rows : grants.rows.map((row) => rows[row] ?? 0),
    isTooLarge: narrowed === null,
    memberPrincipals: principals.ofMembers,
    holders: (limit) => groupHolders(tables, limit),
  };
}

function areAllSame<T>(list: readonly T[], others: readonly T[], isSame: (one: T, other: T) => boolean): boolean {
  if (list.length !== others.length) return false;
  // Of a file that has not changed, everything is the same object.
  return list.every((one, i) => {
    const other = others[i];
    return other !== undefined && (one === other || isSame(one, other));
  });
}

function nameSameRoles({ roles }: PolicySet, before: PolicySet): boolean {
  return areAllSame(roles, before.roles, (role, other) => role.name === other.name);
}

function nameSameIds({ grants }: PolicySet, before: PolicySet): boolean {
  return areAllSame(grants, before.grants, (grant, other) => grant.id === other.id);
}

function nameSameNamespaces({ grants }: PolicySet, before: PolicySet): boolean {
  return areAllSame(grants, before.grants, (grant, other) => grant.namespace === other.namespace);
}

function nameSamePrincipals(policy: PolicySet, before: PolicySet): boolean {
  return (
    nameSameRoles(policy, before) &&
    areAllSame(policy.providers, before.providers, (one, other) => one.name === other.name) &&
    areAllSame(policy.roles, before.roles, (role, other) => areAllSame(role.members, other.members, isSameNamed)) &&
    areAllSame(policy.grants, before.grants, (one, other) => isSameNamed(one.principal, other.principal)) &&
    areAllSame(policy.exclusive, before.exclusive, (one, other) =>
      areAllSame(one.identities, other.identities, isSameIdentity),
    )
  );
}

function isSameNamed(one: Named, other: Named): boolean {
  if (one.kind === 'role') return other.kind === 'role' && one.role === other.role;
  return other.kind === 'identity' && isSameIdentity(one.identity, other.identity);
}

function isSameIdentity(one: Identity, other: Identity): boolean {
  return one.provider === other.provider && one.subject === other.subject;
}

interface Numbered {
  /** Sorted. */
  readonly texts: readonly string[];
  /** In the order of declaration. */
  readonly rows: Int32Array;
}

function numberUnique(texts: readonly string[]): Numbered {
  const numbers = makeTextNumbers();
  for (const text of texts) numbers.numberOf(text);
  const sorted = numbers.sort();
  invariant(sorted.texts.length === texts.length, 'names of roles and ids of grants are unique');
  return { texts: sorted.texts, rows: sorted.rowOf };
}

interface Files {
  readonly texts: readonly string[];
  /** As in `PlaceColumns`. */
  readonly rowOf: (place: Place | null) => number;
}

function numberFiles(policy: PolicySet): Files {
  const numbers = makeTextNumbers();
  const meet = (place: Place | null): void => {
    if (place !== null) numbers.numberOf(place.file);
  };
  for (const role of policy.roles) {
    meet(role.place);
    for (const member of role.members) meet(member.place);
  }
  for (const grant of policy.grants) meet(grant.place);
  const { texts, rowOf } = numbers.sort();
  return { texts, rowOf: (place) => (place === null ? 0 : (rowOf[numbers.numberOf(place.file)] ?? 0) + 1) };
}

interface Principals {
  readonly providers: readonly string[];
  readonly identities: IdentityColumns;
  /** Principal rows in the order of declaration: of the members of all roles here, of the grants below. */
  readonly ofMembers: Int32Array;
  readonly ofGrants: Int32Array;
  /** Identity rows of each list of `exclusive`. */
  readonly ofExclusive: readonly (readonly number[])[];
}

function numberPrincipals(policy: PolicySet, roleRows: Int32Array): Principals {
  const roles = new Map(policy.roles.map((role, position) => [role.name, roleRows[position] ?? 0]));
  const numbers = makeIdentityNumbers(policy.providers.map((provider) => provider.name));
  // Rows of identities are known only at the end. Until then a role's row is kept as a negative number.
  const meet = (named: Named): number => {
    if (named.kind === 'identity') return numbers.numberOf(named.identity);
    const row = roles.get(named.role);
    invariant(row !== undefined, 'a policy set has no dangling reference');
    return -1 - row;
  };
  const members = policy.roles.flatMap((role) => role.members.map(meet));
  const grants = policy.grants.map((grant) => meet(grant.principal));
  const exclusive = policy.exclusive.map((list) => list.identities.map(numbers.numberOf));
  const { providers, identities, rowOf } = numbers.sort();
  const principalOf = (number: number): number => (number < 0 ? -1 - number : roles.size + (rowOf[number] ?? 0));
  return {
    providers,
    identities,
    ofMembers: Int32Array.from(members, principalOf),
    ofGrants: Int32Array.from(grants, principalOf),
    ofExclusive: exclusive.map((list) => list.map((number) => rowOf[number] ?? 0)),
  };
}

type Named = PolicySet['grants'][number]['principal'];

interface Columns {
  readonly roles: Numbered;
  readonly grants: Numbered;
  readonly principals: Principals;
  readonly files: Files;
  readonly namespaceRows: Int32Array;
}

function roleColumns(policy: PolicySet, { roles, files }: Columns): RoleColumns {
  const file = new Int32Array(policy.roles.length);
  const line = new Int32Array(policy.roles.length);
  policy.roles.forEach(({ place }, position) => {
    const row = roles.rows[position] ?? 0;
    file[row] = files.rowOf(place);
    line[row] = rowLine(place);
  });
  const description = textColumn(
    policy.roles.map((role) => role.description),
    roles.rows,
  );
  return { name: roles.texts, file, line, description };
}

function memberColumns(policy: PolicySet, { roles, principals, files }: Columns): MemberColumns {
  const count = principals.ofMembers.length;
  const columns = {
    role: new Int32Array(count),
    member: new Int32Array(count),
    file: new Int32Array(count),
    line: new Int32Array(count),
  };
  const positions = new Int32Array(policy.roles.length);
  const first = new Int32Array(policy.roles.length);
  let before = 0;
  policy.roles.forEach((role, position) => {
    positions[roles.rows[position] ?? 0] = position;
    first[position] = before;
    before += role.members.length;
  });
  const windows: { row: number; from: number; until: number }[] = [];
  let row = 0;
  for (const [role, position] of positions.entries()) {
    const { members = [] } = policy.roles[position] ?? {};
    const start = first[position] ?? 0;
    const principalOf = (member: number): number => principals.ofMembers[start + member] ?? 0;
    for (const member of Int32Array.from(members.keys()).sort((a, b) => principalOf(a) - principalOf(b))) {
      const { place = null, notBefore = null, expires = null } = members[member] ?? {};
      const { from, until } = windowOf({ notBefore, expires });
      if (from !== -Infinity || until !== Infinity) windows.push({ row, from, until });
      columns.role[row] = role;
      columns.member[row] = principalOf(member);
      columns.file[row] = files.rowOf(place);
      columns.line[row] = rowLine(place);
      const isRepeated = row > 0 && columns.role[row - 1] === role && columns.member[row - 1] === columns.member[row];
      invariant(!isRepeated, 'a role lists a member once');
      row += 1;
    }
  }
  return { ...columns, windows: windowColumns(windows) };
}

function grantColumns(policy: PolicySet, { grants, principals, files, namespaceRows }: Columns): GrantColumns {
  const count = policy.grants.length;
  const columns = {
    scopes: new Array<ScopeSet>(count).fill(NO_SCOPES),
    inherit: new Uint8Array(count),
    notBefore: new Float64Array(count),
    expires: new Float64Array(count),
    file: new Int32Array(count),
    line: new Int32Array(count),
  };
  policy.grants.forEach((grant, position) => {
    const row = grants.rows[position] ?? 0;
    const { from, until } = windowOf(grant);
    columns.scopes[row] = grant.scopes;
    columns.inherit[row] = grant.inherit ? 1 : 0;
    columns.notBefore[row] = from;
    columns.expires[row] = until;
    columns.file[row] = files.rowOf(grant.place);
    columns.line[row] = rowLine(grant.place);
  });
  const reason = textColumn(
    policy.grants.map((grant) => grant.reason),
    grants.rows,
  );
  return {
    id: grants.texts,
    principal: inRows(principals.ofGrants, grants.rows),
    namespace: inRows(namespaceRows, grants.rows),
    ...columns,
    scopes: makeScopeColumn(columns.scopes),
    reason,
  };
}

/** A column in the order of declaration, in the order of rows. */
const inRows = rememberLast((column: Int32Array, rows: Int32Array): Int32Array => {
  const sorted = new Int32Array(column.length);
  for (let position = 0; position < column.length; position += 1) sorted[rows[position] ?? 0] = column[position] ?? 0;
  return sorted;
});

function textColumn(texts: readonly (string | null)[], rows: Int32Array): TextColumn {
  const byRow = new Map<number, string>();
  texts.forEach((text, position) => {
    if (text !== null) byRow.set(rows[position] ?? 0, text);
  });
  const row = Int32Array.from(byRow.keys()).sort();
  return { row, text: Array.from(row, (at) => byRow.get(at) ?? '') };
}

/** As in `PlaceColumns`. */
function rowLine(place: Place | null): number {
  return place === null ? 0 : lineOf(place);
}
