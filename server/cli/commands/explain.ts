// `bailiwick explain <policy>`: one access step by step, what would allow or deny it, and with `--apply` one of these changes made.
import type { ClosingEdit, Edit } from '../../../engine/compiler.js';
import { type AnyEdit, explanationJson } from '../../policy/explanation-json.js';
import { ACTOR, completeActor, readActor } from '../actor.js';
import type { AppliedEdit } from '../apply-edit.js';
import { atPolicy } from '../at-policy.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import { noteOnTime, type OpenedPolicy, openPolicy, openToAsk } from '../open-policy.js';
import { formats, instantOption } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  ...ACTOR,
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '--scope <scope>': required('scope to ask about, such as `resource:read`'),
  '--namespace <path>': required('namespace of the record'),
  '--context <path>': 'namespace to ask from (default: that of the record)',
  '--at <instant>': 'time to ask about, under this policy, as RFC 3339 (default: now)',
  '--apply <n>': {
    about: 'write the change with this number into the policy folder; comments stay',
    parse: editNumber,
  },
  '--if-snapshot <digest>': `with \`--apply\`: end with ${String(EXIT.precondition)} and write nothing if the policy has another snapshot digest by now, since its changes may then have other numbers`,
  ...formats(),
});

export const defineExplain = verb(TAKES, explain, {
  examples: {
    'why, or why not':
      'bailiwick explain policies --as orcid:0000-0002-1825-0097 --scope resource:write --namespace /beamlines/amx',
    'from a namespace below, with a narrow credential':
      'bailiwick explain policies --as github:octocat --scope resource:read --namespace /labs --context /labs/optics --credential-scopes resource:read --restrict /labs',
    'take an access away: first look at the changes without --apply, then make the second one':
      'bailiwick explain policies --as github:octocat --scope resource:write --namespace /labs --apply 2',
  },
  json: [
    '{"decision","step"?,"at","snapshot","request":{"kind","scope","context","target"},',
    '"actor":{"person"?,"identities","credentialScopes"?,"namespaceRestrictions"},"steps":[{"step","passed","text"}],',
    '"grants":[GrantRef],"edits":[{"text","change":{"kind",…},"opens":{"cells"},"closes"?,"breaks"?,"repairs"?,',
    '"breaksTests"?,"repairsTests"?}],"more"?,"noEdit"?,"applied"?:{"edit","snapshot","decisions","hunks":[{"file","line",',
    '"removed":[line],"added":[line]}]}}',
    'Every minimal edit that reverses the decision is listed; `more` is there if there are too many to list.',
    'What `change` has besides its `kind`, if the access is denied:',
    '  grant: identity, namespace, scopes, inherit',
    '  member: role, identity',
    '  scope: grant, scope, scopes (all that the grant then carries)',
    '  window: grant, notBefore, expires',
    '  inherit: grant, inherit',
    '  amend: grant, and the fields of several of the others',
    '  credential: credentialScopes, namespaceRestrictions to add',
    'If a change has `provider`, policy.yaml must also declare it; if it has `credential`, the credential must also get that.',
    'If the access is allowed:',
    '  drop-grant: grant',
    '  drop-scope: grant, scope, scopes (those that are left)',
    '  end-grant: grant, expires',
    '  narrow: grant, inherit',
    '  drop-member: role, member',
    '  end-member: role, member, expires',
    '  drop-role-scope: role, scope, scopes',
    '  several: changes',
    '  narrow-credential: what to remove from the credential',
    '`closes`: {"cells","others" (without the access itself),"identities","rows":[Row as in diff, without causes]}.',
    '`breaks` lists the guardrails that the change would violate, `repairs` those that would hold again; `breaksTests` and',
    '`repairsTests` list tests. A list is absent if it is empty, and null if it was not computed.',
    '`noEdit` says why there is no change.',
  ],
});

async function explain(io: CliIo, options: Given<typeof TAKES>): Promise<Answer> {
  const [engine, render] = await Promise.all([import('../../../engine/compiler.js'), import('../render/answers.js')]);
  const typed = readActor(options);
  const at = instantOption(options.at);
  const { policy: path, scope, namespace: target, context = target } = options;
  // Only JSON and what is changed name the snapshot.
  const isNamed = options.format === 'json' || options.apply !== undefined || options.ifSnapshot !== undefined;
  const open = isNamed ? openPolicy : openToAsk;
  const { policy, source, set, sources } = await open(io, path, 'study');
  const actor = completeActor(typed, options, { set, shown: path, policy });
  const request = { ...actor, scope, context, target, at };
  requireSnapshot(options, policy.digest);
  const explained = engine.explain(policy, request);
  const { edits, isComplete }: Edits =
    explained.decision === 'allow'
      ? engine.takeAway(policy, request, { set })
      : { edits: explained.edits, isComplete: true };
  const explanation = { ...explained, edits: engine.proveEdits(edits, { policy, set }), more: !isComplete };
  const applied =
    options.apply === undefined
      ? null
      : await applyNumbered(io, explanation.edits, { ...options, number: options.apply, set, sources });
  const paint = paintFor(io, 'stdout');
  const chosen = explanation.edits[(options.apply ?? 0) - 1];
  return {
    json: () => ({
      ...explanationJson(explanation, request, policy.digest),
      applied: applied === null ? undefined : { edit: options.apply, ...applied },
    }),
    notes: () =>
      render.notesOn(policy, actor.identities) +
      noteOnTime(source, { asked: options.at !== undefined, at }) +
      render.noteOnUnproved(explanation.edits, source),
    text: () =>
      applied === null || chosen === undefined
        ? render.renderExplanation(explanation, paint)
        : render.renderApplied(chosen, applied, paint),
  };
}

interface Edits {
  readonly edits: readonly (Edit | ClosingEdit)[];
  readonly isComplete: boolean;
}

function editNumber(text: string): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text);
  throw usage(`\`--apply\` must be the number of a change, and \`${text}\` is not one`);
}

function requireSnapshot({ policy, apply, ifSnapshot }: Given<typeof TAKES>, digest: string): void {
  if (ifSnapshot === undefined) return;
  if (apply === undefined) throw usage('`--if-snapshot` is for `--apply`');
  if (ifSnapshot === digest) return;
  throw new CliFailure(
    EXIT.precondition,
    'cli.changed',
    `\`${policy}\` is not that policy: its snapshot is ${digest}`,
    {
      help: 'run the command without `--apply`: the numbers of changes may differ',
    },
  );
}

type Chosen = Pick<OpenedPolicy, 'set' | 'sources'> & { readonly policy: string; readonly number: number };

async function applyNumbered(
  io: CliIo,
  edits: readonly AnyEdit[],
  { policy: path, number, set, sources }: Chosen,
): Promise<AppliedEdit> {
  const edit = edits[number - 1];
  if (edit === undefined) {
    const listed = edits.length === 0 ? 'there is no change' : `changes are 1 to ${String(edits.length)}`;
    throw usage(`\`--apply ${String(number)}\` names no change: ${listed}`);
  }
  const { change } = edit;
  if (change.kind === 'credential' || change.kind === 'narrow-credential')
    throw usage(`change ${String(number)} is one of the credential, and no policy file has it: ${edit.text}`);
  const folder = await atPolicy(io, path, (content) => Promise.resolve(content.kind === 'file' ? content.path : null));
  // What git has was taken out into a folder that is removed again.
  if (folder === null || set === null)
    throw usage(`\`${path}\` cannot be written`, 'name the policy folder, not a snapshot or what git has');
  const { applyEdit } = await import('../apply-edit.js');
  return applyEdit({ shown: path, folder, set, sources, change });
}
