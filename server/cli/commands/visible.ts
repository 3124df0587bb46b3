// `bailiwick visible <policy>`: the namespaces in which an actor sees records of a family, from a given namespace
// (docs/meaning.md "Visibility").
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
import { ACTOR, type AskingActor, completeActor, readActor, requireScope } from '../actor.js';
import type { Answer, CliIo } from '../io.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, required, takes, verb } from '../verb.js';

const REACHES: readonly Reach[] = ['lineage', 'exact', 'subtree'];

const TAKES = takes({
  ...ACTOR,
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--family <family>': required(
    'family of the records: `resource` or another built-in one, or a family that the policy declares',
  ),
  '--action <action>': { about: 'action to ask about: read, write, or one that the family declares', usual: 'read' },
  '--namespace <path>': required('namespace to ask from'),
  '--reach <reach>': {
    about:
      'where to look: in the namespace and those above it, in the namespace alone, or in it and those below (default: lineage; exact for process runs)',
    choices: REACHES,
  },
  '--at <instant>': 'time to ask about, under this policy, as RFC 3339 (default: now)',
  ...formats(),
});

export const defineVisible = verb(TAKES, visible, {
  examples: {
    'the resources seen from a run':
      'bailiwick visible policies --as orcid:0000-0002-1825-0097 --family resource --namespace /beamlines/amx/run-7',
    'what a person sees who is also in a group':
      'bailiwick visible policies --person ana-ito --as orcid-group:staff --family resource --namespace /beamlines/amx',
    'all templates below a namespace':
      'bailiwick visible policies --as orcid:0000-0002-1825-0097 --family resource-template --namespace / --reach subtree',
    'where somebody may approve invoices, if the policy declares that family':
      'bailiwick visible policies --as okta:e-1030 --family invoice --action approve --namespace / --reach subtree',
  },
  json: ['{"kind":"none"|"all"|"some","step"?,"exact":[namespace],"subtrees":[namespace],"at","snapshot","person"?}'],
});

async function visible(io: CliIo, options: Given<typeof TAKES>): Promise<Answer> {
  const { policy: path, family, action, namespace, format } = options;
  const reach = options.reach ?? (family === 'process-run' ? 'exact' : 'lineage');
  const at = instantOption(options.at);
  const typed = readActor(options);
  const { notesOn, renderVisible } = await import('../render/answers.js');
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, path, 'study');
  requireScope(policy, `${family}:${action}`);
  const actor = completeActor(typed, options, { set, shown: path, policy });
  const answer = answerOf(policy, { ...actor, family, action, reach, namespace, at });
  const { exact, subtrees } = answer.kind === 'some' ? answer : { exact: [], subtrees: [] };
  const texts = [namespace, ...(actor.namespaceRestrictions ?? [])];
  return {
    json: () => ({
      kind: answer.kind,
      step: answer.kind === 'none' ? answer.step : undefined,
      ...{ exact, subtrees, at: formatInstant(at), snapshot: policy.digest, person: actor.person },
    }),
    notes: () => notesOn(policy, actor.identities) + noteOnTime(source, { asked: options.at !== undefined, at }),
    text: () => renderVisible(answer, texts, paintFor(io, 'stdout')),
  };
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
