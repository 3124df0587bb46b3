// What a command is: a value in steps, with the decision after the first. `prepare` says what is asked of the policy
// and learns no more of the store than where a record is; once that is allowed, `look` reads what is needed, and what
// that gives back checks and writes, all in one transaction. The runner of commands (execute.ts) handles the transaction, to the key under
// which an answer is kept, and to the second decision before COMMIT.
import type { Family, Instant, NamespacePath, Request, Verdict } from '../../engine/index.js';
import type { AccessAsked, CopyAsked } from '../audit/event.js';
import type { RequestActor } from '../auth/request-actor.js';
import type { Fragment } from '../db/sql.js';
import type { Recent } from '../recent.js';
import type { TemplateResult } from '../templates/template-schema.js';

export type Operation = `${Family}.${'create' | 'change' | 'archive' | 'restore' | 'copy'}`;

/** What a policy says of one request of the actor, at the instant of the command. */
export type Judge = (request: Request) => Verdict;

/** Something that has to be so under the policy: throws an `ApiProblem` where it is not. */
export type Rule = (judge: Judge) => void;

/** What a command is given of the request that it belongs to. */
export interface Session {
  readonly actor: RequestActor;
  readonly at: Instant;
  /** Under the pinned policy, for what is shown rather than done. */
  readonly judge: Judge;
  /** Applies the rule now, and again to the policy that is current before COMMIT. */
  readonly hold: (rule: Rule) => void;
  /** Of the transaction, once there is one. */
  readonly rows: <Row>(statement: Fragment) => Promise<readonly Row[]>;
  /** Of their ids and revisions; null if a template has no schema. */
  readonly templates: Recent<TemplateResult | null>;
}

/** A record that a command changes, by its id or, a namespace, by its path. */
export type Touched =
  { readonly family: Family; readonly id: string } | { readonly family: 'namespace'; readonly path: NamespacePath };

export interface Command {
  readonly operation: Operation;
  /** The record that is changed or copied, by its id. */
  readonly record?: string;
  /** What is there before and is locked. */
  readonly touches?: Touched;
  readonly prepare: (session: Session) => Promise<Prepared>;
}

export interface Prepared {
  /** What the log says was asked of the policy; null if there is no record to ask about. */
  readonly asked: AccessAsked | CopyAsked | null;
  /** Throws for what the actor may not do, and where it may not know of a record. */
  readonly rule: Rule;
  /**
   * Given the session of the transaction, once the rule has held: reads what the command stands on, and judges nothing
   * of it. What comes back is not called if the command turns out to be done already.
   */
  readonly look: (session: Session) => Promise<Perform>;
}

export type Perform = () => Promise<Done>;

/** The result of a command, for whoever may read it: plain data, which is kept as JSON. */
export interface Done {
  readonly status: 200 | 201;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly id: string;
  readonly revision: number;
  /** The record. */
  readonly json: string;
  /** The answer for an actor who may not read the record: its id and revision, or for a namespace its path alone. */
  readonly untold: 'record' | 'namespace';
}

/** The record was moved to another namespace after the decision: decide again. */
export class Moved extends Error {
  override readonly name = 'Moved';
}
