// How GitHub decides by teams and CODEOWNERS: members of a team and of the teams below it have what the team and those above it have, and the
// last line of CODEOWNERS that matches a file names its owners.
import { valueIn } from '../value-in.js';
import type { CodeOwners, OwnerLine } from './read-code-owners.js';
import { LEVELS, type Organization, type Team } from './read-teams.js';

export interface Account {
  readonly login: string;
  /** Teams of which the files do not say who is in them: `organization/team`. */
  readonly otherTeams: readonly string[];
}

/** Teams, to be found without looking at each. */
export interface TeamIndex {
  /** The teams in which somebody is, by themselves or by a team below: `organization/team`. */
  readonly teamsOf: (account: Account) => ReadonlySet<string>;
  /** By repository: the place in `LEVELS` of the most that members of these teams may do. */
  readonly levelsOf: (mine: ReadonlySet<string>) => ReadonlyMap<string, number>;
}

/** Names are `organization/team`. */
interface NamedTeam {
  readonly name: string;
  readonly above: string | null;
  readonly team: Team;
}

/** Made once for all accounts. */
export function indexTeams(organizations: readonly Organization[]): TeamIndex {
  const byMember = new Map<string, NamedTeam[]>();
  const byName = new Map<string, NamedTeam[]>();
  for (const { login, teams } of organizations)
    for (const team of teams) {
      const named = {
        name: `${login}/${team.slug}`,
        above: team.parent === null ? null : `${login}/${team.parent}`,
        team,
      };
      valueIn(byName, named.name, () => []).push(named);
      for (const member of new Set(team.members)) valueIn(byMember, member, () => []).push(named);
    }
  return {
    teamsOf: ({ login, otherTeams }) => {
      const line = new Set(byMember.get(login));
      // A team above that is added on the way comes later in the same loop.
      for (const { above } of line) {
        const [first] = byName.get(above ?? '') ?? [];
        if (first !== undefined) line.add(first);
      }
      return new Set([...otherTeams, ...Array.from(line, ({ name }) => name)]);
    },
    levelsOf: (mine) => {
      const levels = new Map<string, number>();
      for (const team of mine)
        for (const { name, level } of (byName.get(team) ?? []).flatMap((one) => one.team.repositories))
          levels.set(name, Math.max(levels.get(name) ?? -1, LEVELS.indexOf(level)));
      return levels;
    },
  };
}

/** The line that decides about a file: the last one that matches. */
export function decidingLine({ lines }: CodeOwners, file: string): OwnerLine | undefined {
  return lines.findLast((one) => matcherOf(one).test(file));
}

export function mayApprove(
  line: OwnerLine | undefined,
  who: { readonly login: string; readonly teams: ReadonlySet<string> },
): boolean {
  return line?.owners.some((owner) => owner === who.login || who.teams.has(owner)) ?? false;
}

const MATCHERS = new WeakMap<OwnerLine, RegExp>();

/** Made once for each line, since many lines are tried for every folder. */
function matcherOf(line: OwnerLine): RegExp {
  const made = MATCHERS.get(line) ?? makeMatcher(line.pattern);
  MATCHERS.set(line, made);
  return made;
}

/** A pattern of CODEOWNERS as GitHub reads it: that of a .gitignore file, for a file or for all below a folder. */
function makeMatcher(pattern: string): RegExp {
  const body = pattern.replace(/^\//, '').replace(/\/$/, '');
  const isAnchored = pattern.startsWith('/') || body.includes('/');
  const parts = body.split(/(\*\*\/?|\*|\?)/).map((part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : part.replace(/[.+^${}()|\\]/g, '\\$&');
  });
  // `docs/*` is for the files of the folder alone.
  const rest = /\/\*$/.test(pattern) ? '$' : pattern.endsWith('/') && body !== '' ? '/' : '(?:/|$)';
  return new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${parts.join('')}${body === '' ? '' : rest}`, 'u');
}
