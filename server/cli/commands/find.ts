// `bailiwick find <digest> <revision range>:<folder>`: the commits that compile to a snapshot, or to the same decisions.
import { groupDigits } from '../../../engine/index.js';
import { EXIT, usage } from '../exit.js';
import { type CliIo, write, writeJson } from '../io.js';
import { formats } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { count } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<digest>': 'snapshot or decision digest, `sha256:…`; its first eight digits are enough',
  '<range>': '`<revision>:<folder>` or `<after>..<newest>:<folder>` in git; or a folder, at `HEAD`',
  '--cache <folder>': 'folder for computed results (default: `bailiwick` in the cache folder of the user)',
  '--no-cache': 'compute everything, and keep nothing',
  ...formats(),
});

export const defineFind = verb(TAKES, find, {
  examples: {
    'the commits of the policy that a gateway serves': 'bailiwick find sha256:342e4533 main:policies',
    'the commits of a snapshot that an event of the audit log names': `bailiwick find $(sed -n 3p audit/k3v9m2xqwe.000000000000001.jsonl | jq -r .snapshot) policies`,
  },
  json: [
    'one line for each commit: {"commit","author","time","subject","matches":"snapshot"|"decisions","snapshot","decisions"}',
    '`matches` is decisions if the commit decides every request alike but compiles to another file.',
  ],
});

const HELP =
  '  help: another version of bailiwick may compile the same files to another snapshot: search for the digest of the decisions\n';

const DIGEST = /^(?:sha256:)?([0-9a-f]{8,64})$/;

async function find(io: CliIo, { digest, range, format, ...flags }: Given<typeof TAKES>): Promise<void> {
  const digits = DIGEST.exec(digest)?.[1];
  if (digits === undefined)
    throw usage(`\`${digest}\` is not a digest`, 'write `sha256:` and its hex digits, at least the first eight');
  const [{ withHistory }, { commitJson, commitText, missingText }] = await Promise.all([
    import('../open-history.js'),
    import('../render/history.js'),
  ]);
  const paint = paintFor(io, 'stdout');
  const isHere = (known: string): boolean => known.startsWith(`sha256:${digits}`);
  await withHistory(io, { range, flags }, async ({ all, line, progress, isCut }) => {
    let [found, seen] = [0, 0];
    for await (const { commit, outcome } of all()) {
      seen += 1;
      if (outcome.kind !== 'policy') continue;
      const { snapshot, decisions } = outcome;
      const matches = isHere(snapshot) ? 'snapshot' : isHere(decisions) ? 'decisions' : null;
      if (matches === null) continue;
      found += 1;
      progress.done();
      if (format === 'json') await writeJson(io, { ...commitJson(commit), matches, snapshot, decisions });
      else {
        const what = matches === 'snapshot' ? `the snapshot ${snapshot}` : `the decisions ${decisions}`;
        await write(io.stdout, `${commitText(commit, paint)}  has ${what}\n`);
      }
    }
    progress.done();
    if (found === 0) io.setStatus(EXIT.differences);
    await write(io.stderr, missingText(line, 'what it does not have was not searched'));
    const of = isCut() ? `the ${count(seen, 'commit')} that were read` : count(seen, 'commit');
    const verb = found === 1 ? 'compiles' : 'compile';
    await write(io.stderr, `${found === 0 ? 'none' : groupDigits(found)} of ${of} ${verb} to it\n`);
    if (found === 0) await write(io.stderr, HELP);
  });
}
