// `bailiwick inspect <snapshot>`: facts and digests of a snapshot, or of what a folder compiles to.
import type { Command } from 'commander';
import { type CliIo, write, writeJson } from '../io.js';
import { openListed, openStated } from '../open-policy.js';
import { type Format, formatOption, withExamples, withJson } from '../options.js';
import { escapeText } from '../render/escape.js';
import { renderChecks, renderCounts } from '../render/text.js';

interface InspectOptions {
  readonly namespaces?: true;
  readonly format: Format;
}

export function defineInspect(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder, snapshot file (`-` is stdin), or `<revision>:<path>` in git')
    .option(
      '--namespaces',
      'also show the digest of each namespace, which changes only if a decision in it or below it changes',
    )
    .addOption(formatOption())
    .action((policy: string, options: InspectOptions) => inspect(io, policy, options));
  withExamples(command, [
    ['what a file holds', 'bailiwick inspect snapshot.json'],
    [
      'which subtrees two policies decide differently',
      'diff <(bailiwick inspect old.json --namespaces) <(bailiwick inspect new.json --namespaces)',
    ],
  ]);
  withJson(command, [
    '{"policy","format","snapshot","decisions","counts":{"identities","roles","grants","namespaces"},',
    '"checks":{"guardrails":{"count","digest"},"people":{…},"tests":{…}} or null in format 1,',
    '"namespaces"?:[{"namespace","digest"}]}',
  ]);
}

async function inspect(io: CliIo, path: string, { namespaces, format }: InspectOptions): Promise<void> {
  const { policy, namespaces: listed } =
    namespaces === undefined ? { ...(await openStated(io, path)), namespaces: null } : await openListed(io, path);
  const { name, digest, decisions, counts, checks } = policy;
  if (format === 'json') {
    const facts = { policy: name, format: policy.format, snapshot: digest, decisions, counts, checks };
    await writeJson(io, listed === null ? facts : { ...facts, namespaces: listed });
    return;
  }
  const lines = [
    `policy    ${escapeText(name)}`,
    `format    ${String(policy.format)}`,
    `snapshot  ${digest}`,
    `decisions ${decisions}`,
    renderCounts(counts),
    renderChecks(checks),
    ...(listed ?? []).map((entry) => `${entry.digest} ${entry.namespace}`),
  ];
  await write(io.stdout, `${lines.join('\n')}\n`);
}
