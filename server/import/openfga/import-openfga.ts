// Tuples of OpenFGA as a policy: an object is a namespace, its type a family, a relation an action. A relation that other tuples name as a set
// of users is a role as well.
import { canonicalize, type Identity, makeIdentity } from '../../../engine/index.js';
import type { ForeignFile, ImportedMember, ImportedPolicy, ImportQuestion, Unsaid } from '../imported-policy.js';
import { type Actions, makeActions, requireFewScopes } from '../make-actions.js';
import { asSegment, makeNames } from '../make-names.js';
import { makeMembers, namedRoles } from '../role-members.js';
import { valueIn } from '../value-in.js';
import { checkerFor, targetsByUser } from './check.js';
import { readTuples, type RelationTuple } from './read-tuples.js';

const RECORDS = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];
/** Somebody and something that no tuple names: a rule that is too wide shows there. */
const STRANGER = 'bailiwick-nobody';
const ELSEWHERE = 'bailiwick-nothing';

/** Throws `ForeignFault`. */
export function importOpenFga(files: readonly ForeignFile[]): ImportedPolicy {
  const { tuples, unsaid: unread } = readTuples(files);
  const providers = makeNames();
  const identityOf = (user: string): ReturnType<typeof makeIdentity> => {
    const [type, id] = partsOf(user);
    // `-group` at the end belongs to the groups of a provider.
    return makeIdentity(providers.of(type, type.replace(/-group$/, '-groups')), id);
  };
  const sets = new Set(tuples.map(({ user }) => user).filter((user) => user.includes('#')));
  const links = tuples
    .map((tuple) => ({ ...tuple, rule: ruleOf(tuple), member: tuple.user, role: `${tuple.object}#${tuple.relation}` }))
    .filter(({ role }) => sets.has(role));
  const members = makeMembers(links, identityOf, sets);
  const unsaid: Unsaid[] = [...unread, ...members.unsaid];
  const names = makeNames();
  const { roles } = namedRoles(members, names.of, (set) => `All that are ${set}`);
  const words = wordsOf(tuples);
  const ids = makeNames();
  const grants = tuples.flatMap((tuple) => {
    const { user, relation, object, file, line } = tuple;
    const made = identityOf(user);
    const to: ImportedMember | null = sets.has(user)
      ? { role: names.of(user) }
      : made.ok
        ? { identity: made.identity }
        : null;
    if (to === null) {
      unsaid.push({ file, line, rule: ruleOf(tuple), why: `no identity can be called \`${user}\`` });
      return [];
    }
    if (!isPlace(object)) {
      unsaid.push({ file, line, rule: ruleOf(tuple), why: `\`${object}\` is too long for a namespace` });
      return [];
    }
    const [id, namespace] = [ids.of(JSON.stringify([user, relation, object]), ruleOf(tuple)), namespaceOf(object)];
    const reason = `${ruleOf(tuple)}, ${file}:${String(line)}`;
    return [{ id, to, namespace, scopes: [words.scopeOf(relation, object)], inherit: false, reason }];
  });
  const asked = askedOf(tuples);
  const users = asked.users.flatMap((user) => {
    const made = identityOf(user);
    return made.ok ? [{ user, identity: made.identity }] : [];
  });
  return {
    providers: providersOf(tuples, providers.of),
    families: words.families,
    roles,
    grants: [...new Map(grants.map((grant) => [grant.id, grant])).values()],
    rules: tuples.length + unread.length,
    unsaid,
    notes:
      tuples.length > 0
        ? ['relations are compared as the tuples have them, without a model that derives more of them']
        : [],
    questionCount: users.length * asked.targets.length,
    questions: () => questionsOf(tuples, { users, targets: asked.targets, words }),
  };
}

function ruleOf({ user, relation, object }: RelationTuple): string {
  return `${user} ${relation} ${object}`;
}

function partsOf(text: string): readonly [type: string, id: string] {
  const cut = text.indexOf(':');
  return [text.slice(0, cut), text.slice(cut + 1)];
}

function namespaceOf(object: string): string {
  return `/${partsOf(object).map(asSegment).join('/')}`;
}

function isPlace(object: string): boolean {
  return canonicalize(namespaceOf(object)).ok;
}

function providersOf(tuples: readonly RelationTuple[], nameOf: (type: string) => string): ImportedPolicy['providers'] {
  const types = new Set(tuples.filter(({ user }) => !user.includes('#')).map(({ user }) => partsOf(user)[0]));
  return [...types].map((type) => ({ name: nameOf(type), description: `Users of the type ${type} of OpenFGA` }));
}

interface RelationNames {
  readonly families: ImportedPolicy['families'];
  readonly scopeOf: (relation: string, object: string) => string;
}

function wordsOf(tuples: readonly RelationTuple[]): RelationNames {
  const relations = new Map<string, string[]>();
  for (const { object, relation } of tuples) {
    const [type] = partsOf(object);
    valueIn(relations, type, () => []).push(relation);
  }
  const names = makeNames(RECORDS);
  const byType = new Map<string, Actions>(
    [...relations].map(([type, list]) => [type, makeActions(names.of(type), list)]),
  );
  const families = [...byType.values()].flatMap(({ family }) => (family === null ? [] : [family]));
  requireFewScopes(families);
  return { families, scopeOf: (relation, object) => byType.get(partsOf(object)[0])?.scopeOf(relation) ?? '' };
}

interface Target {
  readonly relation: string;
  readonly object: string;
}

/** Every object with every relation that its type has, one object of each type that no tuple names, and every user. */
function askedOf(tuples: readonly RelationTuple[]): {
  readonly users: readonly string[];
  readonly targets: readonly Target[];
} {
  const named = tuples.filter(({ user }) => !user.includes('#')).map(({ user }) => user);
  const users = new Set(named.flatMap((user) => [user, `${partsOf(user)[0]}:${STRANGER}`]));
  const types = new Map<string, { readonly objects: Set<string>; readonly relations: Set<string> }>();
  for (const { object, relation } of tuples) {
    const [type] = partsOf(object);
    const of = types.get(type) ?? { objects: new Set([`${type}:${ELSEWHERE}`]), relations: new Set<string>() };
    of.objects.add(object);
    of.relations.add(relation);
    types.set(type, of);
  }
  const targets = [...types.values()].flatMap(({ objects, relations }) =>
    [...objects].filter(isPlace).flatMap((object) => [...relations].map((relation) => ({ relation, object }))),
  );
  return { users: [...users], targets };
}

function* questionsOf(
  tuples: readonly RelationTuple[],
  asked: {
    readonly users: readonly { readonly user: string; readonly identity: Identity }[];
    readonly targets: readonly Target[];
    readonly words: RelationNames;
  },
): Generator<ImportQuestion> {
  const byUser = targetsByUser(tuples);
  for (const { user, identity } of asked.users) {
    const check = checkerFor(byUser, user);
    for (const { relation, object } of asked.targets) {
      const scope = asked.words.scopeOf(relation, object);
      const where = { scope, namespace: namespaceOf(object), allowed: check(relation, object) };
      yield { text: `${user} ${relation} ${object}`, identities: [identity], ...where };
    }
  }
}
