// Who holds the grants of a principal, as lint looks at it: identities in the same roles, and without grants of their own,
// are alike, so one of them stands for all (the same as holder classes of tables, made from declarations as they are needed).
import { type LintWorld, withRoles } from './lint-world.js';

export interface GrantHolders {
  /**
   * Whether `test` holds for each class of identities that holds the grants of a principal; ends with the first where it
   * does not, and begins with it when it is asked about the same principal again.
   */
  readonly everyHolder: (principal: number, test: (holder: number) => boolean) => boolean;
  /** The principals with grants whose grants a class holds, sorted. */
  readonly principalsOf: (holder: number) => Int32Array;
}

/** `spend` is told how many steps were taken. */
export function makeGrantHolders(world: LintWorld, spend: (steps: number) => void): GrantHolders {
  const roles = world.set.roles.length;
  const hasGrants = new Uint8Array(world.rolesOf.length);
  for (const principal of world.principals) hasGrants[principal] = 1;
  const { holdersIn, rolesIn } = listMembers(world, hasGrants);
  const known = new Map<number, Int32Array>();
  const lastFailed = new Map<number, number>();
  const seen = new Int32Array(world.rolesOf.length);
  let round = 0;

  const isNew = (principal: number): boolean => {
    if (seen[principal] === round) return false;
    seen[principal] = round;
    return true;
  };

  const everyIn = (role: number, test: (holder: number) => boolean): boolean => {
    const failed = lastFailed.get(role);
    if (failed !== undefined && !test(failed)) return false;
    round += 1;
    const open = [role];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [holders, inner] = [holdersIn[at] ?? [], rolesIn[at] ?? []];
      spend(1 + inner.length);
      for (const holder of holders) {
        spend(1);
        if (holder === failed || !isNew(holder) || test(holder)) continue;
        lastFailed.set(role, holder);
        return false;
      }
      for (const nested of inner) if (isNew(nested)) open.push(nested);
    }
    return true;
  };

  return {
    everyHolder: (principal, test) => (principal < roles ? everyIn(principal, test) : test(principal)),
    principalsOf: (holder) => {
      let principals = known.get(holder);
      if (principals === undefined) {
        const all = withRoles(world, holder);
        spend(all.length);
        principals = Int32Array.from(all.filter((principal) => hasGrants[principal] === 1)).sort();
        known.set(holder, principals);
      }
      return principals;
    },
  };
}

interface Members {
  /** By role: identities that stand for all like them. */
  readonly holdersIn: readonly (readonly number[] | undefined)[];
  readonly rolesIn: readonly (readonly number[] | undefined)[];
}

function listMembers({ set, rolesOf }: LintWorld, hasGrants: Uint8Array): Members {
  const roles = set.roles.length;
  const holdersIn = new Array<number[] | undefined>(roles);
  const rolesIn = new Array<number[] | undefined>(roles);
  const alike = new Set<string>();
  rolesOf.forEach((outer, principal) => {
    if (outer === undefined) return;
    const lists = principal < roles ? rolesIn : holdersIn;
    if (principal >= roles && hasGrants[principal] === 0) {
      const key = outer.join();
      if (alike.has(key)) return;
      alike.add(key);
    }
    for (const role of outer) (lists[role] ??= []).push(principal);
  });
  return { holdersIn, rolesIn };
}
