// Proves that a compile depends on the policy alone: the same folder, copied and compiled again under another locale, time
// zone, clock, umask, user home, working directory, order and age of files, must give the same bytes (engine/README.md "The
// snapshot file").
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatePolicy } from '../bench/policies/generate.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLI = join(ROOT, 'dist/server/bin/bailiwick.js');
const ahead = (days) => `--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()%2B${days * 86_400_000}`;

/** One way to compile: how the copy is made, and where and in what environment the compiler runs. */
const WAYS = [
  { name: 'as it is', order: (files) => files, cwd: 'root', env: {} },
  {
    name: 'files made last to first, Turkish, Tokyo',
    order: (files) => files.toReversed(),
    cwd: 'copy',
    env: { LC_ALL: 'tr_TR.UTF-8', TZ: 'Asia/Tokyo' },
  },
  {
    name: 'files in another order and older, a year ahead',
    order: shuffled,
    age: 1e9,
    cwd: 'elsewhere',
    env: { NODE_OPTIONS: ahead(400), TZ: 'America/St_Johns' },
  },
  {
    name: 'bare environment, narrow umask, other hash seed',
    order: shuffled,
    cwd: 'copy',
    env: { LC_ALL: 'C', HOME: '/nonexistent', TZ: '' },
    umask: 0o077,
    flags: ['--hash-seed=7'],
  },
];

const folder = mkdtempSync(join(tmpdir(), 'bailiwick-reproducible-'));
try {
  generatePolicy(join(folder, 'generated'), { grants: 2000, seed: 7 });
  const failed = [join(ROOT, 'policies'), join(folder, 'generated')].filter((policy) => !isReproducible(policy));
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function isReproducible(policy) {
  const digests = WAYS.map((way, index) =>
    compile(policy, way, join(folder, `${relative(dirname(policy), policy)}-${index}`)),
  );
  const shown = relative(ROOT, policy).startsWith('..') ? 'a generated policy' : relative(ROOT, policy);
  const different = WAYS.filter((_, index) => digests[index] !== digests[0]);
  if (different.length === 0) console.log(`${shown}: ${WAYS.length} compiles, all ${digests[0]}`);
  for (const way of different) console.error(`${shown}: other bytes (${way.name})`);
  return different.length === 0;
}

function compile(policy, way, place) {
  const copy = join(place, 'policy copy');
  const files = readdirSync(policy, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => relative(policy, join(entry.parentPath, entry.name))).sort();
  for (const path of way.order(paths)) {
    const file = join(copy, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, readFileSync(join(policy, path)));
    if (way.age !== undefined) utimesSync(file, way.age, way.age);
  }
  const cwd = { root: ROOT, copy, elsewhere: tmpdir() }[way.cwd];
  const argument = way.cwd === 'copy' ? '.' : copy;
  const before = process.umask(way.umask ?? 0o022);
  const env = { PATH: process.env.PATH, ...way.env };
  const run = spawnSync(
    process.execPath,
    [...(way.flags ?? []), CLI, 'compile', argument, '-o', join(place, 'out.json')],
    { cwd, env, encoding: 'utf8' },
  );
  process.umask(before);
  if (run.status !== 0) throw new Error(`compile failed (${way.name}): ${run.stdout}${run.stderr}`);
  return `sha256:${createHash('sha256')
    .update(readFileSync(join(place, 'out.json')))
    .digest('hex')}`;
}

/** The same other order each time. */
function shuffled(files) {
  const rank = (path) => createHash('sha256').update(path).digest('hex');
  return files.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
