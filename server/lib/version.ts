// The version of the program, from package.json, and what tells two builds of one version apart.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function programVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
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
