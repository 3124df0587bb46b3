// The time of `visibility` for a resolved actor with 1,000 grants, each in a namespace of its own, among 20,000 grants of others:
// node visibility.mjs. Prints one line of JSON, in microseconds.
import { adopt, ALL_SCOPES, packSnapshot, parseInstant, resolveActor, visibilityAs } from '../../dist/engine/index.js';
import { compile } from './contestants/own.mjs';

const GRANTS = 1000;
const OTHERS = 20_000;
const ROUNDS = 500;

const identityOf = (number) => ({ provider: 'campus', subject: `person-${number}` });
const grants = Array.from({ length: GRANTS + OTHERS }, (_, i) => ({
  identity: identityOf(i < GRANTS ? 0 : i),
  namespace: `/division-${i % 7}/department-${i % 50}/team-${i}`,
  scopes: ['resource:read'],
}));
const policy = adopt(packSnapshot(compile({ roles: [], grants })).packed);
const actor = resolveActor(policy, {
  kind: 'request',
  identities: [identityOf(0)],
  credentialScopes: ALL_SCOPES,
  namespaceRestrictions: null,
});
const asked = {
  request: { family: 'resource', context: '/', reach: 'subtree' },
  at: parseInstant('2027-01-01T00:00:00Z'),
};

const times = Array.from({ length: ROUNDS }, () => {
  const started = performance.now();
  const seen = visibilityAs(actor, asked);
  const took = (performance.now() - started) * 1000;
  if (seen.kind !== 'some' || seen.subtrees.length !== GRANTS) throw new Error('it answers wrong');
  return took;
});
const [first] = times;
times.sort((a, b) => a - b);
process.stdout.write(`${JSON.stringify({ grants: GRANTS, first, median: times[ROUNDS >> 1] })}\n`);
