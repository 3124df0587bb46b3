// Checks the columns of the file, so that all readers of tables can rely on them: sorted, no repetitions, values in range, no dangling
// references, nothing unused, no cycles, within the limits.
import type { EngineLimits } from '../limits.js';
import { GROUP_SUFFIX, isName, subjectFault } from '../model/identity.js';
import { FIRST_INSTANT, LAST_INSTANT } from '../model/instant.js';
import { canonicalize, NAMESPACE_LIMITS } from '../model/namespace.js';
import { compareTexts } from '../model/order.js';
import { RECORD_SCOPE_SET } from '../model/scope-set.js';
import { FIRST_SET, isAscending, total } from './family-columns.js';
import type { SnapshotBody, SparseColumn, SparseTexts } from './document.js';
import { nestingFault } from './nesting-fault.js';

/** What is wrong with them as `field: reason`, or null. `sets` is how many sets of scopes the file has besides those of records. */
export function columnFault(body: SnapshotBody, sets: number, limits: EngineLimits): string | null {
  return (
    sizeFault(body, limits) ??
    digestsFault(body) ??
    textFault(body) ??
    identityFault(body) ??
    memberFault(body) ??
    namespaceFault(body) ??
    grantFault(body, sets) ??
    textColumnFault(body) ??
    exclusiveFault(body, limits.exclusive) ??
    usageFault(body) ??
    nestingFault(body, limits.roleDepth)
  );
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Checks only that they look like digests, not that they are right: labels.ts does that for the decision digest. */
function digestsFault({ checks, decisions }: SnapshotBody): string | null {
  if (!DIGEST.test(decisions)) return 'decisions: not a digest';
  const sums = Object.values(checks ?? {});
  return sums.every(({ digest }) => DIGEST.test(digest)) ? null : 'checks: not a digest';
}

function sizeFault(body: SnapshotBody, limits: EngineLimits): string | null {
  // Each declared provider may have one more name, for its group claims, so the two kinds are counted separately.
  const groups = body.providers.filter((name) => name.endsWith(GROUP_SUFFIX)).length;
  if (Math.max(groups, body.providers.length - groups) > limits.providers) return 'providers: more than the limit';
  if (body.roles.name.length > limits.roles) return 'roles: more than the limit';
  if (body.members.member.length > limits.members) return 'members: more than the limit';
  if (body.grants.id.length > limits.grants) return 'grants: more than the limit';
  if (body.namespaces.up.length >= limits.namespaces) return 'namespaces: more than the limit';
  return null;
}

function textFault(body: SnapshotBody): string | null {
  if (!isName(body.name)) return 'name: not a name';
  if (!body.providers.every(isName) || !isAscending(body.providers)) return 'providers: not sorted names';
  if (!body.roles.name.every(isName) || !isAscending(body.roles.name)) return 'roles.name: not sorted names';
  if (!body.grants.id.every(isName) || !isAscending(body.grants.id)) return 'grants.id: not sorted names';
  if (body.files.includes('') || !isAscending(body.files)) return 'files: not sorted file names';
  if (!body.segments.every(isSegment) || !isAscending(body.segments)) return 'segments: not sorted segments';
  return null;
}

function isSegment(text: string): boolean {
  return !text.includes('/') && canonicalize(text).ok;
}

function identityFault({ identities, providers }: SnapshotBody): string | null {
  const { perProvider, subject } = identities;
  if (perProvider.length !== providers.length || total(perProvider) !== subject.length) {
    return 'identities.perProvider: does not count the identities of each provider';
  }
  if (subject.some((text) => subjectFault(text) !== null)) return 'identities.subject: not a subject';
  return areRunsAscending(perProvider, subject, compareTexts)
    ? null
    : 'identities.subject: not sorted within its provider';
}

function memberFault({ files, identities, members, roles }: SnapshotBody): string | null {
  const { perRole, member } = members;
  if (perRole.length !== roles.name.length || total(perRole) !== member.length) {
    return 'members.perRole: does not count the members of each role';
  }
  const principals = roles.name.length + identities.subject.length;
  if (member.some((principal) => principal >= principals)) return 'members.member: no such principal';
  if (!areRunsAscending(perRole, member, (a, b) => a - b)) return 'members.member: not sorted within its role';
  if (!arePlaces(members, member.length, files.length)) return 'members.file: not a place';
  const { notBefore, expires } = members;
  if (notBefore !== undefined && (!isSparse(notBefore, member.length) || notBefore.at.includes(FIRST_INSTANT)))
    return 'members.notBefore: not rows of members and instants';
  if (expires !== undefined && !isSparse(expires, member.length))
    return 'members.expires: not rows of members and instants';
  return arePlaces(roles, roles.name.length, files.length) ? null : 'roles.file: not a place';
}

/** Path order: each parent is the row before or one of its ancestors, and siblings ascend. */
function namespaceFault({ namespaces, segments }: SnapshotBody): string | null {
  const { segment, up } = namespaces;
  if (segment.length !== up.length) return 'namespaces.up: not as long as the other columns';
  const open: { row: number; bytes: number; lastChild: string }[] = [{ row: 0, bytes: 0, lastChild: '' }];
  for (let row = 1; row <= segment.length; row += 1) {
    const text = segments[segment[row - 1] ?? -1];
    const parent = row - (up[row - 1] ?? 0);
    while (open.length > 1 && (open.at(-1)?.row ?? 0) > parent) open.pop();
    const above = open.at(-1);
    if (text === undefined) return 'namespaces.segment: no such segment';
    if (above?.row !== parent) return 'namespaces.up: not in path order';
    const key = `${text}/`;
    if (above.lastChild >= key) return 'namespaces.segment: siblings are not sorted';
    const bytes = above.bytes + 1 + text.length;
    if (bytes > NAMESPACE_LIMITS.bytes || open.length > NAMESPACE_LIMITS.segments)
      return 'namespaces: past the limits of a path';
    above.lastChild = key;
    open.push({ row, bytes, lastChild: '' });
  }
  return null;
}

function grantFault({ files, grants, identities, namespaces, roles }: SnapshotBody, sets: number): string | null {
  const count = grants.id.length;
  const principals = roles.name.length + identities.subject.length;
  const rows = namespaces.segment.length + 1;
  if (grants.principal.length !== count || grants.principal.some((principal) => principal >= principals)) {
    return 'grants.principal: no such principal';
  }
  if (grants.namespace.length !== count || grants.namespace.some((row) => row >= rows))
    return 'grants.namespace: no such namespace';
  if (
    grants.scopes.length !== count ||
    grants.scopes.some((scopes) => scopes < 1 || scopes > RECORD_SCOPE_SET + sets)
  ) {
    return 'grants.scopes: not a set of scopes';
  }
  if (!usesAll([grants.scopes], FIRST_SET + sets, FIRST_SET)) return 'families.sets: one that nothing names';
  if (!areDistances(grants.exact, count)) return 'grants.exact: not rows of grants';
  if (!isSparse(grants.notBefore, count) || grants.notBefore.at.includes(FIRST_INSTANT))
    return 'grants.notBefore: not rows of grants and instants';
  if (!isSparse(grants.expires, count)) return 'grants.expires: not rows of grants and instants';
  return arePlaces(grants, count, files.length) ? null : 'grants.file: not a place';
}

function textColumnFault({ grants, roles }: SnapshotBody): string | null {
  if (!areTexts(grants.reason, grants.id.length)) return 'grants.reason: not rows of grants and texts';
  return areTexts(roles.description, roles.name.length) ? null : 'roles.description: not rows of roles and texts';
}

export function areTexts(texts: SparseTexts | undefined, count: number): boolean {
  return texts === undefined || (texts.text.length === texts.row.length && areDistances(texts.row, count));
}

function exclusiveFault({ exclusive, identities }: SnapshotBody, limit: number): string | null {
  const { first, second } = exclusive ?? { first: [], second: [] };
  if (first.length > limit) return 'exclusive: more than the limit';
  const arePairs =
    first.length === second.length &&
    first.every((row, i) => {
      const other = second[i] ?? 0;
      const [before, after] = [first[i - 1] ?? -1, second[i - 1] ?? -1];
      return row < other && other < identities.subject.length && (before < row || (before === row && after < other));
    });
  return arePairs ? null : 'exclusive: not sorted pairs of identities';
}

/** Refuses entries that nothing refers to: with them, one policy could have two files. */
function usageFault({
  exclusive,
  files,
  grants,
  identities,
  members,
  namespaces,
  roles,
  segments,
}: SnapshotBody): string | null {
  const firstIdentity = roles.name.length;
  const principals = firstIdentity + identities.subject.length;
  const excluded = [...(exclusive?.first ?? []), ...(exclusive?.second ?? [])].map((row) => firstIdentity + row);
  if (!usesAll([members.member, grants.principal, excluded], principals, firstIdentity))
    return 'identities: one that nothing names';
  if (!usesAll([roles.file, members.file, grants.file], files.length + 1, 1)) return 'files: one that nothing names';
  if (!usesAll([namespaces.segment], segments.length, 0)) return 'segments: one that nothing names';
  const parents = namespaces.up.map((up, index) => index + 1 - up);
  if (!usesAll([parents, grants.namespace], namespaces.up.length + 1, 1)) return 'namespaces: one that nothing names';
  return null;
}

function usesAll(columns: readonly (readonly number[])[], count: number, from: number): boolean {
  const used = new Uint8Array(count);
  for (const column of columns) for (let row = 0; row < column.length; row += 1) used[column[row] ?? 0] = 1;
  return !used.subarray(from).includes(0);
}

function areRunsAscending<T>(
  counts: readonly number[],
  column: readonly T[],
  compare: (a: T, b: T) => number,
): boolean {
  let row = 0;
  for (const count of counts) {
    let before: T | undefined;
    for (const end = row + count; row < end; row += 1) {
      const value = column[row];
      if (value === undefined || (before !== undefined && compare(before, value) >= 0)) return false;
      before = value;
    }
  }
  return true;
}

/** Each row stands after the one before; only the first distance may be 0. */
function areDistances(distances: readonly number[], count: number): boolean {
  return (
    total(distances) < Math.max(count, 1) &&
    distances.every((distance, index) => index === 0 || distance > 0) &&
    (distances.length === 0 || count > 0)
  );
}

function isSparse(sparse: SparseColumn, count: number): boolean {
  const { at, row } = sparse;
  const areInstants = at.every((instant) => instant >= FIRST_INSTANT && instant <= LAST_INSTANT);
  return areInstants && at.length === row.length && areDistances(row, count);
}

interface Places {
  readonly file: readonly number[];
  readonly line: readonly number[];
}

function arePlaces({ file, line }: Places, count: number, files: number): boolean {
  if (file.length !== count || line.length !== count) return false;
  return file.every((value, row) => value <= files && (value === 0) === (line[row] === 0));
}
