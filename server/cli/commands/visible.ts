// `bailiwick visible <policy>`: the namespaces in which an actor sees records of a family, from a given namespace
// (docs/meaning.md "Visibility").
import { type Command, Option } from 'commander';
import {
  ALL_SCOPES,
  canonicalize,
  formatInstant,
  type Instant,
  type Policy,
  type Reach,
  scopeSetOf,
  visibility,
  type Visibility,
} from '../../../engine/index.js';
import {
  type ActorOptions,
  type AskingActor,
  completeActor,
  readActor,
  requireScope,
  withActorOptions,
} from '../actor.js';
import { type CliIo, write, writeJson } from '../io.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { type Format, formatOption, instantOption, withExamples, withJson, requiredOption } from '../options.js';
import { paintFor } from '../render/terminal.js';

const REACHES: readonly Reach[] = ['lineage', 'exact', 'subtree'];

interface VisibleOptions extends ActorOptions {
  readonly family: string;
  readonly action: string;
  readonly namespace: string;
  readonly reach?: Reach;
  readonly at?: string;
  readonly format: Format;
}

export function defineVisible(command: Command, io: CliIo): void {
  withActorOptions(command)
    .argument('<policy>', 'policy folder, snapshot file, or `<revision>:<path>` in git')
    .addOption(
      requiredOption(
        '--family <family>',
        'family of the records: `resource` or another built-in one, or a family that the policy declares',
      ),
    )
    .addOption(
      new Option('--action <action>', 'action to ask about: read, write, or one that the family declares').default(
        'read',
      ),
    )
    .addOption(requiredOption('--namespace <path>', 'namespace to ask from'))
    .addOption(
      new Option(
        '--reach <reach>',
        'where to look: in the namespace and those above it, in the namespace alone, or in it and those below (default: lineage; exact for process runs)',
      ).choices(REACHES),
    )
    .option('--at <instant>', 'time to ask about, under this policy, as RFC 3339 (default: now)')
    .addOption(formatOption())
    .action((policy: string, options: VisibleOptions) => visible(io, policy, options));
  withExamples(command, [
    [
      'the resources seen from a run',
      'bailiwick visible policies --as orcid:0000-0002-1825-0097 --family resource --namespace /beamlines/amx/run-7',
    ],
    [
      'what a person sees who is also in a group',
      'bailiwick visible policies --person ana-ito --as orcid-group:staff --family resource --namespace /beamlines/amx',
    ],
    [
      'all templates below a namespace',
      'bailiwick visible policies --as orcid:0000-0002-1825-0097 --family resource-template --namespace / --reach subtree',
    ],
    [
      'where somebody may approve invoices, if the policy declares that family',
      'bailiwick visible policies --as okta:e-1030 --family invoice --action approve --namespace / --reach subtree',
    ],
  ]);
  withJson(command, [
    '{"kind":"none"|"all"|"some","step"?,"exact":[namespace],"subtrees":[namespace],"at","snapshot","person"?}',
  ]);
}

async function visible(io: CliIo, path: string, options: VisibleOptions): Promise<void> {
  const { family, action, namespace, format } = options;
  const reach = options.reach ?? (family === 'process-run' ? 'exact' : 'lineage');
  const at = await instantOption(options.at);
  const typed = readActor(options);
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, path, 'study');
  requireScope(policy, `${family}:${action}`);
  const actor = completeActor(typed, options, { set, shown: path, policy });
  const answer = answerOf(policy, { ...actor, family, action, reach, namespace, at });
  if (format === 'json') {
    const lists =
      answer.kind === 'some' ? { exact: answer.exact, subtrees: answer.subtrees } : { exact: [], subtrees: [] };
    const step = answer.kind === 'none' ? { step: answer.step } : {};
    await writeJson(io, {
      kind: answer.kind,
      ...step,
      ...lists,
      at: formatInstant(at),
      snapshot: policy.digest,
      ...(actor.person === undefined ? {} : { person: actor.person }),
    });
    return;
  }
  const { notesOn, renderVisible } = await import('../render/answers.js');
  const time = noteOnTime(source, { asked: options.at !== undefined, at });
  await write(io.stderr, notesOn(policy, actor.identities) + time);
  const texts = [namespace, ...(actor.namespaceRestrictions ?? [])];
  await write(io.stdout, renderVisible(answer, texts, paintFor(io, 'stdout')));
}

interface VisibleQuestion extends AskingActor {
  readonly family: string;
  readonly action: string;
  readonly reach: Reach;
  /** As typed. */
  readonly namespace: string;
  readonly at: Instant;
}

/** Step 1, then what the engine says. */
function answerOf(policy: Policy, question: VisibleQuestion): Visibility {
  const { family, action, reach, at, identities, credentialScopes, namespaceRestrictions } = question;
  const context = canonicalize(question.namespace);
  const restrictions = (namespaceRestrictions ?? []).map((text) => canonicalize(text));
  const paths = restrictions.flatMap((restriction) => (restriction.ok ? [restriction.path] : []));
  if (!context.ok || paths.length < restrictions.length) return { kind: 'none', step: 'canonicalize' };
  const actor = {
    kind: 'request',
    identities,
    credentialScopes: credentialScopes === null ? ALL_SCOPES : scopeSetOf(credentialScopes),
    namespaceRestrictions: namespaceRestrictions === null ? null : paths,
  } as const;
  return visibility(policy, { actor, request: { family, action, context: context.path, reach }, at });
}
