// How much of everything a policy may hold (`limits.ts`). Each kind is reported once, at the place where it passes its
// limit.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { EngineLimits } from '../limits.js';
import type { PolicyDocument } from '../model/document.js';
import type { Sink } from '../diagnostics/report.js';
import type { Span } from '../model/span.js';
import { findingAt } from './places.js';

interface Counted {
  readonly kind: 'providers' | 'roles' | 'members' | 'people' | 'grants' | 'tests' | 'expectations' | 'guardrails';
  /** The declarations, each with the number that it counts as; 1 if that is left out. */
  readonly of: (document: PolicyDocument) => readonly (readonly [at: Span | null, count?: number])[];
}

const COUNTED: readonly Counted[] = [
  { kind: 'providers', of: ({ header }) => (header?.providers ?? []).map(({ name }) => [name]) },
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

export function checkLimits(documents: readonly PolicyDocument[], limits: EngineLimits, sink: Sink): void {
  for (const counted of COUNTED) checkLimit(documents, counted, { limit: limits[counted.kind], sink });
}

function checkLimit(
  documents: readonly PolicyDocument[],
  { kind, of }: Counted,
  { limit, sink }: { readonly limit: number; readonly sink: Sink },
): void {
  let total = 0;
  for (const document of documents) {
    for (const [at, count = 1] of of(document)) {
      total += count;
      if (total <= limit) continue;
      const message = `the policy has more than ${groupDigits(limit)} ${kind}`;
      const help = 'split the policy';
      sink.add(findingAt(document, at ?? { start: 0, end: 0 }, { code: 'LIMIT_COUNT', message, help }));
      return;
    }
  }
}
