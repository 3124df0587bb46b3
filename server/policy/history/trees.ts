// What trees of git compile to, and what changed from one to another. Each is computed once and then kept.
import { createHash } from 'node:crypto';
import { diffPolicies, emptyPolicy, type PolicySet, rememberingReader } from '../../../engine/compiler.js';
import { formatIdentity, InvariantError, type Policy } from '../../../engine/index.js';
import type { GitObjects } from '../sources/git-objects.js';
import { UnfitTreeError } from '../sources/git-tree.js';
import type { KeptAnswers } from './kept-answers.js';
import type { Changes, CommitOutcome, People } from './outcome.js';
import { treeReader } from './tree-files.js';
import { policyOfTree, type TreePolicy } from './tree-policy.js';

/** The tree of a folder; null stands for a policy in which nobody holds anything. */
export type TreeName = string | null;

export interface Trees {
  readonly outcomeOf: (tree: string) => Promise<CommitOutcome>;
  /** Between trees that compile. */
  readonly changesOf: (before: TreeName, after: TreeName) => Promise<Changes>;
  readonly peopleOf: (tree: string, outcome: CommitOutcome) => Promise<People>;
  /** How many trees were compiled so far. */
  readonly compiled: () => number;
}

export function makeTrees(objects: GitObjects, kept: KeptAnswers): Trees {
  const read = rememberingReader();
  const readTree = treeReader(objects);
  let compiled = 0;
  /** The policies that were compiled last: most are compared with one of those before. */
  let recent: readonly (readonly [tree: TreeName, policy: Policy])[] = [];
  const remember = (tree: TreeName, policy: Policy): Policy => {
    recent = [[tree, policy] as const, ...recent].slice(0, RECENT);
    return policy;
  };
  const compile = async (tree: string): Promise<TreePolicy> => {
    compiled += 1;
    try {
      return await policyOfTree(await readTree(tree), read);
    } catch (error) {
      if (!(error instanceof UnfitTreeError)) throw error;
      return { kind: 'fault', fault: { code: 'revision.unreadable', message: `the commit ${error.message}` } };
    }
  };
  const policyOf = async (tree: TreeName): Promise<Policy> => {
    const known = recent.find(([name]) => name === tree)?.[1];
    if (known !== undefined) return known;
    if (tree === null) return remember(null, emptyPolicy());
    const found = await compile(tree);
    if (found.kind === 'fault') throw new InvariantError('a tree that has compiled compiles again');
    return remember(tree, found.policy);
  };
  return {
    outcomeOf: async (tree) => {
      const known = await kept.trees.get(tree);
      if (known !== null) return known;
      const found = await compile(tree);
      const outcome = found.kind === 'fault' ? found : await describe(kept, found);
      if (found.kind === 'policy') remember(tree, found.policy);
      await kept.trees.put(tree, outcome);
      return outcome;
    },
    changesOf: async (before, after) => {
      const name = `${before ?? 'empty'}-${after ?? 'empty'}`;
      const known = await kept.changes.get(name);
      if (known !== null) return known;
      const old = await policyOf(before);
      const { gained, lost, exclusive } = diffPolicies(old, await policyOf(after));
      await kept.changes.put(name, { gained, lost, exclusive });
      return { gained, lost, exclusive };
    },
    peopleOf: async (tree, outcome) => {
      if (outcome.kind !== 'policy' || outcome.people === null) return {};
      const known = await kept.people.get(outcome.people);
      if (known !== null) return known;
      const found = await compile(tree);
      return found.kind === 'policy' ? peopleIn(found.set) : {};
    },
    compiled: () => compiled,
  };
}

/** A merge is compared with its first parent, and what it brings with theirs. */
const RECENT = 3;

async function describe(
  kept: KeptAnswers,
  { policy, set }: Extract<TreePolicy, { readonly kind: 'policy' }>,
): Promise<CommitOutcome> {
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
