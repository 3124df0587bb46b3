// What is proved of a policy for services that ask: explanations, and who or what may. It loads the compiler, so it runs
// on a thread of its own (prover.ts).
import {
  explain,
  type ExplainRequest,
  type Holder,
  proveEdits,
  whatCan,
  whoCan,
  type WhoCanRequest,
} from '../../../engine/compiler.js';
import type { Identity, Instant, Policy } from '../../../engine/index.js';
import { answerJson } from '../explanation-json.js';

export interface ExplainAsked {
  readonly kind: 'explain';
  readonly requests: readonly ExplainRequest[];
  /** Whether changes of the policy are shown, too. */
  readonly withEdits: boolean;
}

export interface WhoCanAsked extends WhoCanRequest {
  readonly kind: 'who-can';
  /** Whose identities are listed; null for those of all providers. */
  readonly provider: string | null;
  /** The part of the list that is wanted. */
  readonly offset: number;
  readonly size: number;
}

export interface HoldersPage {
  /** Of the whole list. */
  readonly count: number;
  readonly holders: readonly Holder[];
}

export interface WhatCanAsked {
  readonly kind: 'what-can';
  readonly identity: Identity;
  readonly at: Instant;
}

export type ProofQuestion = ExplainAsked | WhoCanAsked | WhatCanAsked;

/** Once `isStopped`, nobody reads the answer. Only explanations take so long that it is asked between them. */
export function prove(policy: Policy, question: ProofQuestion, isStopped: () => boolean): readonly object[] {
  switch (question.kind) {
    case 'explain':
      return question.requests.flatMap((request) =>
        isStopped() ? [] : [explainOne(policy, request, question.withEdits)],
      );
    case 'who-can':
      return [holdersPage(policy, question)];
    case 'what-can':
      return whatCan(policy, { identities: [question.identity], at: question.at });
  }
}

/** Cut here: while a long list is handed over to the other thread, that one does nothing else. */
function holdersPage(policy: Policy, { provider, offset, size, ...asked }: WhoCanAsked): HoldersPage {
  const all = whoCan(policy, asked);
  const own = provider === null ? all : all.filter(({ identity }) => identity.startsWith(`${provider}:`));
  return { count: own.length, holders: own.slice(offset, offset + size) };
}

function explainOne(policy: Policy, request: ExplainRequest, withEdits: boolean): object {
  const found = explain(policy, request);
  // A snapshot does not contain its guardrails, so which of them an edit breaks is not known.
  if (withEdits) return answerJson({ ...found, edits: proveEdits(found.edits, { policy, set: null }) });
  return answerJson({ ...found, edits: [], ...(found.decision === 'deny' ? { noEdit: NARROW } : {}) });
}

const NARROW = 'changes of the policy are shown to keys that may ask about everything';
