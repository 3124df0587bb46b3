// How much of everything a policy may hold (`limits.ts`): reported once for each kind, where the limit is passed.
import { groupDigits } from '../diagnostics/fault-words.js';
import type { EngineLimits } from '../limits.js';
import type { PolicyDocument } from '../model/document.js';
import type { Sink } from '../diagnostics/report.js';
import type { Span } from '../model/span.js';
import { findingAt } from './places.js';

type Counted = 'providers' | 'roles' | 'members' | 'people' | 'grants' | 'tests' | 'expectations' | 'guardrails';

interface Declared {
  readonly at: Span | null;
  readonly count: number;
}

const COUNTED: Readonly<Record<Counted, (document: PolicyDocument) => readonly Declared[]>> = {
  providers: ({ header }) => (header?.providers ?? []).map(({ name }) => ({ at: name, count: 1 })),
  roles: ({ roles }) => roles.map(({ name }) => ({ at: name, count: 1 })),
  members: ({ roles }) => roles.map(({ name, members }) => ({ at: name, count: members.length })),
  people: ({ people }) => people.map(({ name, identities }) => ({ at: name, count: identities.length })),
  grants: ({ grants }) => grants.map(({ id }) => ({ at: id, count: 1 })),
  tests: ({ tests }) => tests.map(({ name }) => ({ at: name, count: 1 })),
  expectations: ({ tests }) =>
    tests.map(({ name, allow, deny, sees }) => ({ at: name, count: allow.length + deny.length + sees.length })),
  guardrails: ({ guardrails }) => guardrails.map(({ id }) => ({ at: id, count: 1 })),
};

export function checkLimits(documents: readonly PolicyDocument[], limits: EngineLimits, sink: Sink): void {
  for (const kind of Object.keys(COUNTED) as Counted[]) checkLimit(documents, { kind, limit: limits[kind] }, sink);
}

function checkLimit(
  documents: readonly PolicyDocument[],
  of: { readonly kind: Counted; readonly limit: number },
  sink: Sink,
): void {
  const { kind, limit } = of;
  let total = 0;
  for (const document of documents) {
    for (const { at, count } of COUNTED[kind](document)) {
      total += count;
      if (total <= limit) continue;
      const message = `the policy has more than ${groupDigits(limit)} ${kind}`;
      sink.add(
        findingAt(document, at ?? { start: 0, end: 0 }, { code: 'LIMIT_COUNT', message, help: 'split the policy' }),
      );
      return;
    }
  }
}
