// Whether this release of Node gets the security fixes (to its HTTP, TLS and zlib) that a gateway on a network needs. How long a line gets
// any follows from Node's release schedule; which release of a line has the fixes that are out cannot be known from inside, so of lines
// that we know it is listed, and whoever serves a network follows Node's own announcements.

/** By line, the first release with every fix that we know to matter. */
const PATCHED: ReadonlyMap<number, readonly [minor: number, patch: number]> = new Map([
  [22, [23, 4]],
  [24, [22, 1]],
  [26, [12, 1]],
]);

const MAY = 4;
const JUNE = 5;

/** What to warn of, for `version` as `process.versions.node` has it, at a time in milliseconds; null where there is nothing to say. */
export function nodeWarning(version: string, now: number): string | null {
  const [major = NaN, minor = 0, patch = 0] = version.split('.').map(Number);
  const [leastMinor, leastPatch] = PATCHED.get(major) ?? [0, 0];
  if (!(now < endOfSupport(major))) return `Node ${version} gets no security fixes any more; ${advice(now)}`;
  if (minor > leastMinor || (minor === leastMinor && patch >= leastPatch)) return null;
  return `Node ${version} does not have every security fix; ${advice(now)}`;
}

/** The moment from which nothing of a line is fixed any more. */
function endOfSupport(major: number): number {
  // From 27 on, every April brings the line of its year, which gets fixes for three years.
  if (major >= 27) return Date.UTC(2000 + major + 3, MAY);
  // Before, April brought an even one for three years, and October an odd one for the time until the next June.
  return major % 2 === 0 ? Date.UTC(2013 + major / 2 + 3, MAY) : Date.UTC(2014 + (major - 1) / 2, JUNE);
}

function advice(now: number): string {
  const known = [...PATCHED].filter(([major]) => now < endOfSupport(major));
  if (known.length === 0)
    return 'serve a network with a line that does (https://nodejs.org/en/about/previous-releases)';
  return `serve a network with ${known.map((release) => release.flat().join('.')).join(', ')} or newer`;
}
