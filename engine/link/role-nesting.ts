// Roles within roles. A cycle is an error that names its path, and a chain may not be longer than a limit. Iterative,
// so that no policy can exhaust the stack; each role is entered only once.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { EngineLimits } from '../limits.js';
import type { RoleReference } from '../model/document.js';
import type { Sink } from '../diagnostics/report.js';
import type { DeclaredRole, Names } from './names.js';
import { findingAt, relatedAt } from './places.js';

interface Visit {
  readonly name: string;
  readonly declared: DeclaredRole;
  readonly members: readonly RoleReference[];
  next: number;
  /** The number of roles in the longest chain below this one. */
  below: number;
}

/** Roles that are nested as they should be, within these limits. */
const wellNested = new WeakMap<Names['roles'], EngineLimits>();

export function checkRoleNesting(names: Names, limits: EngineLimits, sink: Sink): void {
  if (wellNested.get(names.roles) === limits) return;
  const depths = new Map<string, number>();
  const added = sink.added();
  for (const name of names.roles.keys()) {
    if (!depths.has(name)) visit(name, { names, limits, sink, depths });
  }
  if (sink.added() === added) wellNested.set(names.roles, limits);
}

interface Walk {
  readonly names: Names;
  readonly limits: EngineLimits;
  readonly sink: Sink;
  /** The length of the longest chain of each role that is done, in roles. */
  readonly depths: Map<string, number>;
}

function visit(from: string, walk: Walk): void {
  const path: Visit[] = [];
  const onPath = new Map<string, number>();
  const enter = (name: string): void => {
    const declared = walk.names.roles.get(name);
    if (declared === undefined) return;
    const members = declared.role.members.filter((member) => member.kind === 'role');
    onPath.set(name, path.length);
    path.push({ name, declared, members, next: 0, below: 0 });
  };
  enter(from);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const member = top.members[top.next];
    if (member === undefined) {
      path.pop();
      onPath.delete(top.name);
      leave(top, path.at(-1), walk);
      continue;
    }
    top.next += 1;
    const depth = walk.depths.get(member.value);
    const back = onPath.get(member.value);
    if (depth !== undefined) top.below = Math.max(top.below, depth);
    else if (back !== undefined) reportCycle(path.slice(back), walk.sink);
    else enter(member.value);
  }
}

function leave(done: Visit, parent: Visit | undefined, walk: Walk): void {
  const depth = done.below + 1;
  walk.depths.set(done.name, depth);
  if (parent !== undefined) parent.below = Math.max(parent.below, depth);
  const limit = walk.limits.roleDepth;
  // Reported only where the limit is passed, not at every role above.
  if (depth !== limit + 1) return;
  const message = `\`${done.name}\` begins a chain of more than ${groupDigits(limit)} nested roles`;
  walk.sink.add(
    findingAt(done.declared.document, done.declared.role.name, {
      code: 'LIMIT_ROLE_DEPTH',
      message,
      help: 'name the inner roles or their members directly',
    }),
  );
}

/**
 * Reports one diagnostic, at the membership of the first declared role of the cycle. Every step of the cycle is
 * related.
 */
function reportCycle(cycle: readonly Visit[], sink: Sink): void {
  const first = cycle.reduce((least, visit, index) => (isBefore(visit, cycle[least]) ? index : least), 0);
  const turned = [...cycle.slice(first), ...cycle.slice(0, first)];
  const steps = turned.map((visit, index) => {
    const next = turned[(index + 1) % turned.length]?.name ?? visit.name;
    const member = visit.members.find((reference) => reference.value === next);
    return { visit, next, at: member ?? visit.declared.role.name };
  });
  const [start, ...others] = steps;
  if (start === undefined) return;
  const names = [...turned.map((visit) => visit.name), start.visit.name];
  const shown =
    names.length > 10 ? [...names.slice(0, 5), `… ${groupDigits(names.length - 8)} more …`, ...names.slice(-3)] : names;
  const message =
    others.length === 0
      ? `the role \`${start.visit.name}\` is a member of itself`
      : `roles are members of each other: \`${shown.join('` → `')}\``;
  const related = others
    .slice(0, 20)
    .map(({ visit, next, at }) =>
      relatedAt(visit.declared.document, at, `\`${next}\` is a member of \`${visit.name}\` here`),
    );
  sink.add(
    findingAt(start.visit.declared.document, start.at, {
      code: 'ROLE_CYCLE',
      message,
      help: 'remove one of the memberships',
      related,
    }),
  );
}

function isBefore(a: Visit, b: Visit | undefined): boolean {
  if (b === undefined) return false;
  const [left, right] = [a.declared, b.declared];
  if (left.document !== right.document) return left.document.file < right.document.file;
  return left.role.name.start < right.role.name.start;
}
