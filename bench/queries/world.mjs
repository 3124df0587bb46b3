// The generated world of the query bench: namespaces up to six levels deep with Zipf sizes, records as dataset lines, and visible sets of
// k subtree roots with a wanted share of the records. Everything follows from the seed.

const DEPTH = 6;
const FIRST = Date.parse('2020-01-01T00:00:00Z');
const STEP = 17_000;

/** Mulberry32: numbers from 0 up to 1. */
export function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` paths in the order of their sizes, largest first. */
export function makeNamespaces(count, seed) {
  const random = makeRandom(seed);
  const paths = [];
  const parents = [''];
  for (let index = 0; index < count; index += 1) {
    const parent = parents[Math.floor(random() * parents.length)];
    const path = `${parent}/n${index.toString(36)}`;
    paths.push(path);
    if (path.split('/').length - 1 < DEPTH) parents.push(path);
  }
  for (let index = count - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [paths[index], paths[other]] = [paths[other], paths[index]];
  }
  return paths;
}

const hex = (number, digits) => number.toString(16).padStart(digits, '0');

/**
 * Resources as groups of dataset lines, oldest first, from the record of number `from` on. A twentieth is archived; `properties.rank` is
 * below 100 for a tenth. `counts` (by path) is filled with the records that are not archived.
 */
export async function* makeLines({ records, namespaces, seed, counts, from = 0, others = 0 }) {
  const random = makeRandom(seed + 1 + from);
  const scale = Math.log(namespaces.length);
  yield* makeOthers({ others, after: records, namespaces, random: makeRandom(seed + 5) });
  let number = from;
  while (number < records) {
    const lines = [];
    for (; lines.length < 500 && number < records; number += 1) {
      const path = namespaces[Math.min(namespaces.length, Math.floor(Math.exp(random() * scale))) - 1];
      const at = FIRST + number * STEP;
      const archived = random() < 0.05;
      if (!archived) counts.set(path, (counts.get(path) ?? 0) + 1);
      const line = {
        family: 'resource',
        namespace: path,
        id: `${hex(at, 12).slice(0, 8)}-${hex(at, 12).slice(8)}-7000-8000-${hex(Math.floor(random() * 2 ** 48), 12)}`,
        name: `sample-${Math.floor(random() * 36 ** 6).toString(36)}`,
        properties: { rank: Math.floor(random() * 1000), label: `l${Math.floor(random() * 1e5)}`, ok: random() < 0.5 },
        createdAt: new Date(at).toISOString(),
        ...(archived ? { archivedAt: new Date(at + STEP).toISOString() } : {}),
      };
      lines.push({ number: number + 1, bytes: Buffer.from(JSON.stringify(line)) });
    }
    yield lines;
    // This yields to other work, as reading a file would.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Process runs and process templates in turn, in the same namespaces. */
function* makeOthers({ others, after, namespaces, random }) {
  const scale = Math.log(namespaces.length);
  for (let number = 0; number < others; number += 1) {
    const at = FIRST + (after + number) * STEP;
    const isRun = number % 2 === 0;
    const line = {
      family: isRun ? 'process-run' : 'process-template',
      namespace: namespaces[Math.min(namespaces.length, Math.floor(Math.exp(random() * scale))) - 1],
      id: `${hex(at, 12).slice(0, 8)}-${hex(at, 12).slice(8)}-7000-8000-${hex(Math.floor(random() * 2 ** 48), 12)}`,
      name: `process-${Math.floor(random() * 36 ** 6).toString(36)}`,
      properties: { rank: Math.floor(random() * 1000) },
      ...(isRun ? { state: 'running' } : { version: '1', schema: {}, slots: [] }),
      createdAt: new Date(at).toISOString(),
    };
    yield [{ number: after + number + 1, bytes: Buffer.from(JSON.stringify(line)) }];
  }
}

/** [roots, share of the records]. */
const SETS = [
  [1, 1e-5],
  [1, 1e-3],
  [1, 0.05],
  [1, 1],
  [10, 1e-4],
  [10, 0.1],
  [100, 1e-3],
  [100, 0.3],
  [1_000, 0.01],
  [1_000, 0.3],
  [10_000, 0.1],
  [10_000, 0.7],
];

/** Disjoint subtrees that together hold about the wanted share; the root where all is wanted. */
export function chooseVisibleSets(namespaces, counts, seed) {
  const sizes = new Map();
  let all = 0;
  for (const path of namespaces) {
    const size = counts.get(path) ?? 0;
    all += size;
    for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) sizes.set(at, (sizes.get(at) ?? 0) + size);
  }
  return SETS.filter(([roots]) => roots <= namespaces.length / 10).map(([roots, share], index) => {
    if (share === 1) return { roots: ['/'], visible: all, share: 1 };
    const chosen = chooseRoots({ sizes, roots, wanted: share * all, random: makeRandom(seed + 10 + index) });
    const visible = chosen.reduce((sum, path) => sum + sizes.get(path), 0);
    return { roots: chosen, visible, share: visible / all };
  });
}

function chooseRoots({ sizes, roots, wanted, random }) {
  const taken = new Set();
  const above = new Set();
  const chosen = [];
  let left = wanted;
  const candidates = [...sizes].filter(([, size]) => size > 0).map(([path, size]) => ({ path, size, draw: random() }));
  for (let pass = 0; pass < 8 && chosen.length < roots; pass += 1) {
    const mean = Math.max(1, left / (roots - chosen.length));
    const distance = ({ size, draw }) => Math.round(Math.abs(Math.log2(size / mean)) * 2) + draw;
    candidates.sort((a, b) => distance(a) - distance(b));
    const batch = Math.max(1, Math.ceil((roots - chosen.length) / 2));
    let added = 0;
    for (const { path, size } of candidates) {
      if (added === batch && pass < 7) break;
      if (chosen.length === roots) break;
      if (above.has(path) || lineage(path).some((at) => taken.has(at))) continue;
      taken.add(path);
      for (const at of lineage(path)) above.add(at);
      chosen.push(path);
      left -= size;
      added += 1;
    }
  }
  return chosen.sort();
}

function lineage(path) {
  const paths = [];
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) paths.push(at);
  return paths;
}
