// Whether this release of Node gets the security fixes (to its HTTP, TLS and zlib) that a gateway on a network needs. How long a line gets
// any follows from Node's release schedule. Which release of a line has the fixes that are out follows from nothing inside: a process knows
// its number and not its date, and asks no network. So that is a list with a date. It says for certain what is too old; and once it is older
// than the time between two rounds of Node's fixes, it says of what it has listed itself that newer fixes may be out.

/** When the list was made, and how long nobody needs to doubt it: fixes come about every three months. */
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

/** What to warn of, for `version` as `process.versions.node` has it, at a time in milliseconds; null where there is nothing to say. */
export function nodeWarning(version: string, now: number): string | null {
  const [major = NaN, minor = 0, patch = 0] = version.split('.').map(Number);
  if (!(now < endOfSupport(major))) return `Node ${version} gets no security fixes any more; ${advice(now)}`;
  const listed = PATCHED.get(major);
  if (listed === undefined) return null;
  const ahead = minor - listed[0] || patch - listed[1];
  if (ahead < 0) return `Node ${version} does not have every security fix; ${advice(now)}`;
  return ahead === 0 && now > LISTED + TRUSTED ? `Node ${version} ${doubt()}` : null;
}

/** The moment from which nothing of a line is fixed any more. */
function endOfSupport(major: number): number {
  // From 27 on, every April brings the line of its year, which gets fixes for three years.
  if (major >= 27) return Date.UTC(2000 + major + 3, MAY);
  // Before, April brought an even one for three years, and October an odd one for the time until the next June.
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
