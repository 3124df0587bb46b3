// Which releases of Node still get fixes that a gateway on the network needs (security fixes to its HTTP, TLS and zlib).

/** By major version, the first release with every fix that we know to matter. Newer lines are taken to have them. */
const PATCHED: ReadonlyMap<number, readonly [minor: number, patch: number]> = new Map([
  [22, [23, 4]],
  [24, [22, 1]],
  [26, [12, 1]],
]);
const NEWEST_LINE = 26;

/** `version` as `process.versions.node` has it. */
export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major > NEWEST_LINE) return true;
  const floor = PATCHED.get(major);
  return floor !== undefined && (minor > floor[0] || (minor === floor[0] && patch >= floor[1]));
}
