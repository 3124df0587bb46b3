// The workload: a tree of namespaces up to six levels deep, people with one to four identities, nested roles, grants, and 20,000 requests.
// Half of the requests are allowed. Everything is plain data for any engine.
import { isWithin } from './paths.mjs';
import { makeRandom } from './random.mjs';

const FAMILIES = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];
export const SCOPES = FAMILIES.flatMap((family) => [`${family}:read`, `${family}:write`]);
const PROVIDERS = ['campus', 'orcid', 'github', 'partner', 'ldap', 'x509'];
const WORDS =
  'labs optics amx laser beam cryo vacuum imaging assay cell archive core field north south plant soil water solar wind plasma ion photon nano chem math sim model stage data raw'.split(
    ' ',
  );
const READS = SCOPES.filter((scope) => scope.endsWith(':read'));

/** What grants give, and how often. */
const BUNDLES = [
  [14, READS],
  [4, SCOPES],
  [6, ['namespace:read']],
  [8, ['namespace:read', 'resource:read']],
  [10, ['namespace:read', 'resource:read', 'resource:write']],
  [6, ['resource-template:read', 'resource:read']],
  [5, ['resource-template:read', 'resource-template:write']],
  [8, ['process-template:read', 'process-run:read', 'process-run:write']],
  [6, ['resource:read', 'process-run:read']],
  [5, [...READS, 'process-run:write']],
  ...SCOPES.map((scope) => [1, [scope]]),
];
const DEPTH_OF_NAMESPACES = [0, 2, 6, 17, 25, 25, 25];
const DEPTH_OF_GRANTS = [0.02, 1, 6, 18, 30, 27, 18];
const IDENTITIES_OF_ACTOR = [0, 30, 35, 20, 15];
const ROLES_OF_IDENTITY = [35, 35, 20, 10];
const ROLE_DEPTH = 5;
/** Why a request is denied, and how often. */
const OBSTACLES = ['nothing granted', 'other scope', 'credential', 'restriction', 'sibling'];
const OBSTACLE_WEIGHTS = [40, 25, 10, 15, 10];

/** `{ policy: { roles, grants }, requests }`. */
export function makeWorkload(grants, { seed = 1, requests = 20_000 } = {}) {
  const random = makeRandom(seed * 7919 + grants);
  const tree = makeTree(random, Math.max(200, Math.min(100_000, grants / 10)));
  const { identities, actors } = makePeople(random, grants / 10);
  const roles = makeRoles(random, identities, Math.max(2, Math.round(grants / 200)));
  const policy = { roles, grants: makeGrants(random, { tree, identities, roles, count: grants }) };
  return { policy, requests: makeRequests(random, { tree, actors, policy, count: requests }) };
}

function makeTree(random, count) {
  const root = { path: '/', depth: 0, children: [] };
  const levels = [[root]];
  for (let made = 1; made < count; made += 1) {
    let depth = random.weighted(DEPTH_OF_NAMESPACES);
    while (levels[depth - 1] === undefined) depth -= 1;
    const parent = random.pick(levels[depth - 1]);
    // Some names are prefixes of other names, which naive prefix comparisons get wrong.
    const twin = parent.children.length > 0 && random.chance(0.15) ? lastSegment(random.pick(parent.children)) : null;
    let name = twin === null ? random.pick(WORDS) : `${twin}${random.pick(['2', '-b', 'x', '.old'])}`;
    const taken = new Set(parent.children.map(lastSegment));
    while (taken.has(name)) name = `${random.pick(WORDS)}-${random.int(100_000)}`;
    const node = { path: `${depth === 1 ? '' : parent.path}/${name}`, depth, children: [] };
    parent.children.push(node);
    (levels[depth] ??= []).push(node);
  }
  return { root, levels, all: levels.flat() };
}

const lastSegment = ({ path }) => path.slice(path.lastIndexOf('/') + 1);

function makePeople(random, count) {
  const identities = [];
  const actors = [];
  while (identities.length < count) {
    const own = Math.min(count - identities.length, random.weighted(IDENTITIES_OF_ACTOR));
    const first = random.int(PROVIDERS.length);
    actors.push(
      Array.from({ length: own }, (_, i) => {
        const provider = PROVIDERS[(first + i) % PROVIDERS.length];
        const identity = { provider, subject: subjectOf(random, provider, identities.length) };
        identities.push(identity);
        return identity;
      }),
    );
  }
  return { identities, actors };
}

function subjectOf(random, provider, number) {
  const padded = String(number).padStart(7, '0');
  if (provider === 'orcid') return `0000-0002-${String(random.int(10_000)).padStart(4, '0')}-${padded}`;
  if (provider === 'x509') return `CN=user ${number},O=${random.pick(WORDS)},C=DE`;
  return provider === 'github' ? `u${number}` : `${random.pick(WORDS)}-${random.int(10_000)}-${padded}`;
}

/** Members are identities and roles with higher numbers, so that there are no cycles. */
function makeRoles(random, identities, count) {
  const roles = Array.from({ length: count }, (_, i) => ({
    name: `${random.pick(WORDS)}-team-${i}`,
    identities: [],
    roles: [],
  }));
  const depth = new Array(count).fill(0);
  for (let i = 1; i < count; i += 1) {
    const outer = random.int(i);
    if (!random.chance(0.4) || depth[outer] >= ROLE_DEPTH) continue;
    roles[outer].roles.push(roles[i].name);
    depth[i] = depth[outer] + 1;
  }
  for (const identity of identities) {
    const own = new Set(Array.from({ length: random.weighted(ROLES_OF_IDENTITY) }, () => random.int(count)));
    for (const role of own) roles[role].identities.push(identity);
  }
  return roles;
}

/** Four of five grants go to an identity, the others to a role. */
function makeGrants(random, { tree, identities, roles, count }) {
  const weights = BUNDLES.map(([weight]) => weight);
  return Array.from({ length: count }, () => {
    let depth = random.weighted(DEPTH_OF_GRANTS);
    while (tree.levels[depth] === undefined) depth -= 1;
    const namespace = random.pick(tree.levels[depth]).path;
    const scopes = BUNDLES[random.weighted(weights)][1];
    return random.chance(0.8)
      ? { identity: random.pick(identities), namespace, scopes }
      : { role: random.pick(roles).name, namespace, scopes };
  });
}

function makeRequests(random, { tree, actors, policy, count }) {
  const grantsOf = indexGrants(policy);
  const byPath = new Map(tree.all.map((node) => [node.path, node]));
  const world = { random, tree, byPath, grantsOf };
  const wanted = { allowed: count / 2, denied: count / 2 };
  const requests = [];
  while (requests.length < count) {
    const actor = random.int(actors.length);
    const request = draftRequest(world, actors[actor], wanted.allowed > 0 && random.chance(0.5));
    if (request === null) continue;
    const kind = isAllowed(request, grantsOf(request.identities)) ? 'allowed' : 'denied';
    if (wanted[kind] === 0) continue;
    wanted[kind] -= 1;
    requests.push({ actor: `actor-${actor}`, ...request });
  }
  return requests;
}

function draftRequest({ random, tree, byPath, grantsOf }, identities, toBeAllowed) {
  const grants = grantsOf(identities);
  const grant = grants.length === 0 ? null : random.pick(grants);
  const obstacle = toBeAllowed ? null : grant === null ? OBSTACLES[0] : OBSTACLES[random.weighted(OBSTACLE_WEIGHTS)];
  if (toBeAllowed && grant === null) return null;
  const elsewhere = grant === null || obstacle === 'nothing granted';
  let target = elsewhere ? random.pick(tree.all).path : descend(random, byPath.get(grant.namespace)).path;
  if (obstacle === 'sibling' && grant.namespace !== '/')
    target = `${grant.namespace}${random.pick(['2', '-b', '.old'])}`;
  // A path that no grant names is still below its ancestors.
  if (target !== '/' && random.chance(0.02)) target = `${target}/unlisted-${random.int(1000)}`;
  const others = obstacle === 'other scope' ? SCOPES.filter((scope) => !grant.scopes.includes(scope)) : [];
  const scope = elsewhere ? random.pick(SCOPES) : others.length > 0 ? random.pick(others) : random.pick(grant.scopes);
  const carried = random.chance(0.5) ? SCOPES : SCOPES.filter((one) => one === scope || random.chance(0.5));
  const scopes = obstacle === 'credential' ? carried.filter((one) => one !== scope) : carried;
  return { identities, scopes, restrictions: restrictionsFor({ random, tree }, target, obstacle), scope, target };
}

function restrictionsFor({ random, tree }, target, obstacle) {
  const some = (count) => Array.from({ length: count }, () => random.pick(tree.all).path);
  if (obstacle === 'restriction') return some(1 + random.int(3)).filter((path) => !isWithin(target, path));
  if (!random.chance(0.3)) return null;
  const segments = target.split('/').slice(1);
  const above = target === '/' ? '/' : `/${segments.slice(0, 1 + random.int(segments.length)).join('/')}`;
  return [...some(random.int(3)), above];
}

function descend(random, from) {
  let node = from;
  while (node.children.length > 0 && random.chance(0.8)) node = random.pick(node.children);
  return node;
}

/** All grants of somebody's identities and of the roles that these are in. */
function indexGrants({ roles, grants }) {
  const key = ({ provider, subject }) => `${provider}:${subject}`;
  const rolesOf = new Map();
  const own = new Map();
  const push = (map, at, value) => {
    if (map.has(at)) map.get(at).push(value);
    else map.set(at, [value]);
  };
  for (const role of roles) {
    for (const identity of role.identities) push(rolesOf, key(identity), `role ${role.name}`);
    for (const inner of role.roles) push(rolesOf, `role ${inner}`, `role ${role.name}`);
  }
  for (const grant of grants) push(own, grant.role === undefined ? key(grant.identity) : `role ${grant.role}`, grant);
  return (identities) => {
    const reached = new Set(identities.map(key));
    for (const holder of reached) for (const role of rolesOf.get(holder) ?? []) reached.add(role);
    return [...reached].flatMap((holder) => own.get(holder) ?? []);
  };
}

/** Used only to balance the requests. The verdicts come from reference.mjs. */
function isAllowed({ scopes, restrictions, scope, target }, grants) {
  return (
    scopes.includes(scope) &&
    (restrictions === null || restrictions.some((path) => isWithin(target, path))) &&
    grants.some((grant) => grant.scopes.includes(scope) && isWithin(target, grant.namespace))
  );
}
