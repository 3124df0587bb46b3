// Every maximum of the engine: of policies and snapshots, and of what is signed about them. Functions that enforce one of the
// first take the object as an argument, so that a test meets each limit at its value and one above.

export const ENGINE_LIMITS = Object.freeze({
  /** Files in a policy folder. */
  files: 20_000,
  /** Bytes of one policy file. */
  fileBytes: 64 * 1024 * 1024,
  /** Bytes of all policy files together. */
  totalBytes: 1024 * 1024 * 1024,
  /** Lists and mappings inside each other, in one policy file. */
  depth: 32,
  /** Keys and other texts of one policy file. */
  nodes: 16_000_000,
  /** Keys and other texts of one value in flow style (`[…]`, `{…}`, JSON) that needs the whole YAML parser. */
  pieceTexts: 1_000_000,
  /** Diagnostics of one run, of one file, and of one code in one file; the rest is counted, not listed. */
  diagnostics: 10_000,
  fileDiagnostics: 500,
  codeDiagnostics: 100,
  providers: 1_000,
  /** Scopes that a policy knows: the ten, and those of families that it declares. A set of them takes two words of the table. */
  scopes: 64,
  roles: 1_000_000,
  /** Members of all roles together. */
  members: 5_000_000,
  /** Identities of all people together. */
  people: 1_000_000,
  /** Pairs of identities in the lists of `exclusive` together. */
  exclusive: 1_000_000,
  /** Roles inside roles, the outermost counted. */
  roleDepth: 64,
  grants: 2_000_000,
  /** Namespaces that grants name, with every one above them: the rows of the tree that a policy is compiled to. */
  namespaces: 8_000_000,
  tests: 100_000,
  /** Expectations (allow, deny, sees) of all tests together. */
  expectations: 1_000_000,
  guardrails: 10_000,
  /** Members of roles, nested ones too, that `except` of all guardrails names, once for each guardrail. */
  exceptions: 5_000_000,
  /**
   * Steps of all tests together: a question for each access, interval of time and identity, and some for the grants among which the
   * intervals are found.
   */
  testSteps: 5_000_000,
  /**
   * Grants and identities that the witnesses of a guardrail name place by place; beyond that, one entry covers many
   * places.
   */
  witnessNames: 100_000,
  /** Steps of the proofs of all guardrails together, some 25 ns each (`STEPS_OF` in prove/guardrails/proof-budget.ts). */
  proofSteps: 400_000_000,
  /** Bytes of a description, a reason or the name of a test. */
  freeTextBytes: 1_000,
  /** Steps of a calendar, as those of proofs: what changes by itself after as many of them is left out. */
  calendarSteps: 100_000_000,
  /** Grants and members of a policy, once for each edit of `explain` that guardrails are proved with. */
  editedEntries: 1_000_000,
  /** Expectations of tests, once for each edit of `explain` that the tests are run with. */
  editedTests: 200_000,
  /** Edits that `explain` lists of an allowed access. */
  takeAways: 64,
  /** How often a way to an access is looked for to find these, among a thousand grants and memberships each time. */
  takeAwaySteps: 50_000,
  /** Grants and members of a policy, once for each such edit that the policy is compared with; eight are always compared. */
  closedEntries: 4_000_000,
  /** Pairs of a grant and another one, or a step of time, that a rule of lint compares. */
  lintPairs: 20_000_000,
  /** Bytes of a snapshot file. */
  snapshotBytes: 400 * 1024 * 1024,
  /** Rows of the decision table with roles followed: one for each class of like identities and grant of theirs. */
  expandedRows: 250_000_000,
  /** Intervals that the instants of grants cut the rights of identities into, over all namespaces where they change. */
  intervals: 20_000_000,
} satisfies Readonly<Record<string, number>>);

export type EngineLimits = { readonly [Name in keyof typeof ENGINE_LIMITS]: number };

/** Of signed statements and keyrings; checked before anything is decoded (engine/README.md "Publication statements"). */
export const STATEMENT_LIMITS = Object.freeze({
  /** Bytes of a statement file. */
  fileBytes: 64 * 1024,
  /** Arrays and objects inside one another in it. */
  fileDepth: 8,
  /** Signatures of one statement. Each may be tried with each key, so the two limits together bound the work: 4,096 trials. */
  signatures: 64,
  /** Bytes of a keyring file. */
  keyringBytes: 64 * 1024,
  keys: 64,
  /** The greatest generation: below what is exact in JSON by far, so that one slip of a publisher can be overtaken. */
  generation: 999_999_999_999_999,
  /** Milliseconds that a publisher's clock may be ahead of ours. */
  clockSkew: 5 * 60 * 1000,
});
