// What the engine takes, counted: bytes that it allocates, bytes that it keeps, and places that a diff looks at. Prints JSON. V8 optimizes
// nothing here and collects nothing, so what is allocated is the same on each line of Node; optimized code allocates a third or less of it.
import { diffPolicies } from '../../dist/engine/compiler.js';
import { loadSnapshot, packSnapshot } from '../../dist/engine/index.js';
import * as own from '../decisions/contestants/own.mjs';
import { makeWorkload } from '../decisions/workload.mjs';

const [GRANTS, REQUESTS, TURNS] = [2_000, 1_000, 5];
const DOORS = {
  'from texts, with the grants': own.loadWhole,
  'from texts, the step alone': own.loadStep,
  'by a resolved actor, with the grants': own.loadResolvedWhole,
  'by a resolved actor, the step alone': own.loadResolvedStep,
};
const counts = {};
const { policy, requests } = makeWorkload(GRANTS, { seed: 1, requests: REQUESTS });
const [first, last] = [policy.grants[0], policy.grants.at(-1)];
const edited = { ...policy, grants: [...policy.grants.slice(0, -1), { ...last, namespace: first.namespace }] };

/** The least of some turns: the first ones also make what is kept for later, such as feedback for the compiler. */
function allocated(work) {
  const turn = () => {
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const result = work();
    const bytes = process.memoryUsage().heapUsed - before;
    if (result === undefined) throw new Error('the work came to nothing');
    return bytes;
  };
  return Math.min(...Array.from({ length: TURNS }, turn));
}

function kept(make) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const made = make();
  globalThis.gc();
  const bytes = process.memoryUsage().heapUsed - before;
  if (made === undefined) throw new Error('nothing was made');
  return bytes;
}

const bytes = own.compile(policy);
counts[`a snapshot of ${GRANTS} grants, bytes`] = bytes.length;
counts['its table, bytes'] = packSnapshot(bytes).packed.table.buffer.byteLength;
for (const [name, load] of Object.entries(DOORS)) {
  const { shape, decide } = load(bytes);
  const inputs = requests.map(shape);
  const pass = () => inputs.reduce((sum, input) => sum + (decide(input) ? 1 : 0), 0);
  counts[`a decision ${name}, bytes allocated`] = Math.round(allocated(pass) / REQUESTS);
}
counts['compiling it, kB allocated'] = Math.round(allocated(() => own.compile(policy)) / 1000);
counts['loading it, kB allocated'] = Math.round(allocated(() => loadSnapshot(bytes)) / 1000);
counts['what is loaded, kB kept'] = Math.round(kept(() => loadSnapshot(bytes)) / 1000);
const [{ policy: before }, { policy: after }] = [bytes, own.compile(edited)].map((one) => loadSnapshot(one));
counts['a diff of one edited grant, kB allocated'] = Math.round(allocated(() => diffPolicies(before, after)) / 1000);
const { visited, gained, lost } = diffPolicies(before, after);
counts['a diff of one edited grant, places'] = visited.nodes;
counts['a diff of one edited grant, rows of its report'] = gained.length + lost.length;
process.stdout.write(JSON.stringify(counts));
