// What one changed line costs where a policy is compiled again and again: node bench/policies/again.mjs <folder> [changes], where the
// folder was made by generate.mjs. It is copied. Prints how long each change took, and below it the CPU time of all threads, in
// milliseconds: of a gateway that follows the folder, of each phase of its work by itself, and of each step of the language server.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileTables } from '../../dist/engine/compile/compile-tables.js';
import {
  checkGuardrails,
  ENGINE_LIMITS,
  lintPolicy,
  openUnread,
  readPolicy,
  rememberingReader,
  runPolicyTests,
} from '../../dist/engine/compiler.js';
import { instantOf, packedOf } from '../../dist/engine/index.js';
import { digestChecks } from '../../dist/engine/snapshot/checks.js';
import { digestCells } from '../../dist/engine/snapshot/digest-cells.js';
import { sealSnapshot } from '../../dist/engine/snapshot/encode.js';
import { makeFolderChecker } from '../../dist/server/lsp/policy-folder.js';
import { readFolder } from '../../dist/server/policy/open/read-folder.js';
import { makeFolderThread } from '../../dist/server/policy/open/snapshot-thread.js';

const FILE = 'grants/site-0003/000.yaml';
const STEPS = ['read and link', 'tests', 'guardrails', 'lint', 'limits'];
const [from, changes = '5'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
cpSync(from, folder, { recursive: true });
const lines = readFileSync(join(folder, FILE), 'utf8').split('\n');
const places = lines.flatMap((line, at) => (line.startsWith('    scopes: [') ? [at] : []));

/** The text with another grant changed each time. */
function version(number) {
  const at = places[(number * 37) % places.length];
  const scope = lines[at].includes('resource:read') ? 'process-run:read' : 'resource:read';
  return number === 0 ? lines.join('\n') : lines.with(at, `    scopes: [${scope}]`).join('\n');
}

async function measured(work) {
  const began = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { elapsed: Math.round(performance.now() - began), cpu: Math.round((user + system) / 1000) };
}

/** Does what the gateway does, and lint, phase by phase. */
async function eachPhase(before) {
  const phase = async (name, work) => {
    let result;
    note(`phase: ${name}`, await measured(async () => (result = await work())));
    return result;
  };
  const { files } = await phase('files', () => readFolder(folder));
  const read = await phase('read and link', () => readPolicy(files, ENGINE_LIMITS, reader));
  const set = read.policy;
  const tables = await phase('tables', () => compileTables(set, before.set));
  const holders = await phase('holders', () => tables.holders(ENGINE_LIMITS.expandedRows));
  const how = { limits: ENGINE_LIMITS, before: before.digests };
  const digests = await phase('digest', () => digestCells(tables.tables, holders, how));
  const stated = { checks: digestChecks(set), decisions: digests.decisions };
  const snapshot = await phase('seal', () => sealSnapshot(tables.tables, stated));
  const policy = await phase('decision table', () => {
    const opened = openUnread(set, snapshot);
    // Its table is made when it is handed over, or when it first decides.
    packedOf(opened);
    return opened;
  });
  await phase('tests', () => runPolicyTests(set, policy, { tests: set.tests }));
  await phase('guardrails', () => checkGuardrails(set, policy));
  await phase('lint', () => lintPolicy(read, { at: instantOf(0), soonMilliseconds: 0, levels: new Map() }));
  return { set, digests: digests.known };
}

const rows = new Map();
const note = (name, figure) => rows.set(name, [...(rows.get(name) ?? []), figure]);
const { signal } = new AbortController();
const thread = makeFolderThread();
const checker = makeFolderChecker(folder);
for (let number = 0; number <= Number(changes); number += 1) {
  writeFileSync(join(folder, FILE), version(number));
  note('gateway', await measured(() => thread.compile(folder, signal)));
}
thread.close();
const reader = rememberingReader();
let known = { set: null, digests: null };
for (let number = 0; number <= Number(changes); number += 1) {
  writeFileSync(join(folder, FILE), version(number));
  known = await eachPhase(known);
}
for (let number = 0; number <= Number(changes); number += 1) {
  // The disk is looked at each time.
  const steps = checker.check(new Map([[FILE, version(number)]]), instantOf(number * 10_000));
  for (const step of STEPS) note(`editor: ${step}`, await measured(() => steps.next()));
}
rmSync(folder, { recursive: true });
const line = (name, figures) => console.log(name.padEnd(24), ...figures.map((figure) => String(figure).padStart(6)));
for (const [name, figures] of rows) {
  line(name, figures.map(({ elapsed }) => elapsed));
  line('', figures.map(({ cpu }) => cpu));
}
