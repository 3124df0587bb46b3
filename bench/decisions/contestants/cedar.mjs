// Cedar's WebAssembly build. The application finds the policies whose principal and resource can match by an index, as Cedar's
// documentation advises, and Cedar is given these few with the entities of the request: with all of them in each call it is far slower.
import { createRequire } from 'node:module';
import { ancestorsOf } from '../paths.mjs';
import { holderOf, makeApplication, passesCredential } from './application.mjs';

const cedar = createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs');

export function load(policy) {
  const { holdersOf } = makeApplication({ roles: policy.roles, grants: [] });
  const index = indexPolicies(policy.grants);
  return (request) => {
    if (!passesCredential(request)) return false;
    const holders = [...holdersOf(request.identities)];
    const paths = ancestorsOf(request.target);
    const candidates = holders.flatMap((holder) => {
      const byNamespace = index.get(holder);
      return byNamespace === undefined ? [] : paths.flatMap((path) => byNamespace.get(path) ?? []);
    });
    return candidates.length > 0 && isAuthorized(request, { holders, paths, candidates });
  };
}

function indexPolicies(grants) {
  const index = new Map();
  for (const grant of grants) {
    const holder = holderOf(grant);
    const byNamespace = index.get(holder) ?? new Map();
    index.set(holder, byNamespace);
    byNamespace.set(grant.namespace, [...(byNamespace.get(grant.namespace) ?? []), policyOf(grant, holder)]);
  }
  return index;
}

function policyOf({ namespace, scopes }, holder) {
  return {
    effect: 'permit',
    principal: { op: 'in', entity: { type: 'Holder', id: holder } },
    action: { op: 'in', entities: scopes.map((scope) => ({ type: 'Action', id: scope })) },
    resource: { op: 'in', entity: { type: 'Namespace', id: namespace } },
    conditions: [],
  };
}

function isAuthorized({ actor, scope, target }, { holders, paths, candidates }) {
  const principal = { type: 'Actor', id: actor };
  const resource = { type: 'Namespace', id: target };
  const answer = cedar.isAuthorized({
    principal,
    action: { type: 'Action', id: scope },
    resource,
    context: {},
    validateRequest: false,
    policies: {
      staticPolicies: Object.fromEntries(candidates.map((policy, row) => [`p${row}`, policy])),
      templates: {},
      templateLinks: [],
    },
    entities: [
      { uid: principal, attrs: {}, parents: holders.map((id) => ({ type: 'Holder', id })) },
      { uid: resource, attrs: {}, parents: paths.slice(1).map((id) => ({ type: 'Namespace', id })) },
    ],
  });
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer));
  return answer.response.decision === 'allow';
}
