// `bailiwick diff <old> <new>`: who gains and loses what, exactly, and that nothing else changes.
import type { DiffReport } from '../../../engine/compiler.js';
import { formatInstant, instantOf } from '../../../engine/index.js';
import { programVersion } from '../../lib/version.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { forkFrom } from '../at-policy.js';
import type { OpenedChange } from '../compare-policies.js';
import { addReport, EXIT, usage } from '../exit.js';
import { type CliIo, print, write } from '../io.js';
import { type OpenedPolicy, openStated } from '../open-policy.js';
import { formats } from '../options.js';
import { pageWith } from '../page.js';
import type { ComparedPolicies } from '../render/diff.js';
import { paintFor } from '../render/terminal.js';
import { count, firstOf } from '../render/text.js';
import { type Given, repeated, takes, verb } from '../verb.js';

const TAKES = takes({
  '<old>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '<new>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--exit-code': `end with ${String(EXIT.differences)} if any access differs`,
  '--no-new-access': `end with ${String(EXIT.differences)} if anyone gains any access`,
  '--no-weaker-checks': `end with ${String(EXIT.differences)} if a guardrail, a delegated folder or the \`within\` of a file was removed or became weaker, a test or an exclusive pair was removed or changed, a person was added, removed or changed, or more findings are accepted; for snapshots, if any of these differs`,
  '--reviewed <policy>': repeated(
    `a policy that was reviewed as a change of \`<old>\`, if \`<new>\` merges several of them; repeat it for each. Ends with ${String(EXIT.differences)} if the merge opens access or weakens a check, and none of the changes does so by itself`,
  ),
  ...formats(['markdown', 'html'], '; markdown is made for a pull request, html is one page that needs nothing else'),
});

export const defineDiff = verb(TAKES, diff, {
  examples: {
    'the effect of a change': 'bailiwick diff snapshot.json policies',
    'a gate that fails if anybody gains access': 'bailiwick diff snapshot.json policies --no-new-access',
    'a check that keeps guardrails and tests': 'bailiwick diff main:policies policies --no-weaker-checks',
    'a page for a reviewer or an auditor': 'bailiwick diff main:policies policies --format html > report.html',
    'access that only the merge of two reviewed changes opens':
      'bailiwick diff main:policies policies --reviewed pr-7:policies --reviewed pr-9:policies',
    'the comment of a pull request': 'bailiwick diff main.json policies --format markdown',
  },
  json: [
    '{"old":{"snapshot","decisions"},"new":{…},"equal","gained":[Row],"lost":[Row],"exclusive":{"added":[[Identity,Identity]],"removed"},"scopes":{"added":[scope],"removed"},"cells":{"compared","equal","gained","lost"},',
    '"checks":{"guardrails":{"added","removed","changed":[{"id","weaker","changes","before","after"}]},"delegation":{…},',
    '"people":{"added","removed","changed"},"tests":{…},"exclusive":{…},"accepted":[text]}}; if one is a snapshot, only {"changed"} for each kind',
    'Row: {"namespace","extent","except"?,"identities","scopes","from","until","causes":[{"change","kind","file","line",…}]}',
    'A cause also has, for the kind grant: id, principal, fields that changed, reason; for member: role, member; for role: role.',
    'The `description` of a cause is that of its role.',
    'With `--reviewed` also "reviewed":[snapshot],"emergent":[Row],"emergentCells","emergentChecks":[{"kind","change","name","text"?}].',
    'Counts beyond 2^53 - 1 are strings.',
  ],
});

async function diff(
  io: CliIo,
  { old: oldPath, new: newPath, exitCode, newAccess, weakerChecks, reviewed: named, format }: Given<typeof TAKES>,
): Promise<void> {
  if ([oldPath, newPath, ...(named ?? [])].filter((path) => path === '-').length > 1) {
    throw usage('only one of the policies can come from stdin');
  }
  const { compareOpened, mergeOf } = await import('../compare-policies.js');
  const old = await openStated(io, oldPath, 'study');
  const openNext = (path: string): Promise<OpenedPolicy> =>
    openStated(io, path, 'study').catch((error: unknown) => {
      throw addReport(error, { old: { snapshot: old.policy.digest, decisions: old.policy.decisions } });
    });
  const opened = await openNext(newPath);
  const reviewed: OpenedChange[] = [];
  for (const path of named ?? []) {
    const fork = await forkFrom(io, oldPath, path);
    reviewed.push({ opened: await openNext(path), from: fork === null ? null : await openNext(fork) });
  }
  const comparison = compareOpened(io, old, opened);
  const { report, givesAccess, isWeaker } = comparison;
  const merge = named === undefined ? undefined : mergeOf(io, { old, changed: opened, reviewed });
  const weaker = comparison.compared.checks.kind === 'stated' ? 'checks of a snapshot differ' : 'checks became weaker';
  const closed = [
    ...(newAccess === false && givesAccess ? ['somebody gains access, which `--no-new-access` forbids'] : []),
    ...(weakerChecks === false && isWeaker ? [`${weaker}, which \`--no-weaker-checks\` forbids`] : []),
  ];
  const refused =
    (exitCode === true && !report.equal) ||
    closed.length > 0 ||
    (merge !== undefined && merge.rows.length + merge.checks.length > 0);
  io.setStatus(refused ? EXIT.differences : EXIT.ok);
  const compared = { ...comparison.compared, ...(merge === undefined ? {} : { merge }) };
  const title = `${opened.policy.name}: ${oldPath} to ${newPath}`;
  const { diffJson, renderDiff } = await import('../render/diff.js');
  await print(io, format, {
    json: () => diffJson(report, compared),
    text: async () => {
      if (format === 'html') return pageOf(report, compared, title);
      if (format === 'text') return renderDiff(report, compared, paintFor(io, 'stdout'));
      return (await import('../render/diff-markdown.js')).renderMarkdown(report, compared);
    },
  });
  await write(io.stderr, closed.map((why) => `refused: ${why}\n`).join(''));
}

/** The page that shows it without bailiwick (server/console/page/report.ts). */
async function pageOf(report: DiffReport, compared: ComparedPolicies, title: string): Promise<string> {
  const [{ changeLines, checkLines, diffJson, exclusiveLines, exclusiveText }, { shortList }] = await Promise.all([
    import('../render/diff.js'),
    import('../render/words.js'),
  ]);
  const most = CLI_LIMITS.pageLines;
  const { added, removed } = report.exclusive;
  return pageWith('report', {
    title,
    made: formatInstant(instantOf(Date.now())),
    version: programVersion(),
    ...diffJson(report, compared),
    exclusive: { added: added.slice(0, most), removed: removed.slice(0, most) },
    weaker: [
      ...firstOf(exclusiveLines(report), (line) => exclusiveText(line, (identity) => identity), {
        most,
        more: restText('of `exclusive`'),
      }),
      ...checkLines(compared.checks).map(
        ({ kind, change, names }) => `${kind} ${change}${names.length === 0 ? '' : `: ${shortList(names, most)}`}`,
      ),
      ...firstOf(
        changeLines(compared.checks),
        ({ name, text, weaker }) => `${name}${weaker ? ' is weaker' : ''}: ${text}`,
        {
          most,
          more: restText('of checks'),
        },
      ),
    ],
  });
}

/** Nobody reads thousands of lines above a picture, and there may be a million. */
function restText(what: string): (left: number) => string {
  return (left) => `${count(left, 'more change')} ${what} not shown: \`bailiwick diff\` lists all.`;
}
