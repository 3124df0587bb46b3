// What one changed line costs where a policy is compiled again and again: node bench/policies/again.mjs <folder> [changes], where the
// folder was made by generate.mjs. It is copied. Prints the CPU time of each change, in milliseconds: of the thread of a gateway that
// follows the folder, and of each step of the language server.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instantOf } from '../../dist/engine/index.js';
import { makeFolderChecker } from '../../dist/server/lsp/policy-folder.js';
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

async function cpuOf(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return Math.round((user + system) / 1000);
}

const rows = new Map();
const note = (name, figure) => rows.set(name, [...(rows.get(name) ?? []), figure]);
const { signal } = new AbortController();
const thread = makeFolderThread();
const checker = makeFolderChecker(folder);
for (let number = 0; number <= Number(changes); number += 1) {
  writeFileSync(join(folder, FILE), version(number));
  note('gateway', await cpuOf(() => thread.compile(folder, signal)));
}
thread.close();
for (let number = 0; number <= Number(changes); number += 1) {
  // The disk is looked at each time.
  const steps = checker.check(new Map([[FILE, version(number)]]), instantOf(number * 10_000));
  for (const step of STEPS) note(`editor: ${step}`, await cpuOf(() => steps.next()));
}
rmSync(folder, { recursive: true });
for (const [name, figures] of rows) console.log(name.padEnd(24), ...figures.map((figure) => String(figure).padStart(6)));
