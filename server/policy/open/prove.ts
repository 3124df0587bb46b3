// What is proved of a policy for services that ask: explanations, and who or what may. It loads the compiler, so it runs
// on a thread of its own (prover.ts).
import {
  explain,
  type ExplainRequest,
  type HeldRegion,
  proveEdits,
  whatCan,
  whoCan,
  type WhoCanRequest,
} from '../../../engine/compiler.js';
import {
  comparePaths,
  type Identity,
  type Instant,
  type NamespacePath,
  type Policy,
  type ScopeName,
} from '../../../engine/index.js';
import { type AskerBounds, isBelowAny, mayAskOf, partsWithin, tops } from '../../asking/about-others.js';
import { ASK_LIMITS } from '../../limits/http.js';
import { answerJson } from '../explanation-json.js';

export interface ExplainAsked {
  readonly kind: 'explain';
  readonly requests: readonly ExplainRequest[];
  /** Whether changes of the policy are shown, too. */
  readonly withEdits: boolean;
}

/** The part of a list that is wanted. */
interface Cut {
  readonly offset: number;
  readonly size: number;
}

export interface WhoCanAsked extends WhoCanRequest, Cut {
  readonly kind: 'who-can';
}

export interface SubjectsAsked extends WhoCanRequest, Cut {
  readonly kind: 'subjects';
  readonly provider: string;
}

export interface WhatCanAsked extends Cut {
  readonly kind: 'what-can';
  readonly identity: Identity;
  readonly at: Instant;
  readonly within: AskerBounds;
}

export interface PlacesAsked extends Omit<WhatCanAsked, 'kind'> {
  readonly kind: 'places';
  readonly scope: ScopeName;
}

/** A part of a list of texts, and how long the whole list is. */
export interface Part {
  readonly count: number;
  readonly items: readonly string[];
}

/** Where a scope is held: policies only allow, so a region is a subtree or a single namespace. */
export interface Places {
  readonly count: number;
  /** With everything below. */
  readonly roots: readonly NamespacePath[];
  readonly nodes: readonly NamespacePath[];
}

export type ProofQuestion = ExplainAsked | WhoCanAsked | SubjectsAsked | WhatCanAsked | PlacesAsked;

/**
 * Lists are cut and written here: while many objects are handed over to the other thread, that one does nothing else.
 * Once `isStopped`, nobody reads the answer. Only explanations take so long that it is asked between them.
 */
export function prove(
  policy: Policy,
  question: ProofQuestion,
  isStopped: () => boolean,
): readonly string[] | Part | Places {
  switch (question.kind) {
    case 'explain':
      return explainAll(policy, question, isStopped);
    case 'who-can':
      return written(whoCan(policy, question), question);
    case 'subjects':
      return subjectsOf(policy, question);
    case 'what-can':
      return written(heldWithin(policy, question), question);
    case 'places':
      return placesOf(policy, question);
  }
}

/** The JSON of each entry. Ends before the entries that would make it too large, but always has some. */
function written(all: readonly object[], { offset, size }: Cut): Part {
  const items: string[] = [];
  let bytes = 0;
  for (const one of all.slice(offset, offset + size)) {
    const text = JSON.stringify(one);
    bytes += Buffer.byteLength(text);
    if (items.length > 0 && bytes > ASK_LIMITS.pageBytes) break;
    items.push(text);
  }
  return { count: all.length, items };
}

function subjectsOf(policy: Policy, { provider, offset, size, ...asked }: SubjectsAsked): Part {
  const from = provider.length + 1;
  const all = whoCan(policy, asked).flatMap(({ identity }) =>
    identity.startsWith(`${provider}:`) ? [identity.slice(from)] : [],
  );
  return { count: all.length, items: all.slice(offset, offset + size) };
}

/** The regions that an identity holds, as far as the asker may ask about them. */
function heldWithin(policy: Policy, { identity, at, within }: Omit<WhatCanAsked, 'kind'>): readonly HeldRegion[] {
  return whatCan(policy, { identities: [identity], at }).flatMap((region) => {
    const scopes = region.scopes.filter((scope) => mayAskOf(within, scope));
    if (scopes.length === 0) return [];
    return partsWithin(within, { ...region, scopes }).map(({ except = [], ...part }) =>
      except.length === 0 ? part : { ...part, except },
    );
  });
}

function placesOf(policy: Policy, { scope, offset, size, within, ...asked }: PlacesAsked): Places {
  const held = whatCan(policy, { identities: [asked.identity], at: asked.at }).filter(({ scopes }) =>
    scopes.includes(scope),
  );
  // A subtree without a part is one with it: that part is a region of its own, with other scopes besides.
  const deep = held.filter(({ extent }) => extent !== 'exact').map(({ namespace }) => namespace);
  const outermost = tops(deep);
  const rooted = new Set(outermost);
  const single = held.filter(({ extent }) => extent === 'exact').map(({ namespace }) => namespace);
  const ofExtent = (paths: readonly NamespacePath[], extent: 'exact' | 'subtree'): ReadonlySet<NamespacePath> =>
    new Set(paths.flatMap((namespace) => partsWithin(within, { namespace, extent }).map((part) => part.namespace)));
  const roots = ofExtent(outermost, 'subtree');
  const nodes = ofExtent(
    single.filter((path) => !isBelowAny(path, rooted)),
    'exact',
  );
  const all = [...roots, ...nodes].sort(comparePaths);
  const part = all.slice(offset, offset + size);
  return {
    count: all.length,
    roots: part.filter((path) => roots.has(path)),
    nodes: part.filter((path) => !roots.has(path)),
  };
}

/** The JSON of each. Ends with the one that makes the answer too large. */
function explainAll(
  policy: Policy,
  { requests, withEdits }: ExplainAsked,
  isStopped: () => boolean,
): readonly string[] {
  const texts: string[] = [];
  let bytes = 0;
  for (const request of requests) {
    if (isStopped() || bytes > ASK_LIMITS.answerBytes) break;
    const text = JSON.stringify(explainOne(policy, request, withEdits));
    bytes += Buffer.byteLength(text);
    texts.push(text);
  }
  return texts;
}

function explainOne(policy: Policy, request: ExplainRequest, withEdits: boolean): object {
  const found = explain(policy, request);
  // A snapshot does not contain its guardrails, so which of them an edit breaks is not known.
  if (withEdits) return answerJson({ ...found, edits: proveEdits(found.edits, { policy, set: null }) });
  return answerJson({ ...found, edits: [], ...(found.decision === 'deny' ? { noEdit: NARROW } : {}) });
}

const NARROW = 'changes of the policy are shown to keys that may ask about everything';
