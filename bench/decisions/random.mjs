// A small deterministic source of random numbers (xorshift over 32 bits): the same seed gives the same workload everywhere.

export function makeRandom(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 16; i += 1) next();
  const int = (below) => Math.floor(next() * below);
  return {
    int,
    chance: (share) => next() < share,
    pick: (list) => list[int(list.length)],
    /** An index, as likely as its weight. */
    weighted: (weights) => {
      let rest = next() * weights.reduce((sum, weight) => sum + weight, 0);
      return Math.max(
        0,
        weights.findIndex((weight) => (rest -= weight) < 0),
      );
    },
  };
}
