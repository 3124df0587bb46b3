// Time limits that the database URL sets for a session, as PostgreSQL reads them: a number with a unit, or without one in
// milliseconds. The driver takes the digits alone, so to it `30s` would be 30 milliseconds.
import { StoreError } from './failures.js';

/** By the server's names. */
export const TIMES: ReadonlySet<string> = new Set([
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
]);

const UNITS: ReadonlyMap<string, number> = new Map([
  ['us', 1 / 1_000],
  ['ms', 1],
  ['s', 1_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** PostgreSQL keeps them as integers of 32 bits. */
const LONGEST = 2 ** 31 - 1;

/** In milliseconds, by the server's names. Throws `StoreError` if one cannot be read. */
export function timesOf(parameters: URLSearchParams): ReadonlyMap<string, number> {
  const given = [...settingsIn(parameters.get('options') ?? ''), ...parameters];
  return new Map(
    given.flatMap(([name, value]) => (TIMES.has(name) ? [[name, millisecondsOf(name, value)] as const] : [])),
  );
}

/** `-c name=value` and `--name=value`; a backslash takes the next character as it is. */
function settingsIn(options: string): readonly (readonly [name: string, value: string])[] {
  const settings = options.matchAll(/(?:^|\s)(?:-c\s*|--)([\w-]+)=((?:\\.|[^\s\\])*)/g);
  return [...settings].map(([, name = '', value = '']) => [
    name.toLowerCase().replaceAll('-', '_'),
    value.replaceAll(/\\(.)/g, '$1'),
  ]);
}

function millisecondsOf(name: string, value: string): number {
  const [, amount, unit = ''] = /^\s*((?:0|[1-9]\d*)(?:\.\d*)?)\s*([a-z]*)\s*$/.exec(value) ?? [];
  const factor = UNITS.get(unit === '' ? 'ms' : unit);
  const exact = amount === undefined || factor === undefined ? NaN : Number(amount) * factor;
  const time = Math.round(exact);
  // No time at all would be no limit.
  if (time <= LONGEST && (time > 0 || exact === 0)) return time;
  throw new StoreError(
    'store.url',
    `\`${name}\` in the database URL is not a time: write it as PostgreSQL does, such as \`30s\` or \`500ms\`, at most \`24d\``,
  );
}
