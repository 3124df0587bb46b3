// How GitHub decides by teams and CODEOWNERS: members of a team and of the teams below it have what the team and those above it have, and the
// last line of CODEOWNERS that matches a file names its owners.
import type { CodeOwners, OwnerLine } from './read-code-owners.js';
import { type Level, LEVELS, type Organization, type Team } from './read-teams.js';

export interface Account {
  readonly login: string;
  /** Teams of which the files do not say who is in them: `organization/team`. */
  readonly otherTeams: readonly string[];
}

/** The teams in which somebody is, by themselves or by a team below: `organization/team`. */
export function teamsOf(organizations: readonly Organization[], { login, otherTeams }: Account): ReadonlySet<string> {
  const found = new Set(otherTeams);
  for (const { login: organization, teams } of organizations)
    for (const team of teams.filter(({ members }) => members.includes(login)))
      for (const { slug } of lineOf(teams, team)) found.add(`${organization}/${slug}`);
  return found;
}

function lineOf(teams: readonly Team[], team: Team): readonly Team[] {
  const line = [team];
  for (let parent = team.parent; parent !== null;) {
    const above = teams.find(({ slug }) => slug === parent);
    if (above === undefined || line.includes(above)) break;
    line.push(above);
    parent = above.parent;
  }
  return line;
}

export function mayUse(
  organizations: readonly Organization[],
  mine: ReadonlySet<string>,
  asked: { readonly repository: string; readonly level: Level },
): boolean {
  return organizations.some(({ login, teams }) =>
    teams.some(
      ({ slug, repositories }) =>
        mine.has(`${login}/${slug}`) &&
        repositories.some(
          ({ name, level }) => name === asked.repository && LEVELS.indexOf(level) >= LEVELS.indexOf(asked.level),
        ),
    ),
  );
}

export function mayApprove(
  { lines }: CodeOwners,
  who: { readonly login: string; readonly teams: ReadonlySet<string> },
  file: string,
): boolean {
  const line = lines.findLast((one) => matcherOf(one).test(file));
  return line?.owners.some((owner) => owner === who.login || who.teams.has(owner)) ?? false;
}

const MATCHERS = new WeakMap<OwnerLine, RegExp>();

/** Made once for each line, since every question tries many lines. */
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
