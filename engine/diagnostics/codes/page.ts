// What the page of a diagnostic code holds.

export type Severity = 'error' | 'warning' | 'info';

export interface CodePage {
  readonly severity: Severity;
  /** What is wrong, in a few words: lower case, no period. */
  readonly title: string;
  /** Why it is refused and what to do, in a sentence or three. */
  readonly explanation: string;
  /** A smallest example that yields exactly this code. */
  readonly wrong: string;
  readonly right: string;
  /**
   * What the examples are: a policy file (the default), `policy.yaml` itself, or words about the folder, its bytes or its
   * size where no file text can show it. The policy around an example declares the providers `orcid` and `github` and
   * the roles `staff` (with scopes) and `leads`; an example that stands `alone` has the providers only.
   */
  readonly shows?: 'policy.yaml' | 'alone' | 'words';
}
