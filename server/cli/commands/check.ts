// `bailiwick check <dir>`: everything `compile` does before it writes, and nothing written.
import { checkVisibly } from '../open-policy.js';
import { openStore, storeFailure } from '../open-store.js';
import { configOf, LINT, lintRequest, REPORT_FORMATS, SOON, STORE_SETTINGS } from '../options.js';
import { statusOf, usage } from '../exit.js';
import type { CliIo } from '../io.js';
import type { SettingFlags } from '../../config/index.js';
import type { NamespacePath } from '../../../engine/index.js';
import type { Database } from '../../db/database.js';
import type { CheckReport, LintRequest } from '../../policy/open/check-policy.js';
import type { Paint } from '../render/terminal.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<dir>': 'policy folder, or `<revision>:<path>` in git',
  ...REPORT_FORMATS,
  ...LINT,
  '--at <instant>': 'warn about grants that have expired by then, as RFC 3339 (default: now)',
  '--soon <duration>': `also warn about grants that expire within this time from --at or now (default: ${SOON}); if given, text and JSON also show the calendar of that time`,
  '--store': 'also warn about grants at namespaces that the store does not have',
});

export const defineCheck = verb(TAKES, check, {
  settings: STORE_SETTINGS,
  examples: {
    'every mistake at once, with its place': 'bailiwick check policies',
    'for a script': "bailiwick check policies --format json | jq -r '.diagnostics[].code'",
    'annotations on a pull request, with warnings as errors': 'bailiwick check policies --strict --format github',
    'which grants expire within a quarter, and who then loses which access': 'bailiwick check policies --soon 90d',
    'grants at namespaces that do not exist': 'bailiwick check policies --store --data-dir .bailiwick',
    'without one of the lint rules': 'bailiwick check policies --level LINT_WRITE_AT_ROOT=off',
  },
});

async function check(io: CliIo, options: Given<typeof TAKES> & SettingFlags): Promise<void> {
  const lint = await lintRequest(options, 'now');
  const db = await storeAsked(io, options);
  try {
    await report(io, options, db === null ? lint : { ...lint, askStore: (namespaces) => foundIn(db, namespaces) });
  } finally {
    await db?.close();
  }
}

/** Null without `--store`. */
async function storeAsked(io: CliIo, options: Given<typeof TAKES> & SettingFlags): Promise<Database | null> {
  if (options.store === true) return openStore(io, await configOf(io, options), { asItIs: true });
  const idle = STORE_SETTINGS.filter((name) => options[name] !== undefined);
  if (idle.length > 0) throw usage('a store is named but not used', 'add `--store`');
  return null;
}

async function foundIn(db: Database, namespaces: readonly NamespacePath[]): Promise<ReadonlySet<NamespacePath>> {
  const { meantNamespaces, storedNamespaces } = await import('../../load/stored-namespaces.js');
  try {
    const stored = await storedNamespaces(db, namespaces);
    return new Set([...stored, ...(await meantNamespaces(db, namespaces, stored))]);
  } catch (error) {
    throw await storeFailure(error);
  }
}

/** With `--soon`, people and scripts also get the calendar of that time. */
async function report(io: CliIo, { dir, format, soon: asked }: Given<typeof TAKES>, lint: LintRequest): Promise<void> {
  const { printReport } = await import('../render/report.js');
  // Only the calendar in JSON names the snapshot.
  const found = await checkVisibly(io, dir, { lint, digests: asked !== undefined && format === 'json' });
  io.setStatus(statusOf(found));
  const soon = asked !== undefined && (format === 'json' || format === 'text') ? await soonOf(found, lint) : null;
  await printReport(io, found, {
    dir,
    format,
    json: soon === null ? {} : { calendar: soon.json },
    text: (text, paint) => `${soon === null ? '' : `${soon.text(paint)}\n`}${text}`,
  });
}

interface Soon {
  readonly json: object;
  readonly text: (paint: Paint) => string;
}

/** What changes by itself within `--soon`; null for a policy that could not be read. */
async function soonOf(
  { compiled, guardrails }: CheckReport,
  { at, soonMilliseconds }: LintRequest,
): Promise<Soon | null> {
  if (compiled === null || at === null) return null;
  const [{ calendarOf }, render] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/calendar.js'),
  ]);
  const until = render.laterBy(at, soonMilliseconds);
  const calendar = calendarOf(compiled.handle, { from: at, until, violations: guardrails.violations });
  return {
    json: render.calendarJson(calendar, compiled.handle.digest),
    text: (paint) => render.renderCalendar(calendar, paint),
  };
}
