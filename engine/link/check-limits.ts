// How much of everything a policy may hold (`limits.ts`). Each kind is reported once, at the place where it passes its
// limit.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { EngineLimits } from '../limits.js';
import type { PolicyDocument } from '../model/document.js';
import { countPairs } from '../model/exclusions.js';
import { rememberLast } from '../model/group.js';
import { depthOf, type NamespacePath, pastNamespaces } from '../model/namespace.js';
import type { Sink } from '../diagnostics/report.js';
import { SCOPES } from '../model/scope.js';
import type { Span } from '../model/span.js';
import { findingAt } from './places.js';

interface Counted {
  /** What is counted; the kind if that is left out. */
  readonly words?: string;
  readonly help?: string;
  readonly kind: keyof EngineLimits;
  /** The declarations, each with the number that it counts as; 1 if that is left out. */
  readonly of: (document: PolicyDocument) => readonly (readonly [at: Span | null, count?: number])[];
}

const COUNTED: readonly Counted[] = [
  { kind: 'providers', of: ({ header }) => (header?.providers ?? []).map(({ name }) => [name]) },
  {
    kind: 'scopes',
    words: 'scopes: the ten, and `read`, `write` and the actions of each family that it declares',
    help: 'declare fewer families or actions: one action may stand for several that the same people may always do',
    of: ({ header }) =>
      (header?.families ?? []).map(({ name, actions }, i) => [
        name,
        (i === 0 ? SCOPES.length : 0) + 2 + (actions?.length ?? 0),
      ]),
  },
  {
    kind: 'exclusive',
    words: 'pairs of exclusive identities: a list of `exclusive` has a pair for each two of its identities',
    of: ({ header }) => (header?.exclusive ?? []).map((list) => [list, countPairs([list.identities.length])]),
  },
  { kind: 'roles', of: ({ roles }) => roles.map(({ name }) => [name]) },
  { kind: 'members', of: ({ roles }) => roles.map(({ name, members }) => [name, members.length]) },
  { kind: 'people', of: ({ people }) => people.map(({ name, identities }) => [name, identities.length]) },
  { kind: 'grants', of: ({ grants }) => grants.map(({ id }) => [id]) },
  { kind: 'tests', of: ({ tests }) => tests.map(({ name }) => [name]) },
  {
    kind: 'expectations',
    of: ({ tests }) => tests.map(({ name, allow, deny, sees }) => [name, allow.length + deny.length + sees.length]),
  },
  { kind: 'guardrails', of: ({ guardrails }) => guardrails.map(({ id }) => [id]) },
];

/** What a document adds to each total, in the order of `COUNTED`. A document that is remembered is counted once. */
const countsOf = rememberLast((document: PolicyDocument): readonly number[] =>
  COUNTED.map(({ of }) => of(document).reduce((total, [, count = 1]) => total + count, 0)),
);

/** At most so many namespaces. */
const namespacesOf = rememberLast(({ grants }: PolicyDocument): number =>
  grants.reduce((total, { namespace }) => total + (namespace === null ? 0 : depthOf(namespace.value)), 0),
);

export function checkLimits(documents: readonly PolicyDocument[], limits: EngineLimits, sink: Sink): void {
  const counts = documents.map((document) => countsOf(document));
  COUNTED.forEach((counted, i) => {
    const limit = limits[counted.kind];
    if (sum(counts.map((one) => one[i] ?? 0)) > limit) reportPast(documents, counted, { limit, sink });
  });
  // The root is one, too.
  const most = 1 + sum(documents.map((document) => namespacesOf(document)));
  if (most > limits.namespaces) checkNamespaces(documents, limits.namespaces, sink);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function checkNamespaces(documents: readonly PolicyDocument[], limit: number, sink: Sink): void {
  const paths: NamespacePath[] = [];
  for (const { grants } of documents)
    for (const { namespace } of grants) if (namespace !== null) paths.push(namespace.value);
  const position = pastNamespaces(paths, limit);
  if (position < 0) return;
  const named = documents.flatMap((document) =>
    document.grants.flatMap(({ namespace }) => (namespace === null ? [] : [{ document, namespace }])),
  );
  const past = named[position];
  if (past === undefined) return;
  const message = `the policy has more than ${groupDigits(limit)} namespaces, counted with those above them`;
  sink.add(findingAt(past.document, past.namespace, { code: 'LIMIT_COUNT', message, help: 'split the policy' }));
}

/** Reports the declaration that passes the limit. */
function reportPast(
  documents: readonly PolicyDocument[],
  { kind, words = kind, help = 'split the policy', of }: Counted,
  { limit, sink }: { readonly limit: number; readonly sink: Sink },
): void {
  let total = 0;
  for (const document of documents) {
    for (const [at, count = 1] of of(document)) {
      total += count;
      if (total <= limit) continue;
      const message = `the policy has more than ${groupDigits(limit)} ${words}`;
      sink.add(findingAt(document, at ?? { start: 0, end: 0 }, { code: 'LIMIT_COUNT', message, help }));
      return;
    }
  }
}
