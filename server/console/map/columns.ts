// The columns of the map: everybody, and inside them roles, people or identities. What is in a column is a list of identities; somebody
// in several roles stands in each of them and counts once in everybody.
import { type Opened, PINNED, type TreeLine } from './axis.js';

export type Grouping = 'people' | 'roles' | 'identities';
export const GROUPINGS: readonly Grouping[] = ['people', 'roles', 'identities'];

/** Whom a policy names: numbers are rows of `identities`. */
export interface Cast {
  readonly identities: readonly string[];
  readonly roles: readonly {
    readonly name: string;
    readonly roles: readonly number[];
    readonly identities: readonly number[];
  }[];
  readonly people: readonly { readonly name: string; readonly identities: readonly number[] }[];
}

export interface Column extends TreeLine {
  readonly identities: readonly number[];
  /** What it is called by itself. */
  readonly name: string;
}

/** A part of the tree, whose children are made when it is first opened: roles within roles would otherwise be written out. */
interface Branch {
  readonly key: string;
  readonly text: string;
  readonly kind: string;
  readonly depth: number;
  readonly identities: readonly number[];
  readonly children: () => readonly Branch[];
}

const NOTHING_INSIDE = (): readonly Branch[] => [];

export function makeColumns(cast: Cast, grouping: Grouping): Branch {
  const everyone = cast.identities.map((_, row) => row);
  return {
    key: '',
    text: 'everybody',
    kind: 'all',
    depth: 0,
    identities: everyone,
    children: once(() =>
      grouping === 'roles' ? rolesIn(cast) : grouping === 'people' ? peopleIn(cast) : providersIn(cast),
    ),
  };
}

function leaf(cast: Cast, row: number, { key, depth }: Pick<Branch, 'key' | 'depth'>): Branch {
  const text = cast.identities[row] ?? '';
  return { key: `${key}\n${text}`, text, kind: 'identity', depth, identities: [row], children: NOTHING_INSIDE };
}

function providersIn(cast: Cast): readonly Branch[] {
  const groups = new Map<string, number[]>();
  cast.identities.forEach((text, row) => {
    const provider = text.slice(0, text.indexOf(':'));
    const own = groups.get(provider);
    if (own === undefined) groups.set(provider, [row]);
    else own.push(row);
  });
  return Array.from(groups, ([text, identities]) => ({
    ...{ key: `\n${text}`, text, kind: 'provider', depth: 1, identities },
    children: once(() => identities.map((row) => leaf(cast, row, { key: `\n${text}`, depth: 2 }))),
  }));
}

function peopleIn(cast: Cast): readonly Branch[] {
  const named = new Set(cast.people.flatMap(({ identities }) => identities));
  const people = cast.people.map(({ name, identities }): Branch => {
    const key = `\nperson ${name}`;
    const children = once(() => identities.map((row) => leaf(cast, row, { key, depth: 2 })));
    return { key, text: name, kind: 'person', depth: 1, identities, children };
  });
  const others = cast.identities.flatMap((_, row) => (named.has(row) ? [] : [leaf(cast, row, { key: '', depth: 1 })]));
  return [...people, ...others];
}

function rolesIn(cast: Cast): readonly Branch[] {
  const inner = new Set(cast.roles.flatMap(({ roles }) => roles));
  const membersOf = (start: number): readonly number[] => {
    const roles = new Set([start]);
    const members = new Set<number>();
    // Iterating a set also visits what is added meanwhile.
    for (const role of roles) {
      for (const one of cast.roles[role]?.identities ?? []) members.add(one);
      for (const one of cast.roles[role]?.roles ?? []) roles.add(one);
    }
    return [...members].sort((a, b) => a - b);
  };
  const branch = (role: number, above: Pick<Branch, 'key' | 'depth'>): Branch => {
    const { name = '', roles = [], identities = [] } = cast.roles[role] ?? {};
    const own = { key: `${above.key}\nrole ${name}`, depth: above.depth + 1 };
    const inside = { ...own, depth: own.depth + 1 };
    return {
      ...own,
      text: name,
      kind: 'role',
      identities: membersOf(role),
      children: once(() => [
        ...roles.map((one) => branch(one, own)),
        ...identities.map((row) => leaf(cast, row, inside)),
      ]),
    };
  };
  const top = cast.roles.flatMap((_, role) => (inner.has(role) ? [] : [branch(role, { key: '', depth: 0 })]));
  const inRoles = new Set(cast.roles.flatMap(({ identities }) => identities));
  const alone = cast.identities.flatMap((_, row) => (inRoles.has(row) ? [] : [row]));
  if (alone.length === 0) return top;
  const key = '\nin no role';
  const children = once(() => alone.map((row) => leaf(cast, row, { key, depth: 2 })));
  return [...top, { key, text: 'in no role', kind: 'none', depth: 1, identities: alone, children }];
}

export interface ColumnsAsked {
  readonly opened: Opened;
  readonly search: string;
  /** Keys of columns that stand first, whatever else is shown. */
  readonly pinned?: readonly string[];
}

/** The visible columns, from left to right. A search leaves what has its text, and what that is in. */
export function visibleColumns(all: Branch, { opened, search, pinned = [] }: ColumnsAsked): readonly Column[] {
  const columns: Column[] = pinned.flatMap((wanted) => {
    const branch = branchOf(all, wanted);
    if (branch === null) return [];
    const { key, text, identities } = branch;
    return [{ key, text, depth: 1, kind: PINNED, identities, name: text, isOpen: null }];
  });
  const but = new Set(opened.but);
  const isOpenHere = (key: string): boolean => opened.all !== but.has(key);
  const walk = (branch: Branch, isWanted: boolean): boolean => {
    const wanted = isWanted || branch.text.includes(search);
    const at = columns.length;
    const hasChildren = branch.children !== NOTHING_INSIDE;
    const isOpen = hasChildren && (isOpenHere(branch.key) || (search !== '' && !wanted));
    const { key, text, depth, kind, identities } = branch;
    columns.push({ key, text, depth, kind, identities, name: text, isOpen: hasChildren ? isOpen : null });
    let found = wanted;
    if (isOpen)
      for (const child of branch.children()) found = walk(child, wanted && search !== '' && branch.key !== '') || found;
    if (!found) columns.length = at;
    return found;
  };
  walk(all, search === '');
  return columns;
}

/** A key begins with the key of what its column is in. */
function branchOf(branch: Branch, key: string): Branch | null {
  if (branch.key === key) return branch;
  if (!key.startsWith(`${branch.key}\n`)) return null;
  for (const child of branch.children()) {
    const found = branchOf(child, key);
    if (found !== null) return found;
  }
  return null;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

export function isGrouping(text: string): text is Grouping {
  return GROUPINGS.some((grouping) => grouping === text);
}
