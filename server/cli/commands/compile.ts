// `bailiwick compile <dir> -o <file>`: everything that `check` does, then one snapshot file, complete or not at all.
import type { CompiledSnapshot } from '../../../engine/compiler.js';
import { addReport, statusOf, usage } from '../exit.js';
import { writeWhole } from '../files.js';
import { type CliIo, pathOf, pathsOf, write } from '../io.js';
import { checkVisibly } from '../open-policy.js';
import { LINT, lintRequest, REPORT_FORMATS, SOON } from '../options.js';
import { escapeText } from '../render/escape.js';
import { renderCounts } from '../render/text.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '<dir>': 'policy folder, or `<revision>:<path>` in git',
  '-o, --output <file>': required('file for the snapshot; `-` is stdout, and messages then go to stderr'),
  ...REPORT_FORMATS,
  ...LINT,
  '--at <instant>': 'warn about grants that have expired by then, as RFC 3339 (default: no such warnings)',
  '--soon <duration>': `also warn about grants that expire within this time from --at (default: ${SOON})`,
});

export const defineCompile = verb(TAKES, compile, {
  examples: {
    'a snapshot that `serve`, `decide` and `inspect` take': 'bailiwick compile policies -o snapshot.json',
    'the snapshot digest is the SHA-256 of the file': 'sha256sum snapshot.json',
    'the decision digest: two policies with the same one decide every request the same way':
      'bailiwick compile policies -o snapshot.json --format json | jq -r .decisions',
  },
});

async function compile(io: CliIo, options: Given<typeof TAKES>): Promise<void> {
  const { dir, output, format } = options;
  if (output === '-' && format !== 'text') {
    throw usage(`with \`-o -\` stdout carries the snapshot, so \`--format ${format}\` has no place`);
  }
  const report = await checkVisibly(io, dir, { lint: await lintRequest(options, 'none') });
  const { printReport, toJson } = await import('../render/report.js');
  io.setStatus(statusOf(report));
  const snapshot = report.verdict === 'ok' ? (report.compiled?.snapshot ?? null) : null;
  if (snapshot !== null)
    await writeSnapshot(io, snapshot.bytes, { output, folder: dir }).catch((error: unknown) => {
      throw addReport(error, { ...toJson(report), ...factsOf(snapshot), ok: false });
    });
  const shown = escapeText(output);
  const facts =
    snapshot === null
      ? `nothing written to ${shown}\n`
      : `wrote     ${shown}\nsnapshot  ${snapshot.digest}\ndecisions ${snapshot.decisions}\n${renderCounts(snapshot.counts)}\n`;
  await printReport(io, report, {
    dir,
    format,
    json: snapshot === null ? {} : { file: output, ...factsOf(snapshot) },
    text: (text) => text + facts,
    stream: output === '-' ? 'stderr' : 'stdout',
  });
}

function factsOf({ digest, decisions, counts }: CompiledSnapshot): object {
  return { snapshot: digest, decisions, counts };
}

async function writeSnapshot(
  io: CliIo,
  bytes: Uint8Array,
  target: { readonly output: string; readonly folder: string },
): Promise<void> {
  if (target.output === '-') {
    await write(io.stdout, bytes);
    return;
  }
  await writeWhole(pathOf(io, target.output), bytes, { shown: target.output, inputs: pathsOf(io, [target.folder]) });
}
