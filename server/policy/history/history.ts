// What each commit of a line changed of who holds what: every commit is compared with the last one before it whose policy
// compiles. Each tree is compiled once, and what it compiles to and what changed are kept (docs/history.md).
import { createHash } from 'node:crypto';
import { diffPolicies, emptyPolicy, type PolicySet, rememberingReader } from '../../../engine/compiler.js';
import { formatIdentity, InvariantError, type Policy } from '../../../engine/index.js';
import { type CommitLine, type LoggedCommit, readLogged } from '../sources/git-log.js';
import type { GitObjects } from '../sources/git-objects.js';
import { type FollowingCheckout, followingCheckout } from '../sources/git-following.js';
import { entriesOf, TREE_MODE } from '../sources/git-tree.js';
import type { KeptAnswers } from './kept-answers.js';
import type { Changes, Outcome, People } from './outcome.js';
import { policyOfFolder, type TreePolicy } from './tree-policy.js';

type Compiled = Extract<TreePolicy, { readonly kind: 'policy' }>;

export interface Step {
  readonly commit: LoggedCommit;
  /** The name of the folder's tree; null if there is none. */
  readonly tree: string | null;
  readonly outcome: Outcome;
  /** The commit that it is compared with; null for the beginning, when nobody holds anything. */
  readonly compared: string | null;
  /** Null if nothing changed, or nothing is known of it. */
  readonly changes: Changes | null;
}

export interface HistoryRequest {
  readonly objects: GitObjects;
  readonly line: CommitLine;
  /** The folder of the policy in each commit, with `/`; empty for the whole tree. */
  readonly inside: string;
  readonly kept: KeptAnswers;
  readonly signal: AbortSignal;
  /** `outcomes` computes no changes. */
  readonly wanted: 'changes' | 'outcomes';
  readonly onCommit?: (done: number, commit: LoggedCommit) => void;
}

export interface History {
  /** Each commit, oldest first. Ends early if the signal is aborted. */
  readonly steps: AsyncGenerator<Step>;
  /** Who is named in the policy of a commit. */
  readonly peopleOf: (step: Step) => Promise<People>;
  /** How many trees were compiled so far. */
  readonly compiled: () => number;
  readonly close: () => Promise<void>;
}

/** The policy of a tree that compiles; `tree` is null for the one in which nobody holds anything. */
interface State {
  readonly commit: string | null;
  readonly tree: string | null;
  readonly decisions: string;
}

export function openHistory(request: HistoryRequest): History {
  const { objects, line, inside, kept, signal, wanted } = request;
  const trees = makeTrees(objects, kept);
  const compare = async (before: State, after: State): Promise<Changes | null> => {
    if (before.decisions === after.decisions) return null;
    const name = `${before.tree ?? 'empty'}-${after.tree ?? 'empty'}`;
    const known = await kept.changes.get(name);
    if (known !== null) return known;
    const old = await trees.policyOf(before.tree);
    const { gained, lost, exclusive } = diffPolicies(old, await trees.policyOf(after.tree));
    await kept.changes.put(name, { gained, lost, exclusive });
    return { gained, lost, exclusive };
  };
  async function* steps(): AsyncGenerator<Step> {
    let state = wanted === 'outcomes' ? null : await startOf(request, trees);
    for (const [i, commit] of line.commits.entries()) {
      if (signal.aborted) return;
      request.onCommit?.(i, commit);
      const tree = await folderIn(objects, commit.tree, inside);
      const outcome = tree === null ? ABSENT : await trees.outcomeOf(tree);
      const step = { commit, tree, outcome, compared: state?.commit ?? null };
      if (outcome.kind !== 'policy' || wanted === 'outcomes') {
        yield { ...step, changes: null };
        continue;
      }
      const after = { commit: commit.name, tree, decisions: outcome.decisions };
      // What the oldest commit of a shallow clone changed, only its parent could say.
      const changes = state === null ? null : await compare(state, after);
      state = after;
      yield { ...step, changes };
    }
  }
  return {
    steps: steps(),
    peopleOf: trees.peopleOf,
    compiled: trees.compiled,
    close: trees.close,
  };
}

const ABSENT: Outcome = Object.freeze({ kind: 'absent' });

/** What is in force before the first commit: the last policy before it that compiles. Null if that is not known. */
async function startOf({ objects, line, inside }: HistoryRequest, trees: Trees): Promise<State | null> {
  for (let next = line.before; next !== null;) {
    const commit = await readLogged(objects, next);
    if (commit === null) return null;
    const tree = await folderIn(objects, commit.tree, inside);
    const outcome = tree === null ? ABSENT : await trees.outcomeOf(tree);
    if (outcome.kind === 'policy') return { commit: commit.name, tree, decisions: outcome.decisions };
    next = commit.parents[0] ?? null;
  }
  return line.missing === null ? { commit: null, tree: null, decisions: emptyPolicy().decisions } : null;
}

/** The name of the folder's tree. Null if there is no such folder. */
async function folderIn(objects: GitObjects, tree: string, inside: string): Promise<string | null> {
  let name = tree;
  for (const folder of inside.split('/').filter(Boolean)) {
    const entry = (await entriesOf(objects, name)).find((one) => one.name === folder);
    if (entry?.mode !== TREE_MODE) return null;
    name = entry.object;
  }
  return name;
}

interface Trees {
  readonly outcomeOf: (tree: string) => Promise<Outcome>;
  /** Of a tree that compiles. */
  readonly policyOf: (tree: string | null) => Promise<Policy>;
  readonly peopleOf: (step: Step) => Promise<People>;
  readonly compiled: () => number;
  readonly close: () => Promise<void>;
}

function makeTrees(objects: GitObjects, kept: KeptAnswers): Trees {
  const read = rememberingReader();
  let checkout: FollowingCheckout | null = null;
  let compiled = 0;
  /** The two policies that were compiled last: each is compared with the one before it and the one after it. */
  let recent: readonly (readonly [tree: string | null, policy: Policy])[] = [];
  const remember = (tree: string | null, policy: Policy): Policy => {
    recent = [[tree, policy] as const, ...recent].slice(0, 2);
    return policy;
  };
  const folderOf = async (tree: string): Promise<TreePolicy> => {
    checkout ??= await followingCheckout(objects);
    await checkout.goTo(tree);
    compiled += 1;
    return policyOfFolder(checkout.folder, read);
  };
  const outcomeOf = async (tree: string): Promise<Outcome> => {
    const known = await kept.trees.get(tree);
    if (known !== null) return known;
    const found = await folderOf(tree);
    const outcome = found.kind === 'fault' ? found : await describe(kept, found);
    if (found.kind === 'policy') remember(tree, found.policy);
    await kept.trees.put(tree, outcome);
    return outcome;
  };
  const policyOf = async (tree: string | null): Promise<Policy> => {
    const known = recent.find(([name]) => name === tree)?.[1];
    if (known !== undefined) return known;
    if (tree === null) return remember(null, emptyPolicy());
    const found = await folderOf(tree);
    if (found.kind === 'fault') throw new InvariantError('a tree that has compiled compiles again');
    return remember(tree, found.policy);
  };
  const peopleOf = async ({ tree, outcome }: Step): Promise<People> => {
    if (tree === null || outcome.kind !== 'policy' || outcome.people === null) return {};
    const known = await kept.people.get(outcome.people);
    if (known !== null) return known;
    const found = await folderOf(tree);
    return found.kind === 'policy' ? peopleIn(found.set) : {};
  };
  return { outcomeOf, policyOf, peopleOf, compiled: () => compiled, close: async () => checkout?.remove() };
}

async function describe(kept: KeptAnswers, { policy, set }: Compiled): Promise<Outcome> {
  const said = { kind: 'policy', snapshot: policy.digest, decisions: policy.decisions } as const;
  if (set.people.length === 0) return { ...said, people: null };
  const people = peopleIn(set);
  const name = createHash('sha256').update(JSON.stringify(people)).digest('hex');
  if ((await kept.people.get(name)) === null) await kept.people.put(name, people);
  return { ...said, people: name };
}

function peopleIn({ people }: PolicySet): People {
  return Object.fromEntries(people.map(({ name, identities }) => [name, identities.map(formatIdentity)]));
}
