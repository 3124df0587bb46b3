// The page of a diagnostic code.

export type Severity = 'error' | 'warning' | 'info';

export interface CodePage {
  readonly severity: Severity;
  /** What is wrong, in a few words: lower case, no period. */
  readonly title: string;
  /** Why it is refused and what to do, in one to three sentences. */
  readonly explanation: string;
  /** A minimal example that yields exactly this code. */
  readonly wrong: string;
  readonly right: string;
  /**
   * What the examples are: a policy file (the default), `policy.yaml` itself, or a description in words of the folder, its bytes or
   * its size if no file text can show the mistake. The policy around an example declares the providers `orcid` and `github` and the
   * roles `staff` (with scopes) and `leads`. Around an example that is `alone` it declares only the providers.
   */
  readonly shows?: 'policy.yaml' | 'alone' | 'words';
}

/** Pages by code, of which the compiler keeps the codes alone: otherwise every text would stand in the declarations, too. */
export function pagesOf<Code extends string>(pages: Readonly<Record<Code, StatedPage>>): typeof pages {
  return Object.freeze(pages);
}

/** A page as it is written. Without a severity it is an error, and for a lint rule a warning. */
export type StatedPage = Omit<CodePage, 'severity'> & Partial<Pick<CodePage, 'severity'>>;
