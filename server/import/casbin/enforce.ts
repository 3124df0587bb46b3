// How casbin decides by the lines of the RBAC model: some line allows it, and none denies it where denials
// count. Roles are followed as far as casbin follows them.
import { valueIn } from '../value-in.js';
import type { CasbinPermission, CasbinRules } from './read-casbin.js';

const HIERARCHY = 10;

/** Answers for one subject, whose roles are looked up once. */
export function enforcerFor(
  { linesOf, rolesOf, denials }: IndexedRules,
  subject: string,
): (object: string, action: string) => boolean {
  const reached = new Set([subject]);
  let level = [subject];
  for (let depth = 0; depth < HIERARCHY && level.length > 0; depth += 1) {
    const next = new Set(level.flatMap((member) => rolesOf.get(member) ?? []));
    level = [...next].filter((role) => !reached.has(role));
    for (const role of level) reached.add(role);
  }
  const effects = new Map<string, Set<CasbinPermission['effect']>>();
  for (const role of reached)
    for (const { object, action, effect } of linesOf.get(role) ?? [])
      valueIn(effects, keyOf(object, action), () => new Set()).add(effect);
  return (object, action) => {
    const found = effects.get(keyOf(object, action));
    return found?.has('allow') === true && !(denials === 'count' && found.has('deny'));
  };
}

interface IndexedRules extends Pick<CasbinRules, 'denials'> {
  readonly linesOf: ReadonlyMap<string, readonly CasbinPermission[]>;
  readonly rolesOf: ReadonlyMap<string, readonly string[]>;
}

/** Made once for all subjects. */
export function indexRules({ permissions, links, denials }: CasbinRules): IndexedRules {
  const linesOf = new Map<string, CasbinPermission[]>();
  for (const line of permissions) valueIn(linesOf, line.subject, () => []).push(line);
  const rolesOf = new Map<string, string[]>();
  for (const { member, role } of links) valueIn(rolesOf, member, () => []).push(role);
  return { linesOf, rolesOf, denials };
}

function keyOf(object: string, action: string): string {
  return JSON.stringify([object, action]);
}
