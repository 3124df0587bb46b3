// CASL with an ability kept for each actor, made of the grants of the actor's identities and roles, in the two configurations that
// were fastest of those that we tried: a condition that compares paths, and paths as subject types, asked from the target upwards.
import { Ability, subject } from '@casl/ability';
import { isWithin } from '../paths.mjs';
import { makeApplication, passesCredential } from './application.mjs';

const CONDITIONS = {
  rule: ({ namespace, scopes }) => ({
    action: scopes,
    subject: 'Namespace',
    conditions: ({ path }) => isWithin(path, namespace),
  }),
  build: (rules) => new Ability(rules, { conditionsMatcher: (matches) => matches }),
  allows: (ability, { scope, target }) => ability.can(scope, subject('Namespace', { path: target })),
};

const TYPES = {
  rule: ({ namespace, scopes }) => ({ action: scopes, subject: namespace }),
  build: (rules) => new Ability(rules),
  allows: (ability, { scope, target }) => {
    for (let path = target; ;) {
      if (ability.can(scope, path)) return true;
      if (path === '/') return false;
      const cut = path.lastIndexOf('/');
      path = cut > 0 ? path.slice(0, cut) : '/';
    }
  },
};

const cached =
  ({ rule, build, allows }) =>
  (policy) => {
    const { grantsOf, holdersOf } = makeApplication(policy);
    for (const [holder, grants] of grantsOf) grantsOf.set(holder, grants.map(rule));
    const abilities = new Map();
    return (request) => {
      if (!passesCredential(request)) return false;
      let ability = abilities.get(request.actor);
      if (ability === undefined) {
        ability = build([...holdersOf(request.identities)].flatMap((holder) => grantsOf.get(holder) ?? []));
        abilities.set(request.actor, ability);
      }
      return allows(ability, request);
    };
  };

export const loadConditions = cached(CONDITIONS);
export const loadTypes = cached(TYPES);
