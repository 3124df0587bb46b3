// What a command works with: the request that it belongs to, the policy that was pinned for it, and every rule that the
// policy was held to, so that another policy can be held to the same before COMMIT.
import { type Instant, judgeAs, type ResolvedActor, visibilityAs } from '../../engine/index.js';
import type { Judged } from '../audit/cite.js';
import type { RequestActor } from '../auth/request-actor.js';
import { ApiProblem } from '../problem.js';
import type { Command, Prepared, RequestJudge, Rule, Session } from './command.js';

/** A policy by its digest, and the actor under it. */
export interface Under {
  readonly snapshot: string;
  /** The number of the activation that put it in force. */
  readonly generation: number;
  readonly resolved: ResolvedActor;
}

export interface Asking {
  /** Ours, not the client's. */
  readonly requestId: string;
  readonly actor: RequestActor;
  readonly at: Instant;
  readonly pinned: Under;
  /** The policy in force at the time of the call. */
  readonly current: () => Under;
  /** Notes what a policy is asked before it decides: the audit log gets it even if nothing is done. */
  readonly judged: (judged: Judged) => void;
  /** Aborted when nobody waits for the answer any more. Work that has begun is still finished. */
  readonly gone: AbortSignal;
}

/** What a rule belongs to. */
type Purpose = Pick<Command & Prepared, 'operation' | 'record' | 'asked'>;

interface Held {
  readonly rule: Rule;
  readonly of: Purpose;
}

export interface Judging extends Session {
  /** Rules held from now on belong to this command. */
  readonly begin: (of: Purpose) => void;
  readonly held: readonly Held[];
}

export function sessionOf(
  asking: Asking,
  { judgements, longestQuery }: Pick<Session, 'judgements' | 'longestQuery'>,
  from: { readonly rows: Session['rows']; readonly held: readonly Held[] },
): Judging {
  const { actor, at, pinned } = asking;
  const judge = judgeOf(pinned, at);
  const held = [...from.held];
  let purpose = held.at(-1)?.of ?? null;
  const begin: Judging['begin'] = (of) => {
    purpose = of;
    asking.judged(judgedOf(of, pinned));
  };
  const hold: Session['hold'] = (rule, asked) => {
    if (purpose === null) throw new TypeError('a rule without a command');
    const one = { rule, of: asked === undefined ? purpose : { ...purpose, asked } };
    try {
      rule(judge);
    } catch (error) {
      if (asked !== undefined) asking.judged(judgedOf(one.of, pinned));
      throw error;
    }
    held.push(one);
  };
  const visible: Session['visible'] = (request) => visibilityAs(pinned.resolved, { request, at });
  return { actor, at, judge, visible, longestQuery, rows: from.rows, judgements, hold, begin, held };
}

/** Throws if the policy that is current by now refuses what the pinned one allowed. */
export function confirm({ held }: Judging, { at, pinned, current, judged }: Asking): void {
  const now = current();
  if (now.snapshot === pinned.snapshot) return;
  const judge = judgeOf(now, at);
  for (const { rule, of } of held) {
    try {
      rule(judge);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      judged(judgedOf(of, now));
      throw new ApiProblem(error.code, { ...error.detail, snapshot: now.snapshot });
    }
  }
}

function judgedOf({ operation, record, asked }: Purpose, { resolved, snapshot }: Under): Judged {
  return {
    operation,
    ...(record === undefined ? {} : { record }),
    asked: asked === null ? null : { access: asked, resolved, snapshot },
  };
}

function judgeOf({ resolved }: Under, at: Instant): RequestJudge {
  return (request) => judgeAs(resolved, { request, at });
}
