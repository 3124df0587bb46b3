// `bailiwick explain <policy>`: one access step by step, and for a denial what would allow it.
import type { Command } from 'commander';
import { type ActorOptions, completeActor, notesOn, readActor, withActorOptions } from '../actor.js';
import { type CliIo, write, writeJson } from '../io.js';
import { type Format, formatOption, instantOption, withExamples, withJson, requiredOption } from '../options.js';

interface Options extends ActorOptions {
  readonly scope: string;
  readonly namespace: string;
  readonly context?: string;
  readonly at?: string;
  readonly format: Format;
}

export function defineExplain(command: Command, io: CliIo): void {
  withActorOptions(command)
    .argument('<policy>', 'policy folder, snapshot file, or `<revision>:<path>` in git')
    .addOption(requiredOption('--scope <scope>', 'scope to ask about, such as `resource:read`'))
    .addOption(requiredOption('--namespace <path>', 'where the record lives'))
    .option('--context <path>', 'namespace to ask from (default: the one where the record lives)')
    .option('--at <instant>', 'time to ask about, under this policy, as RFC 3339 (default: now)')
    .addOption(formatOption())
    .action((policy: string, options: Options) => explain(io, policy, options));
  withExamples(command, [
    [
      'why, or why not',
      'bailiwick explain policies --as orcid:0000-0002-1825-0097 --scope resource:write --namespace /beamlines/amx',
    ],
    [
      'as seen from below, with a narrow credential',
      'bailiwick explain policies --as github:octocat --scope resource:read --namespace /labs --context /labs/optics --credential-scopes resource:read --restrict /labs',
    ],
  ]);
  withJson(command, [
    '{"decision","step"?,"at","snapshot","request":{"kind","scope","context","target"},',
    '"actor":{"person"?,"identities","credentialScopes"?,"namespaceRestrictions"},"steps":[{"step","passed","text"}],',
    '"grants":[GrantRef],"edits":[{"text","change":{"kind",…},"opens":{"cells"},"breaks"?}],"noEdit"?}',
    'A change has by its kind: grant: identity, namespace, scopes, inherit; member: role, identity; scope: grant, scope,',
    'scopes (all that the grant then carries); window: grant, notBefore, expires; inherit: grant, inherit; amend: grant',
    'and the fields of several of these; credential: credentialScopes, namespaceRestrictions to be added. Where more is',
    'needed, `provider` has to be declared in policy.yaml, and `credential` says what to add to the credential.',
    '`breaks` lists the guardrails that hold now and would not with the change; null if that was not computed.',
    '`noEdit` says why there is no change.',
  ]);
}

async function explain(io: CliIo, path: string, options: Options): Promise<void> {
  const [engine, { noteOnTime, openPolicy }, render] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../open-policy.js'),
    import('../render/answers.js'),
  ]);
  const typed = readActor(options);
  const at = await instantOption(options.at);
  const { scope, namespace: target, context = target } = options;
  const { policy, source, set } = await openPolicy(io, path, 'study');
  const actor = completeActor(typed, options, { set, shown: path });
  const request = { ...actor, scope, context, target, at };
  const explained = engine.explain(policy, request);
  const explanation = { ...explained, edits: engine.proveEdits(explained.edits, { policy, set }) };
  if (options.format === 'json') {
    const { explanationJson } = await import('../../policy/explanation-json.js');
    await writeJson(io, explanationJson(explanation, request, policy.digest));
    return;
  }
  const { paintFor } = await import('../render/terminal.js');
  const time = noteOnTime(source, { asked: options.at !== undefined, at });
  await write(io.stderr, notesOn(policy, actor.identities) + time + render.noteOnUnproved(explanation.edits, source));
  await write(io.stdout, render.renderExplanation(explanation, paintFor(io, 'stdout')));
}
