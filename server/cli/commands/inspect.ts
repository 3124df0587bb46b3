// `bailiwick inspect <snapshot>`: facts and digests of a snapshot, or of what a folder compiles to.
import type { Answer, CliIo } from '../io.js';
import { openListed, openStated } from '../open-policy.js';
import { formats } from '../options.js';
import { linesText, renderChecks, renderCounts } from '../render/text.js';
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

async function inspect(io: CliIo, { policy: path, namespaces }: Given<typeof TAKES>): Promise<Answer> {
  const { policy, namespaces: listed } =
    namespaces === undefined ? { ...(await openStated(io, path)), namespaces: null } : await openListed(io, path);
  const { name, digest, decisions, counts, checks } = policy;
  const facts = { policy: name, format: policy.format, snapshot: digest, decisions, counts, checks };
  const lines = [
    `policy    ${name}`,
    `format    ${String(policy.format)}`,
    `snapshot  ${digest}`,
    `decisions ${decisions}`,
    renderCounts(counts),
    renderChecks(checks),
    ...(listed ?? []).map((entry) => `${entry.digest} ${entry.namespace}`),
  ];
  return { json: () => ({ ...facts, namespaces: listed ?? undefined }), text: () => linesText(lines) };
}
