// How casbin decides by the lines of the RBAC model: some line allows it, and none denies it. Roles are followed as far as casbin follows them.
import type { CasbinRules } from './read-casbin.js';

const HIERARCHY = 10;

/** Answers for one subject, whose roles are looked up once. */
export function enforcerFor(
  { permissions, links }: CasbinRules,
  subject: string,
): (object: string, action: string) => boolean {
  const reached = new Set([subject]);
  let level = [subject];
  for (let depth = 0; depth < HIERARCHY && level.length > 0; depth += 1) {
    level = links.filter(({ member, role }) => level.includes(member) && !reached.has(role)).map(({ role }) => role);
    for (const role of level) reached.add(role);
  }
  const own = permissions.filter((line) => reached.has(line.subject));
  return (object, action) => {
    const matching = own.filter((line) => line.object === object && line.action === action);
    return matching.some(({ effect }) => effect === 'allow') && !matching.some(({ effect }) => effect === 'deny');
  };
}
