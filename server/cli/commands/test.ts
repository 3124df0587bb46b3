// `bailiwick test <dir>`: the tests of a policy alone, and which grants they cover.
import type { GrantCoverage } from '../../../engine/compiler.js';
import type { CheckReport } from '../../policy/open/check-policy.js';
import { EXIT, statusOf, usage } from '../exit.js';
import { type CliIo, pathOf, write, writeLargeJson } from '../io.js';
import { checkVisibly } from '../open-policy.js';
import { renderDiagnostics, summarize } from '../render/diagnostics.js';
import type { Requirement } from '../render/junit.js';
import { paintFor } from '../render/terminal.js';
import { count, countOf, percentText } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const NOT_COVERED = 'policy.coverage';

type TestFormat = 'text' | 'json' | 'junit';

const TAKES = takes({
  '<dir>': 'policy folder, or `<revision>:<path>` in git',
  '--run <regex>': 'run only the tests whose names match',
  '--coverage': 'list grants that no test exercises',
  '--threshold <percent>': 'exit with 4 if a smaller percentage of the grants is covered; implies --coverage',
  '--format <format>': { about: 'how results are printed', choices: ['text', 'json', 'junit'], usual: 'text' },
});

export const defineTest = verb(TAKES, test, {
  examples: {
    'all tests': 'bailiwick test policies',
    'those about visitors': "bailiwick test policies --run 'visit'",
    'in CI: nine of ten grants have a test': 'bailiwick test policies --threshold 90',
  },
});

async function test(io: CliIo, options: Given<typeof TAKES>): Promise<void> {
  const { dir } = options;
  const pattern = parsePattern(options.run);
  const threshold = parseThreshold(options.threshold);
  const [{ coverGrants, coveredPercent }, { errorOf }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/report.js'),
  ]);
  const report = await checkVisibly(io, dir, { onlyTests: pattern, digests: false });
  const { compiled, tests } = report;
  if (compiled === null) {
    io.setStatus(statusOf(report));
    await print(io, dir, { report, coverage: null, requirements: [], error: errorOf(report), options });
    return;
  }
  if (options.run !== undefined && tests.results.length === 0) throw usage(`no test matches \`${options.run}\``);
  const counted = options.coverage === true || threshold !== null;
  const coverage = counted ? coverGrants(compiled.set, tests) : null;
  const percent = coverage === null ? 100 : coveredPercent(coverage);
  const asked = `${String(threshold)}%`;
  const message = `${percentText(percent)} of the grants are covered, and ${asked} are required`;
  const missed = threshold !== null && percent < threshold ? { code: NOT_COVERED, message } : null;
  const requirements = threshold === null ? [] : [{ name: `${asked} of the grants are covered`, failure: missed }];
  const error = errorOf(report) ?? missed;
  io.setStatus(error === null ? EXIT.ok : EXIT.testsFailed);
  await print(io, dir, { report, coverage, requirements, error, options });
}

interface Printed {
  readonly report: CheckReport;
  readonly coverage: GrantCoverage | null;
  readonly requirements: readonly Requirement[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly options: Given<typeof TAKES>;
}

async function print(
  io: CliIo,
  dir: string,
  { report, coverage, requirements, error, options }: Printed,
): Promise<void> {
  const { format } = options;
  if (format === 'junit') {
    const [{ renderReport }, { makeLocator }] = await Promise.all([
      import('../render/junit.js'),
      import('../render/problems.js'),
    ]);
    await write(io.stdout, renderReport(report, makeLocator(io.cwd, pathOf(io, dir)), requirements));
    return;
  }
  const { renderCoverage, renderTestFailures, testResultsJson } = await import('../render/test-failures.js');
  const { tests, diagnostics, sources, files, compiled } = report;
  if (format === 'json') {
    const grants = coverage === null ? {} : { coverage: { grants: coverage } };
    const invalid = compiled === null ? { diagnostics } : {};
    const failed = error === null ? {} : { error };
    await writeLargeJson(io, Object.entries({ ...testResultsJson(tests), ...grants, ...invalid, ...failed }));
    return;
  }
  const paint = paintFor(io, 'stdout');
  if (compiled === null) {
    await write(
      io.stdout,
      `${renderDiagnostics(diagnostics, sources, paint)}${paint('error', summarize(diagnostics, files.length))}\n`,
    );
    return;
  }
  const all = tests.results.length;
  const sum = tests.failed === 0 ? `${count(all, 'test')} passed` : `${countOf(tests.failed, all, 'test')} failed`;
  await write(io.stdout, renderTestFailures(tests.failures, paint));
  if (coverage !== null) await write(io.stdout, renderCoverage(coverage));
  await write(io.stdout, `${paint(error === null ? 'good' : 'error', sum)}\n`);
  if (error?.code === NOT_COVERED) await write(io.stdout, `${paint('error', error.message)}\n`);
}

function parsePattern(text: string | undefined): RegExp {
  try {
    return new RegExp(text ?? '', 'u');
  } catch (error) {
    throw usage(`\`--run\` is not a regular expression: ${error instanceof Error ? error.message : ''}`);
  }
}

function parseThreshold(text: string | undefined): number | null {
  if (text === undefined) return null;
  const percent = /^\d{1,3}(?:\.\d+)?%?$/.test(text) ? Number.parseFloat(text) : NaN;
  if (percent <= 100) return percent;
  throw usage('`--threshold` must be a percentage between 0 and 100');
}
