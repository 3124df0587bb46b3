// What the page asks of the engine, and what it gets. Everything is plain data, since it goes from one thread to another.
import type {
  Change,
  ClosingEdit,
  Diagnostic,
  DiffRow,
  Edit,
  ExplainedStep,
  HeldGrant,
  Holder,
  PolicyTestFailure,
  ProvedEdit,
  TakingChange,
} from '../../../engine/compiler.js';
import type { ScopeName } from '../../../engine/index.js';
import type { LineAnswer } from '../../asking/decide-line.js';
import type { SaidLine } from '../../authoring/about.js';
import type { Choice, Typing } from '../../authoring/complete.js';
import type { RegionUntil } from '../../authoring/held-until.js';
import type { CellCount, Frame, Shown, Size, View } from '../map/picture.js';

export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** `rights` of the policy as it is, or `changes` since it was opened. */
export type Subject = 'rights' | 'changes';

export interface WhyQuestion {
  /** `provider:subject`, or a person of the policy. */
  readonly who: string;
  readonly scope: string;
  readonly namespace: string;
}

export interface TimedQuestion extends WhyQuestion {
  readonly at: number;
}

export interface PastAccess {
  readonly identities: readonly string[];
  readonly credentialScopes: readonly string[];
  readonly namespaceRestrictions: readonly string[] | null;
  readonly scope: string;
  readonly context: string;
  readonly target: string;
  readonly at: number;
}

export type Ask =
  | { readonly kind: 'open'; readonly files: readonly TextFile[]; readonly at: number }
  | { readonly kind: 'edit'; readonly files: readonly TextFile[]; readonly at: number }
  /** Lint, digests, tests and guardrails of files. */
  | { readonly kind: 'prove'; readonly files: readonly TextFile[]; readonly at: number }
  /** An edit that `explain` proposed, written into the files as they were read last. */
  | { readonly kind: 'apply'; readonly change: Change | TakingChange }
  /** What may be written at a place of a file, and what is known of the name there. */
  | { readonly kind: 'complete'; readonly file: string; readonly text: string; readonly place: Typing['place'] }
  | { readonly kind: 'about'; readonly file: string; readonly place: Typing['place']; readonly at: number }
  /** A compiled policy: in place of what was opened, or as what it is compared with. */
  | { readonly kind: 'open-snapshot'; readonly bytes: Uint8Array; readonly as: 'opened' | 'edited' }
  | { readonly kind: 'view'; readonly subject: Subject; readonly view: View }
  | { readonly kind: 'frame'; readonly subject: Subject; readonly frame: Frame }
  | { readonly kind: 'cell'; readonly subject: Subject; readonly line: number; readonly column: number }
  /** Every cell of the picture in which something is held, as far as the picture is opened. */
  | { readonly kind: 'table'; readonly subject: Subject }
  | { readonly kind: 'who-can'; readonly scope: string; readonly namespace: string; readonly at: number }
  | { readonly kind: 'what-can'; readonly who: string; readonly at: number }
  /** Requests, one a line, as `bailiwick decide` takes them. */
  | { readonly kind: 'decide'; readonly lines: readonly string[]; readonly at: number }
  | { readonly kind: 'explain'; readonly question: TimedQuestion }
  /** One more step of the edits that would turn the answer round, which take long: whoever wants them all asks until they are. */
  | { readonly kind: 'edits'; readonly question: TimedQuestion }
  /** As `explain`, for an access as an event of the log has it. */
  | { readonly kind: 'explain-access'; readonly access: PastAccess }
  | { readonly kind: 'diff' };

interface Violation {
  readonly guardrail: string;
  readonly requires: string;
  readonly file: string | null;
  readonly line: number | null;
  /** Who holds what against it. */
  readonly witnesses: readonly string[];
  /** Ids of grants without which it would hold. */
  readonly repair: readonly string[];
}

/** What a policy is, once it has no mistakes. */
export interface Facts {
  readonly instants: readonly number[];
  readonly identities: readonly string[];
  readonly people: readonly string[];
  readonly namespaces: readonly string[];
  readonly scopes: readonly ScopeName[];
}

/** What takes longer to say of it. */
export interface Proofs {
  readonly snapshot: string;
  readonly tests: { readonly passed: number; readonly failures: readonly PolicyTestFailure[] };
  readonly guardrails: { readonly held: number; readonly violations: readonly Violation[] };
}

/** `facts` are null if the files have mistakes; then answers are about the last policy that had none. */
export interface Checked {
  readonly diagnostics: readonly Diagnostic[];
  readonly facts: Facts | null;
}

export interface CellDetail extends CellCount {
  /** If the cell is of one place: who holds which scopes there, and by which grants. The first of them, and how many there are. */
  readonly holders: readonly {
    readonly identity: string;
    readonly scopes: readonly ScopeName[];
    readonly grants: readonly HeldGrant[];
  }[];
  readonly more: number;
  /** For a cell of changes, what made it, and for whom else it changes something. */
  readonly causes: readonly { readonly text: string; readonly others: readonly string[] }[];
}

/** With the owner of the identity, if the policy names one. */
export interface NamedHolder extends Holder {
  readonly person?: string;
}

/** `before` is what the file must still say. */
export interface EditedFile {
  readonly path: string;
  readonly before: string;
  readonly text: string;
}

/** Edits of a denied request allow it, and those of an allowed one deny it. */
export type AnyEdit = ProvedEdit<Edit | ClosingEdit>;

export interface Explained {
  readonly decision: 'allow' | 'deny';
  readonly steps: readonly ExplainedStep[];
  readonly grants: readonly HeldGrant[];
  /** Why no edit would turn it round. */
  readonly noEdit?: string;
}

/** The edits as far as they are proved, in their order. */
export interface Proposed {
  readonly edits: readonly AnyEdit[];
  /** How many there are; null while they are looked for. */
  readonly of: number | null;
  /** Whether no larger ones were left out. */
  readonly isComplete: boolean;
}

export interface PolicyDifference {
  readonly equal: boolean;
  readonly gained: readonly DiffRow[];
  readonly lost: readonly DiffRow[];
  readonly cells: { readonly compared: bigint; readonly gained: bigint; readonly lost: bigint };
  /** Guardrails, tests and other checks that became weaker or changed, one line each. */
  readonly weaker: readonly string[];
}

/** What each question is answered with. `refused`: the question cannot be answered, and why. */
export type WorkerAnswer =
  | { readonly kind: 'checked'; readonly checked: Checked }
  /** A snapshot, verified as a gateway verifies it. */
  | { readonly kind: 'opened'; readonly snapshot: string; readonly facts: Facts }
  | { readonly kind: 'proved'; readonly diagnostics: readonly Diagnostic[]; readonly proofs: Proofs | null }
  | { readonly kind: 'applied'; readonly files: readonly EditedFile[] }
  | { readonly kind: 'choices'; readonly choices: readonly Choice[] }
  | { readonly kind: 'said'; readonly said: readonly SaidLine[] | null }
  | { readonly kind: 'size'; readonly size: Size }
  | { readonly kind: 'shown'; readonly shown: Shown }
  /** Null while its column is being counted. */
  | { readonly kind: 'cell'; readonly cell: CellDetail | null }
  | { readonly kind: 'cells'; readonly cells: readonly CellCount[]; readonly isWhole: boolean }
  | { readonly kind: 'holders'; readonly holders: readonly NamedHolder[]; readonly note: string | null }
  | { readonly kind: 'decided'; readonly answers: readonly LineAnswer[] }
  | { readonly kind: 'regions'; readonly regions: readonly RegionUntil[]; readonly note: string | null }
  | { readonly kind: 'explained'; readonly explained: Explained; readonly note: string | null }
  | { readonly kind: 'proposed'; readonly proposed: Proposed }
  | { readonly kind: 'compared'; readonly compared: PolicyDifference }
  | { readonly kind: 'refused'; readonly message: string };

/** What a thread is sent and sends. */
export interface NumberedAsk {
  readonly number: number;
  readonly ask: Ask;
}

export type WorkerReply =
  | { readonly number: number; readonly answer: WorkerAnswer }
  /** A column of a picture that was pending can be shown. */
  | { readonly counted: Subject }
  | { readonly progress: { readonly doing: string; readonly done: number } | null };
