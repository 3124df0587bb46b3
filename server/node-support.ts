// Whether this release of Node gets the security fixes (for its HTTP, TLS and zlib) that a gateway on a network needs.
// Node's release schedule tells how long a line gets fixes. Nothing in the process tells which release of a line has
// all published fixes: it knows its own number but not when it was released, and it asks no network. So this is a list
// with a date. It says for certain what is too old. Once the list is older than the time between two rounds of Node's
// fixes, it warns that newer fixes may exist even for the releases that it lists.

/** When the list was made, and how long it can be relied on: fixes come about every three months. */
const LISTED = Date.UTC(2026, 10, 22);
const TRUSTED = 120 * 86_400_000;

/** By line, the first release with every fix that we know to matter. */
const PATCHED: ReadonlyMap<number, readonly [minor: number, patch: number]> = new Map([
  [22, [23, 4]],
  [24, [22, 1]],
  [26, [12, 1]],
]);

const MAY = 4;
const JUNE = 5;

/**
 * What to warn about, for a `version` in the form of `process.versions.node` and a time in milliseconds; null if there
 * is nothing to say.
 */
export function nodeWarning(version: string, now: number): string | null {
  const [major = NaN, minor = 0, patch = 0] = version.split('.').map(Number);
  if (!(now < endOfSupport(major))) return `Node ${version} gets no security fixes any more; ${advice(now)}`;
  const listed = PATCHED.get(major);
  if (listed === undefined) return null;
  const ahead = minor - listed[0] || patch - listed[1];
  if (ahead < 0) return `Node ${version} does not have every security fix; ${advice(now)}`;
  return ahead === 0 && now > LISTED + TRUSTED ? `Node ${version} ${doubt()}` : null;
}

/** The moment from which a line gets no more fixes. */
function endOfSupport(major: number): number {
  // From 27 on, every April brings the line of its year, which is supported for three years.
  if (major >= 27) return Date.UTC(2000 + major + 3, MAY);
  // Before that, April brought an even line for three years, and October an odd one until the next June.
  return major % 2 === 0 ? Date.UTC(2013 + major / 2 + 3, MAY) : Date.UTC(2014 + (major - 1) / 2, JUNE);
}

function doubt(): string {
  const day = new Date(LISTED).toISOString().slice(0, 10);
  return `had the security fixes that were out on ${day}; see whether there is a newer release (${RELEASES})`;
}

const RELEASES = 'https://nodejs.org/en/about/previous-releases';

function advice(now: number): string {
  const known = [...PATCHED].filter(([major]) => now < endOfSupport(major));
  if (known.length === 0) return `serve a network with a line that does (${RELEASES})`;
  return `serve a network with ${known.map((release) => release.flat().join('.')).join(', ')} or newer`;
}
