// Checks roles inside roles: they have no cycle and are not nested deeper than the limit.
import type { SnapshotBody } from './document.js';

/** What is wrong, or null. */
export function nestingFault({ members, roles }: SnapshotBody, limit: number): string | null {
  const start = [0];
  for (const count of members.perRole) start.push((start.at(-1) ?? 0) + count);
  // By role, the depth of nesting from this role down. 0 is not known yet, -1 is being visited.
  const height = new Int32Array(roles.name.length);
  const open: { role: number; next: number; height: number }[] = [];
  for (let first = 0; first < height.length; first += 1) {
    if (height[first] !== 0) continue;
    open.push({ role: first, next: start[first] ?? 0, height: 1 });
    height[first] = -1;
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      if (top.next === start[top.role + 1]) {
        height[top.role] = top.height;
        open.pop();
        const outer = open.at(-1);
        if (outer !== undefined) outer.height = Math.max(outer.height, top.height + 1);
        if (top.height > limit) return 'members: roles are nested too deeply';
        continue;
      }
      const member = members.member[top.next] ?? 0;
      top.next += 1;
      if (member >= height.length) continue;
      const known = height[member] ?? 0;
      if (known < 0) return 'members: a role is a member of itself';
      if (known > 0) {
        top.height = Math.max(top.height, known + 1);
      } else {
        height[member] = -1;
        open.push({ role: member, next: start[member] ?? 0, height: 1 });
      }
    }
  }
  return null;
}
