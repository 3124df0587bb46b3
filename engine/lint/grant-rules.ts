// Rules about single grants: to nobody, at the root, over, and of writes that nobody reads.
import { formatInstant } from '../model/instant.js';
import { ROOT } from '../model/namespace.js';
import { FAMILIES, hasScope, type ScopeName, type ScopeSet } from '../model/scope.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

export function findUnreachableGrants(world: LintWorld, context: LintContext): void {
  world.set.grants.forEach((grant, index) => {
    const role = world.set.roles[world.principals[index] ?? 0];
    if (isReachable(world, world.principals[index] ?? 0) || role === undefined) return;
    context.report({
      code: 'LINT_GRANT_UNREACHABLE',
      place: placed(grant.place),
      message: `the grant \`${grant.id}\` gives nobody anything: nobody is in \`${role.name}\``,
      help: 'add members to the role, or remove the grant',
      related: relatedTo(role.place, 'the role'),
    });
  });
}

export function findWritesAtRoot(world: LintWorld, context: LintContext): void {
  for (const grant of world.set.grants) {
    if (grant.namespace !== ROOT) continue;
    const families = FAMILIES.filter((family) => hasScope(grant.scopes, `${family}:write`));
    if (families.length === 0) continue;
    context.report({
      code: 'LINT_WRITE_AT_ROOT',
      place: placed(grant.place),
      message: `the grant \`${grant.id}\` lets ${listOf(families)} be written at the root${grant.inherit ? ' and everywhere below' : ''}`,
      help: 'bind it to a namespace, or say why in an ignore comment',
    });
  }
}

export function findUnreadWrites(world: LintWorld, context: LintContext): void {
  const readable = readableAt(world);
  world.set.grants.forEach((grant, index) => {
    if (!isReachable(world, world.principals[index] ?? 0)) return;
    const read = readable[world.nodes[index] ?? 0] ?? 0;
    const families = FAMILIES.filter(
      (family) => hasScope(grant.scopes, `${family}:write`) && (read & bitOf(`${family}:read`)) === 0,
    );
    if (families.length === 0) return;
    context.report({
      code: 'LINT_WRITE_UNREAD',
      place: placed(grant.place),
      message: `nobody may ever read the ${listOf(families)} records that \`${grant.id}\` lets be written at \`${grant.namespace}\``,
      help: `grant ${families.map((family) => `\`${family}:read\``).join(', ')} to somebody there`,
    });
  });
}

const BITS: ReadonlyMap<ScopeName, number> = new Map(
  FAMILIES.flatMap((family, index): [ScopeName, number][] => [
    [`${family}:read`, 1 << (2 * index)],
    [`${family}:write`, 1 << (2 * index + 1)],
  ]),
);

function bitOf(scope: ScopeName): number {
  return BITS.get(scope) ?? 0;
}

/** By namespace node: the scopes that somebody holds there at some time. */
function readableAt(world: LintWorld): Int32Array {
  const inherited = new Int32Array(world.parents.length);
  const alone = new Int32Array(world.parents.length);
  world.set.grants.forEach((grant, index) => {
    if (!isReachable(world, world.principals[index] ?? 0)) return;
    const node = world.nodes[index] ?? 0;
    const held = grant.inherit ? inherited : alone;
    held[node] = (held[node] ?? 0) | bitsOf(grant.scopes);
  });
  // A parent has the lower number.
  inherited.forEach((own, node) => {
    inherited[node] = own | (inherited[world.parents[node] ?? -1] ?? 0);
  });
  return inherited.map((held, node) => held | (alone[node] ?? 0));
}

function bitsOf(scopes: ScopeSet): number {
  let bits = 0;
  for (const [scope, bit] of BITS) if (hasScope(scopes, scope)) bits |= bit;
  return bits;
}

export function findEndingGrants(world: LintWorld, context: LintContext): void {
  const { at, soonMilliseconds } = context;
  if (at === null) return;
  for (const { id, expires, place } of world.set.grants) {
    if (expires === null || expires > at + soonMilliseconds) continue;
    const over = expires <= at;
    context.report({
      code: over ? 'LINT_GRANT_EXPIRED' : 'LINT_GRANT_EXPIRES_SOON',
      place: placed(place),
      message: `the grant \`${id}\` ${over ? 'expired' : 'expires'} at ${formatInstant(expires)}`,
      help: over ? 'remove it' : 'extend it, or let it end',
    });
  }
}

function listOf(families: readonly string[]): string {
  return families.map((family) => `\`${family}\``).join(', ');
}
