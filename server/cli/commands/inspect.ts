// `bailiwick inspect <snapshot>`: facts and digests of a snapshot, or of what a folder compiles to.
import { type CliIo, write, writeJson } from '../io.js';
import { openListed, openStated } from '../open-policy.js';
import { formats } from '../options.js';
import { escapeText } from '../render/escape.js';
import { renderChecks, renderCounts } from '../render/text.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file (`-` is stdin), or `<revision>:<path>` in git',
  '--namespaces': 'also show the digest of each namespace, which changes only if a decision in it or below it changes',
  ...formats(),
});

export const defineInspect = verb(TAKES, inspect, {
  examples: {
    'what a file holds': 'bailiwick inspect snapshot.json',
    'which subtrees two policies decide differently':
      'diff <(bailiwick inspect old.json --namespaces) <(bailiwick inspect new.json --namespaces)',
  },
  json: [
    '{"policy","format","snapshot","decisions","counts":{"identities","roles","grants","namespaces"},',
    '"checks":{"guardrails":{"count","digest"},"people":{…},"tests":{…}} or null in format 1,',
    '"namespaces"?:[{"namespace","digest"}]}',
  ],
});

async function inspect(io: CliIo, { policy: path, namespaces, format }: Given<typeof TAKES>): Promise<void> {
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
