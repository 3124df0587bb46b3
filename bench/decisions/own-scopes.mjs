// The same workload with 64 scopes: each top-level namespace is about one of six sets of words, the ten scopes of records or ten of
// declared families. So the same grants decide the same requests, and only the number of scopes differs.
const SETS = 6;
/** Declared, and granted to nobody: with them there are as many scopes as a policy may have. */
const SPARE = { name: 'spare', actions: ['close', 'escalate'], description: null };

export function withOwnScopes({ policy, requests }) {
  return {
    policy: {
      ...policy,
      families: [...familiesOf(policy.grants), SPARE],
      grants: policy.grants.map((grant) => ({ ...grant, scopes: renamed(grant.scopes, grant.namespace) })),
    },
    requests: requests.map((request) => ({
      ...request,
      scope: renameFor(request.target)(request.scope),
      scopes: request.scopes.map(renameFor(request.target)),
    })),
  };
}

function familiesOf(grants) {
  const families = new Set(grants.flatMap(({ scopes }) => scopes.map((scope) => scope.split(':')[0])));
  return Array.from({ length: SETS - 1 }, (_, i) => i + 1).flatMap((set) =>
    [...families].map((family) => ({ name: `${family}-${set}`, actions: [], description: null })),
  );
}

/** A grant at the root is about all sets of words. */
function renamed(scopes, namespace) {
  if (namespace !== '/') return scopes.map(renameFor(namespace));
  return everySet((set) => scopes.map(renameTo(set))).flat();
}

/** What a kept credential carries: scopes of all sets of words, so that somebody is one actor whatever the targets. */
export function keptScopes(scopes) {
  return scopes.flatMap((scope) => everySet((set) => renameTo(set)(scope.replace(/-\d:/, ':'))));
}

/** Names a credential by the scopes that it carries of one set of words. */
export function keyOfScopes(scopes) {
  return scopes.join().replaceAll(/-\d:/g, ':');
}

function everySet(make) {
  return Array.from({ length: SETS }, (_, set) => make(set));
}

function renameFor(path) {
  const [, top = ''] = path.split('/');
  let hash = 0;
  for (const letter of top) hash = (hash * 31 + letter.charCodeAt(0)) % 65_521;
  return renameTo(hash % SETS);
}

function renameTo(set) {
  return (scope) => {
    if (set === 0) return scope;
    const [family, action] = scope.split(':');
    return `${family}-${set}:${action}`;
  };
}
