// Sizes, counted: the package, the code, and the code that a command loads before it does anything.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLI = join(ROOT, 'dist/server/bin/bailiwick.js');
const FOLDERS = ['engine', 'server', 'bench'];
const STARTS = { version: ['version'], check: ['check', 'policies'], 'help of serve': ['serve', '--help'] };

export async function countFiles() {
  const starts = Object.entries(STARTS).map(([verb, args]) => countLoaded(verb, args));
  return Object.assign(await countPackage(), ...(await Promise.all(starts)), ...FOLDERS.map(countLines));
}

/** Of what was built, as it is. */
async function countPackage() {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], { cwd: ROOT });
  const [{ size, unpackedSize, entryCount }] = JSON.parse(stdout);
  return { 'the package, kB': kilobytes(size), 'what it unpacks to, kB': kilobytes(unpackedSize), 'what it unpacks to, files': entryCount }; // prettier-ignore
}

function countLines(folder) {
  const files = readdirSync(join(ROOT, folder), { recursive: true })
    .filter((file) => /\.(?:ts|mjs)$/.test(file) && !file.includes('node_modules'))
    .map((file) => readFileSync(join(ROOT, folder, file), 'utf8'));
  return { [`code of ${folder}/, lines`]: files.reduce((sum, text) => sum + text.split('\n').length - 1, 0) };
}

/** Node lists the scripts of a process that ends. */
async function countLoaded(verb, args) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-counts-'));
  try {
    await run(process.execPath, [CLI, ...args], { cwd: ROOT, env: { ...process.env, NODE_V8_COVERAGE: folder } });
    const urls = readdirSync(folder).flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')).result.map(({ url }) => url)); // prettier-ignore
    const loaded = [...new Set(urls)].filter((url) => url.startsWith('file:')).map((url) => statSync(fileURLToPath(url)).size); // prettier-ignore
    const bytes = loaded.reduce((sum, size) => sum + size, 0);
    return { [`${verb}: code loaded, kB`]: kilobytes(bytes), [`${verb}: code loaded, files`]: loaded.length };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function kilobytes(bytes) {
  return Math.round(bytes / 1000);
}
