// What a policy was compiled under: its guardrails and tests, and the people that they are about. They change no
// decision. So a snapshot states only their number and a digest, which shows whether they are the same.

/** In the order of the file. */
export const CHECK_KINDS = ['guardrails', 'people', 'tests'] as const;

export type CheckKind = (typeof CHECK_KINDS)[number];

export interface CheckSum {
  readonly count: number;
  /** `sha256:…` of their normal form. */
  readonly digest: string;
}

export type PolicyChecks = { readonly [Kind in CheckKind]: CheckSum };
