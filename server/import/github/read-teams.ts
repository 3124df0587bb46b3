// Teams of a GitHub organization as its GraphQL API answers (docs/importing.md has the query).
import { ForeignFault, type ForeignFile, type SourcePlace, type Unsaid } from '../imported-policy.js';
import {
  type DocumentFields,
  type ForeignDocument,
  isFields,
  listOf,
  readDocuments,
  textOf,
} from '../read-documents.js';

/** The permissions of GitHub, each with all before it. */
export const LEVELS = ['read', 'triage', 'write', 'maintain', 'admin'] as const;
export type Level = (typeof LEVELS)[number];

export interface Team {
  readonly place: SourcePlace;
  readonly slug: string;
  readonly parent: string | null;
  /** Logins, in lower case as GitHub compares them. */
  readonly members: readonly string[];
  readonly repositories: readonly { readonly place: SourcePlace; readonly name: string; readonly level: Level }[];
}

export interface Organization {
  readonly login: string;
  readonly teams: readonly Team[];
}

/** A list of which a page says whether there are more. */
interface PagedList extends SourcePlace {
  readonly rule: string;
  readonly continues: boolean;
}

export interface TeamsPage extends Organization {
  readonly lists: readonly PagedList[];
}

type Path = readonly (string | number)[];
type PlaceOf = (path: Path) => SourcePlace;

/** Each document of the file is a page. Throws `ForeignFault`. */
export function readTeams(file: ForeignFile): readonly TeamsPage[] {
  const documents = readDocuments(file);
  if (documents.length === 0) throw new ForeignFault({ file: file.path, line: 1 }, 'is empty');
  return documents.map(readPage);
}

/** Lists that go on where no page has their end. */
export function missingPages(pages: readonly TeamsPage[]): readonly Unsaid[] {
  const lists = pages.flatMap((page) => page.lists);
  const ended = new Set(lists.filter(({ continues }) => !continues).map(({ rule }) => rule));
  return lists
    .filter(({ rule, continues }) => continues && !ended.has(rule))
    .map(({ file, line, rule }) => ({
      file,
      line,
      rule,
      why: 'the list continues on further pages, which no file has',
    }));
}

function readPage({ value, placeOf }: ForeignDocument): TeamsPage {
  const top: Path = isFields(value) && isFields(value['data']) ? ['data', 'organization'] : ['organization'];
  const organization = top.reduce<unknown>((at, key) => (isFields(at) ? at[String(key)] : undefined), value);
  if (!isFields(organization)) throw new ForeignFault(placeOf([]), 'has no `organization`');
  const login = textOf(organization['login'], placeOf(top), '`login`').toLowerCase();
  const lists: PagedList[] = [];
  const pages = (holder: unknown, path: Path, rule: string): void => {
    const info = isFields(holder) ? holder['pageInfo'] : undefined;
    const continues = isFields(info) ? info['hasNextPage'] : undefined;
    if (typeof continues === 'boolean') lists.push({ ...placeOf(path), rule, continues });
  };
  const { teams } = organization;
  const path = [...top, 'teams'];
  pages(teams, path, `teams of ${login}`);
  const nodes = listOf(isFields(teams) ? teams['nodes'] : undefined, placeOf(path), '`teams.nodes`');
  return {
    login,
    teams: nodes.map((node, i) => readTeam(node, [...path, 'nodes', i], { placeOf, pages })),
    lists,
  };
}

interface TeamsReading {
  readonly placeOf: PlaceOf;
  readonly pages: (holder: unknown, path: Path, what: string) => void;
}

function readTeam(node: unknown, path: Path, { placeOf, pages }: TeamsReading): Team {
  const place = placeOf(path);
  if (!isFields(node)) throw new ForeignFault(place, 'a team must be an object');
  const slug = textOf(node['slug'], place, '`slug`').toLowerCase();
  const parent = isFields(node['parentTeam']) ? textOf(node['parentTeam']['slug'], place, '`parentTeam.slug`') : null;
  pages(node['members'], [...path, 'members'], `members of ${slug}`);
  pages(node['repositories'], [...path, 'repositories'], `repositories of ${slug}`);
  const inside = (key: string, list: string): readonly (readonly [DocumentFields, SourcePlace])[] => {
    const holder = node[key];
    const items = listOf(isFields(holder) ? holder[list] : undefined, place, `\`${key}.${list}\``);
    return items.map((item, i) => {
      const at = placeOf([...path, key, list, i]);
      if (!isFields(item)) throw new ForeignFault(at, `\`${key}.${list}\` must have objects`);
      return [item, at] as const;
    });
  };
  return {
    place,
    slug,
    parent: parent?.toLowerCase() ?? null,
    members: inside('members', 'nodes').map(([item, at]) => textOf(item['login'], at, '`login`').toLowerCase()),
    repositories: inside('repositories', 'edges').map(([item, at]) => {
      const level = LEVELS.find((one) => one === textOf(item['permission'], at, '`permission`').toLowerCase());
      if (level === undefined) throw new ForeignFault(at, `\`permission\` must be one of ${LEVELS.join(', ')}`);
      const repository = isFields(item['node']) ? item['node']['name'] : undefined;
      return { place: at, name: textOf(repository, at, '`node.name`').toLowerCase(), level };
    }),
  };
}
