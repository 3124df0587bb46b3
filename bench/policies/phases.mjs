// Times what is done with compiled policies, inside one process: node phases.mjs <snapshot> <edited snapshot> <folder>, where the
// folder is what the first was compiled from. Prints JSON.
import { performance } from 'node:perf_hooks';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { checkGuardrails, compilePolicy, diffPolicies, openCompiled, readPolicy } from '../../dist/engine/compiler.js';
import { loadSnapshot } from '../../dist/engine/index.js';
import { readFolder } from '../../dist/server/policy/open/read-folder.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const [snapshot, edited, folder] = process.argv.slice(2);
const phases = [];

/** Guardrails that hardly anybody in a generated policy satisfies, to measure the work of reporting who breaks them, where and how. */
const STRICT = {
  'policy.yaml': 'bailiwick: 1\nname: strict\nproviders: { badge: {} }\n',
  'guardrails.yaml': 'guardrails: [{ id: apart, separate: ["resource:*", "process-run:*", "namespace:*"] }]\n',
};
/** With more grants the list of violations, which names everybody at every place, is longer than anybody reads. */
const MOST_BROKEN = 100_000;

function time(name, work) {
  const started = performance.now();
  const cpu = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(cpu);
  phases.push({ step: name, wall: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 });
  return result;
}

function heap() {
  collect();
  return process.memoryUsage().heapUsed;
}

function must(result) {
  if (!result.ok) throw new Error(JSON.stringify(result.fault ?? result.diagnostics));
  return result;
}

const [oldBytes, newBytes] = [readFileSync(snapshot), readFileSync(edited)];
const atFirst = heap();
const { policy: before } = must(time('load a snapshot', () => loadSnapshot(oldBytes)));
const kept = heap() - atFirst;
const { policy: after } = must(loadSnapshot(newBytes));
const report = time('diff, ten grants edited', () => diffPolicies(before, after));
if (report.equal || report.gained.length + report.lost.length === 0) throw new Error('the diff found nothing');
const { files } = await readFolder(folder);
const { policy: set } = time('read and link', () => readPolicy(files));
const compiled = must(time('compile', () => compilePolicy(set)));
const { policy } = must(time('open what was compiled', () => openCompiled(compiled.snapshot)));
const guardrails = time(`guardrails (${set.guardrails.length})`, () => checkGuardrails(set, policy));
if (guardrails.violated > 0) throw new Error('a guardrail of the generated policy is violated');
const facts = { counts: policy.counts, rows: report.gained.length + report.lost.length, bytes: oldBytes.length };
console.log(JSON.stringify({ phases, kept, ...facts, ...(set.grants.length > MOST_BROKEN ? {} : tellBroken()) }));

function tellBroken() {
  const { policy: strict } = readPolicy(Object.entries(STRICT).map(([path, text]) => ({ path, bytes: Buffer.from(text) })));
  const broken = time('a guardrail that nearly all break', () => checkGuardrails({ ...set, guardrails: strict.guardrails }, policy));
  const [{ witnesses, repair }] = broken.violations;
  return { witnesses: witnesses.length, repair: repair.length };
}
