// A command is a value in steps, with the decision after the first step. `prepare` says what the policy is asked, and
// learns no more from the store than where a record is. Once that is allowed, `look` reads what is needed. Its result
// checks and writes. All of this is one transaction. The runner of commands (execute.ts) handles the transaction, the
// key under which an answer is kept, and the second decision before COMMIT.
import type {
  Family,
  Instant,
  NamespacePath,
  Request,
  Verdict,
  Visibility,
  VisibilityRequest,
} from '../../engine/index.js';
import type { AccessAsked, CopyAsked } from '../audit/event.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Fragment } from '../db/sql.js';
import type { Judgements } from '../templates/judgements.js';
import type { RecordContent } from '../records/content.js';

export type CommandOperation =
  `${Family}.${'create' | 'change' | 'archive' | 'restore' | 'copy' | 'version' | 'move' | 'delete' | 'put'}`;

/** What a policy says to one request of the actor, at the instant of the command. */
export type RequestJudge = (request: Request) => Verdict;

/** A condition on the policy. Throws an `ApiProblem` if the policy does not meet it. */
export type Rule = (judge: RequestJudge) => void;

/** What a command gets from the request that it belongs to. */
export interface Session {
  readonly actor: RequestActor;
  readonly at: Instant;
  /** Judges by the pinned policy. Used for what is shown, not for what is done. */
  readonly judge: RequestJudge;
  /**
   * Applies the rule now, and again to the policy that is current before COMMIT. `asked` is what the audit log says of a
   * refusal, if that is not what the command asks first.
   */
  readonly hold: (rule: Rule, asked?: Asked) => void;
  /** What the pinned policy lets the actor see. */
  readonly visible: (request: VisibilityRequest) => Visibility;
  /** Milliseconds after which a statement that reads much ends itself; null if the store ends it. */
  readonly longestQuery: number | null;
  /** Reads in the transaction, once there is one. */
  readonly rows: <Row>(statement: Fragment) => Promise<readonly Row[]>;
  /** Judges by templates. */
  readonly judgements: Judgements;
}

/** A record that a command changes, by its id or (for a namespace) by its path. */
export type Touched =
  { readonly family: Family; readonly id: string } | { readonly family: 'namespace'; readonly path: NamespacePath };

/** A unique name, which a record may have. */
export interface TouchedName {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly name: string;
}

/** What a record is called after a command, as far as the command says so. The rest is as the record `of` has it. */
export interface GivenName {
  readonly family: Family;
  readonly namespace?: NamespacePath;
  /** Null is no name. */
  readonly name?: string | null | undefined;
  /** Null is no template. */
  readonly template?: string | null | undefined;
  /** The record that is changed or copied. */
  readonly of?: string;
  /** The record that has the name then, if it is not the same. */
  readonly makes?: string;
}

export interface Command {
  readonly operation: CommandOperation;
  /** The id of the record that is changed or copied. */
  readonly record?: string;
  /** The existing record that the command locks. */
  readonly touches?: Touched | TouchedName;
  /** The name that it gives, if that may have to be unique. */
  readonly gives?: GivenName;
  /** The ids of the records that it says its record is to refer to. */
  readonly refersTo?: readonly string[];
  /** The id of the record whose references its record is to have as well. */
  readonly refersLike?: string;
  readonly prepare: (session: Session) => Promise<Prepared>;
}

/** A question to the policy, as the audit log has it. */
export type Asked = AccessAsked | CopyAsked;

export interface Prepared {
  /** What the audit log says the policy was asked; null if there is no record to ask about. */
  readonly asked: Asked | null;
  /** Throws if the actor may not do this, or may not know of the record. */
  readonly rule: Rule;
  /** Another access that the command needs, decided after the first. */
  readonly also?: { readonly asked: Asked; readonly rule: Rule };
  /**
   * Called with the session of the transaction, once the rule has held. Reads what the command depends on, and judges
   * none of it. The result is not called if the command turns out to be done already.
   */
  readonly look: (session: Session) => Promise<Perform>;
  /**
   * Called once the rule has held, with a session that is not in a transaction. What the command writes, if one statement
   * can check and write it (at-once.ts). Null, or an `ApiProblem`, if it must go the usual way.
   */
  readonly atOnce?: (session: Session) => Promise<AtOnce | null>;
}

export type Perform = () => Promise<Done>;

/** A record that other records refer to, or a namespace above a new record. */
export interface Found {
  readonly id: string;
  readonly family: number;
  readonly namespace: NamespacePath;
  readonly archived: boolean;
  readonly revision: number;
  readonly template: string | null;
  /** Of a process template. */
  readonly slots: unknown;
  /** Of a template: whether it asks for unique names. */
  readonly uniqueName: boolean;
}

/** What one statement writes. It depends on the records of `dependsOn` as they were when it was judged. */
export type AtOnce = { readonly dependsOn: readonly Pick<Found, 'id' | 'namespace' | 'revision'>[] } & (
  | { readonly kind: 'create'; readonly record: RecordToCreate }
  | { readonly kind: 'change'; readonly record: ChangedRecord }
);

/** A record that is changed as long as it is in this state. */
export interface ChangedRecord {
  readonly id: string;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly revision: number;
  readonly archived: boolean;
  /** Columns with their new values. */
  readonly columns: readonly Fragment[];
}

/** A record that does not exist yet. */
export interface RecordToCreate {
  readonly id: string;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly content: RecordContent;
  readonly copiedFrom: string | null;
}

/** The result of a command for an actor who may read the record. It is plain data and is kept as JSON. */
export interface Done {
  readonly status: 200 | 201;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly id: string;
  readonly revision: number;
  /** The JSON text of the record. */
  readonly json: string;
  /**
   * What an actor who may not read the record gets: its id and revision, or for a namespace only its path. Of a deleted
   * record nobody gets more.
   */
  readonly untold: 'record' | 'namespace' | 'deleted';
}

/**
 * The record was moved to another namespace after the decision, or something that it depends on has been or is being
 * moved: decide again, once `dependsOn` are locked against that.
 */
export class Moved extends Error {
  override readonly name = 'Moved';
  readonly dependsOn: readonly Pick<Found, 'id'>[];
  constructor(dependsOn: Moved['dependsOn'] = []) {
    super();
    this.dependsOn = dependsOn;
  }
}
