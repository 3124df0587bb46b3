// What a policy was compiled under: its guardrails and tests, the people that they are about, and who may write what. A snapshot
// states only their number and a digest, which shows whether they are the same. Of these only `exclusive` changes decisions.

/** In the order of the file. */
export const CHECK_KINDS = ['delegation', 'exclusive', 'guardrails', 'people', 'tests'] as const;

export type CheckKind = (typeof CHECK_KINDS)[number];

export interface CheckSum {
  readonly count: number;
  /** `sha256:…` of their normal form. */
  readonly digest: string;
}

export type OfEachKind<T> = { readonly [Kind in CheckKind]: T };

export type PolicyChecks = OfEachKind<CheckSum>;

/** One of each kind, with the keys in the order of the file. */
export function ofEachKind<T>(make: (kind: CheckKind) => T): OfEachKind<T> {
  const [delegation, exclusive, guardrails, people, tests] = CHECK_KINDS;
  return {
    delegation: make(delegation),
    exclusive: make(exclusive),
    guardrails: make(guardrails),
    people: make(people),
    tests: make(tests),
  };
}
