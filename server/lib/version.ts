// The version of the program, from package.json, and what tells two builds of one version apart.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The version that runs, whatever is installed in its place later. */
export function programVersion(): string {
  return RUNNING;
}

/** The version that is on the disk now. Throws if there is none. */
function installedVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}

const RUNNING = installedVersion();

/**
 * For what reads code from the disk long after the process has started. Throws if another version was installed over
 * the one that runs: neither might understand what the other sends.
 */
export function assertSameVersion(): void {
  const installed = readAgain();
  if (installed === RUNNING) return;
  throw new Error(`version ${installed} was installed over version ${RUNNING}, which still runs: restart the gateway`);
}

function readAgain(): string {
  try {
    return installedVersion();
  } catch (cause) {
    throw new Error(`version ${RUNNING} still runs, but its files are gone: install it again`, { cause });
  }
}

/** The compiled engine, of which the bundled program (cli/bundle.mjs) is made, too. */
export function engineFolder(): string {
  return fileURLToPath(new URL('../../engine', import.meta.url));
}

/** A digest of the compiled code in a folder: 16 hex digits. */
export function codeDigest(folder: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
  for (const name of names.sort()) {
    const code = readFileSync(join(folder, name));
    hash.update(`${name} ${String(code.length)} `).update(code);
  }
  return hash.digest('hex').slice(0, 16);
}
