// The world of a soak test: places, records that stay, and two policies that allow nothing in common.

export const PLACES = ['/labs', '/labs/a', '/labs/a/x', '/labs/b', '/labs/b/y'];
export const ACTORS = ['ada', 'bob'];

/** Two in each place. */
export const FIXED = PLACES.flatMap((namespace, place) =>
  [1, 2].map((number) => ({
    id: `01900000-0000-7000-8000-00000000${String(place)}${String(number)}00`,
    namespace,
    name: `fixed ${String(number)}`,
  })),
);

/** Ada may read and write in one half, and Bob may read in the other. */
export function policyOf(mine: string, theirs: string): Readonly<Record<string, string>> {
  return {
    'policy.yaml': 'bailiwick: 1\nname: soak\nproviders:\n  orcid: {}\n',
    'grants.yaml': [
      'grants:',
      '  - { id: ada, identity: "orcid:ada", namespace: MINE, scopes: ["resource:*"] }',
      '  - { id: bob, identity: "orcid:bob", namespace: THEIRS, scopes: ["resource:read"] }',
      '',
    ]
      .join('\n')
      .replace('MINE', mine)
      .replace('THEIRS', theirs),
  };
}

export type Asked =
  | { readonly kind: 'list' | 'count'; readonly namespace: string; readonly reach: 'lineage' | 'subtree' }
  | { readonly kind: 'read'; readonly id: string }
  | { readonly kind: 'create'; readonly namespace: string };

/** One answer as it is written down. */
export interface Answered {
  readonly actor: string;
  readonly asked: Asked;
  /** The snapshot that it names. */
  readonly snapshot: string;
  /** Its status, and for an answer that shows records their ids, or how many. */
  readonly got: string;
}

/** What is asked in a turn: everything in its time, by everybody. */
export function askedIn(turn: number): Asked {
  const namespace = PLACES[turn % PLACES.length] ?? '';
  const reach = turn % 3 === 0 ? 'subtree' : 'lineage';
  switch (turn % 7) {
    case 0:
    case 3:
      return { kind: 'list', namespace, reach };
    case 1:
      return { kind: 'count', namespace, reach };
    case 5:
      return { kind: 'create', namespace };
    default:
      return { kind: 'read', id: FIXED[turn % FIXED.length]?.id ?? '' };
  }
}
