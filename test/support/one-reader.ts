// An actor who may read everything below `/a` and nothing else, and resources to read there. For tests in which records
// change but the policy does not.
import { RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import fc from 'fast-check';
import { ALL_SCOPES, instantOf } from '../../engine/index.js';
import { IDENTITIES, pathOf, policyOf } from '../engine/oracle/worlds.js';
import type { Json } from '../server/query/oracle/evaluate.js';
import type { Asker } from './query-doors.js';
import { compiled, idOf, PLACES, recordOf } from './query-worlds.js';

const [ADA = { provider: 'orcid', subject: 'ada' }] = IDENTITIES;
const grant = {
  principal: { kind: 'identity', identity: ADA },
  namespace: pathOf('/a'),
  scopes: RECORD_SCOPE_SET,
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
} as const;

export const READER: Asker = {
  actor: { kind: 'request', identities: [ADA], credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
  at: instantOf(5),
  policy: compiled(policyOf([], [grant])),
};

export function isBelowA({ namespace }: Json): boolean {
  return namespace === '/a' || String(namespace).startsWith('/a/');
}

/** Mostly where the reader reads; sometimes next door. */
export const someResource = recordOf(
  'resource',
  PLACES.filter((place) => place === '/a' || place.startsWith('/a/') || place === '/a0'),
);

/** Who may read a namespace is told where there is none: the reader's contexts exist. */
export const HOMES: readonly Json[] = ['/a', '/a/b'].flatMap((namespace, index) =>
  fc
    .sample(recordOf('namespace', [namespace]), { seed: 3, numRuns: 1 })
    .map((record) => ({ ...record, id: idOf(`ffee${String(index)}`) })),
);
