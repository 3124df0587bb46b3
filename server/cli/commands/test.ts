// `bailiwick test <dir>`: the tests of a policy alone, and which grants they cover.
import type { GrantCoverage } from '../../../engine/compiler.js';
import type { CheckReport } from '../../policy/open/check-policy.js';
import { EXIT, statusOf, usage } from '../exit.js';
import { type Answer, type CliIo, pathOf } from '../io.js';
import { checkVisibly } from '../open-policy.js';
import { renderDiagnostics, summarize } from '../render/diagnostics.js';
import type { Requirement } from '../render/junit.js';
import { type Paint, paintFor } from '../render/terminal.js';
import { count, countOf, percentText } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const NOT_COVERED = 'policy.coverage';

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

async function test(io: CliIo, options: Given<typeof TAKES>): Promise<Answer> {
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
    return answerOf(io, { report, coverage: null, requirements: [], error: errorOf(report), options });
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
  return answerOf(io, { report, coverage, requirements, error, options });
}

interface Tested {
  readonly report: CheckReport;
  readonly coverage: GrantCoverage | null;
  readonly requirements: readonly Requirement[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly options: Given<typeof TAKES>;
}

async function answerOf(io: CliIo, tested: Tested): Promise<Answer> {
  const { report, coverage, requirements, error, options } = tested;
  const { tests, diagnostics, compiled } = report;
  const { testResultsJson } = await import('../render/test-failures.js');
  return {
    json: () => ({
      ...testResultsJson(tests),
      coverage: coverage === null ? undefined : { grants: coverage },
      diagnostics: compiled === null ? diagnostics : undefined,
      error: error ?? undefined,
    }),
    text: async () => {
      if (options.format === 'text') return textOf(tested, paintFor(io, 'stdout'));
      const [{ renderReport }, { makeLocator }] = await Promise.all([
        import('../render/junit.js'),
        import('../render/problems.js'),
      ]);
      return renderReport(report, makeLocator(io.cwd, pathOf(io, options.dir)), requirements);
    },
  };
}

async function textOf({ report, coverage, error }: Tested, paint: Paint): Promise<string> {
  const { renderCoverage, renderTestFailures } = await import('../render/test-failures.js');
  const { tests, diagnostics, sources, files, compiled } = report;
  if (compiled === null)
    return `${renderDiagnostics(diagnostics, sources, paint)}${paint('error', summarize(diagnostics, files.length))}\n`;
  const all = tests.results.length;
  const sum = tests.failed === 0 ? `${count(all, 'test')} passed` : `${countOf(tests.failed, all, 'test')} failed`;
  return [
    renderTestFailures(tests.failures, paint),
    coverage === null ? '' : renderCoverage(coverage),
    `${paint(error === null ? 'good' : 'error', sum)}\n`,
    error?.code === NOT_COVERED ? `${paint('error', error.message)}\n` : '',
  ].join('');
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
