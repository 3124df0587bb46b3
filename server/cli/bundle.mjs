// Puts the compiled program, its threads, its worker processes and the clients into dist/server/bin: node server/cli/bundle.mjs. Node
// takes longer to find and link several hundred modules than to run most verbs. Packages stay outside, so that they can be patched.
//
// All files lie in one folder. So a module names files of its own from a folder of `server/`, which is as deep
// (`../console/…`), and the module of a thread beside itself (`./…-worker.js`), by a name that no other has.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const server = fileURLToPath(new URL('../../dist/server/', import.meta.url));
const target = join(server, 'bin');

/** The modules that start in threads and processes of their own. */
function startedModules() {
  const files = readdirSync(server, { recursive: true })
    .filter((name) => name.endsWith('.js') && !/^(?:bin|console)\b/.test(name))
    .map((name) => join(server, name));
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/new URL\('\.\/([^']+\.js)', import\.meta\.url\)/g)].map(([, name]) =>
      join(dirname(file), name),
    ),
  );
}

const entryPoints = {
  bailiwick: join(server, 'cli/main.js'),
  client: join(server, 'client/index.js'),
  local: join(server, 'client/local.js'),
};
for (const file of startedModules()) {
  const name = basename(file, '.js');
  if ((entryPoints[name] ??= file) !== file) throw new Error(`${file} has the name of ${entryPoints[name]}`);
}

const { outputFiles } = await build({
  entryPoints,
  chunkNames: '[name]-[hash]',
  outdir: target,
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  charset: 'utf8',
  write: false,
});

mkdirSync(target, { recursive: true });
for (const { path, contents } of outputFiles) {
  // What is there already is left alone: somebody may be reading it.
  if (existsSync(path) && readFileSync(path).equals(contents)) continue;
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, path);
}
const made = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of readdirSync(target)) if (!made.has(name)) rmSync(join(target, name));
