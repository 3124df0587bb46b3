// Questions about one policy: who can, what can, why. Whoever asks may have typed anything, so what cannot be answered says why.
import {
  type ClosingEdit,
  type Edit,
  explain,
  type ExplainRequest,
  provingEdits,
  type TakenAway,
  takingAway,
  unknownPart,
  unknownPlace,
  whoCan,
} from '../../../engine/compiler.js';
import {
  canonicalize,
  formatIdentity,
  type Identity,
  instantOf,
  type NamespacePath,
  parseIdentity,
  type ScopeName,
} from '../../../engine/index.js';
import { heldUntil } from '../../authoring/held-until.js';
import { writeEdit } from '../../authoring/write-edit.js';
import { type OpenPolicy, sourcesOf } from './policy.js';
import type { AnyEdit, Ask, NamedHolder, PastAccess, TimedQuestion, WorkerAnswer } from './protocol.js';

export function refused(message: string): WorkerAnswer {
  return { kind: 'refused', message };
}

interface Party {
  readonly identities: readonly Identity[];
  readonly note: string | null;
}

/** Whom a text names: a person of the policy, or an identity. A text is the answer if it names nobody. */
function partyOf({ set, policy }: OpenPolicy, text: string): Party | string {
  const person = set?.people.find(({ name }) => name === text);
  if (person !== undefined) return { identities: person.identities, note: null };
  const parsed = parseIdentity(text);
  if (!parsed.ok)
    return set === null
      ? `\`${text}\` is not an identity, such as \`orcid:0000-0002-1825-0097\`; a snapshot does not have the names of people`
      : `\`${text}\` is neither an identity, such as \`orcid:0000-0002-1825-0097\`, nor a person of this policy`;
  const unknown = unknownPart(policy, parsed.identity);
  const meant = unknown?.meant ?? null;
  const note =
    unknown === null ? null : `the policy does not name ${text}${meant === null ? '' : `: did you mean ${meant}?`}`;
  return { identities: [parsed.identity], note };
}

function noteOnPlace({ policy }: OpenPolicy, path: NamespacePath): string | null {
  const unknown = unknownPlace(policy, path);
  if (unknown === null) return null;
  return `no grant names ${path} or anything below it${unknown.meant === null ? '' : `: did you mean ${unknown.meant}?`}`;
}

function knows({ policy }: OpenPolicy, text: string): text is ScopeName {
  return policy.scopes.some((scope) => scope === text);
}

function unknownScope({ policy }: OpenPolicy, text: string): string {
  return `\`${text}\` is not a scope of this policy: its scopes are ${policy.scopes.join(', ')}`;
}

export function answerWhoCan(
  open: OpenPolicy,
  { scope, namespace, at }: Extract<Ask, { readonly kind: 'who-can' }>,
): WorkerAnswer {
  if (!knows(open, scope)) return refused(unknownScope(open, scope));
  const read = canonicalize(namespace);
  if (!read.ok) return refused(`\`${namespace}\` is not a namespace: write it as \`/labs/optics\``);
  const people = (open.set?.people ?? []).flatMap(({ name, identities }) =>
    identities.map((identity): [string, string] => [formatIdentity(identity), name]),
  );
  const persons = new Map(people);
  const holders = whoCan(open.policy, { scope, namespace: read.path, at: instantOf(at) }).map((holder): NamedHolder => {
    const { identity, grants } = holder;
    const person = persons.get(identity);
    return person === undefined ? holder : { identity, person, grants };
  });
  return { kind: 'holders', holders, note: noteOnPlace(open, read.path) };
}

export function answerWhatCan(
  open: OpenPolicy,
  { who, at }: Extract<Ask, { readonly kind: 'what-can' }>,
): WorkerAnswer {
  const party = partyOf(open, who);
  if (typeof party === 'string') return refused(party);
  const regions = heldUntil(open.policy, { identities: party.identities, at: instantOf(at) });
  return { kind: 'regions', regions, note: party.note };
}

function requestOf(
  open: OpenPolicy,
  { who, scope, namespace, at }: TimedQuestion,
): { readonly request: ExplainRequest; readonly note: string | null } | string {
  const party = partyOf(open, who);
  if (typeof party === 'string') return party;
  if (!knows(open, scope)) return unknownScope(open, scope);
  const read = canonicalize(namespace);
  if (!read.ok) return `\`${namespace}\` is not a namespace: write it as \`/labs/optics\``;
  const request = {
    ...{ identities: party.identities, credentialScopes: null, namespaceRestrictions: null },
    ...{ scope, context: namespace, target: namespace, at: instantOf(at) },
  };
  return { request, note: party.note };
}

export function answerExplain(open: OpenPolicy, question: TimedQuestion): WorkerAnswer {
  const asked = requestOf(open, question);
  if (typeof asked === 'string') return refused(asked);
  const { edits: _, ...explained } = explain(open.policy, asked.request);
  const read = canonicalize(question.namespace);
  const onPlace = explained.decision === 'deny' && read.ok ? noteOnPlace(open, read.path) : null;
  return { kind: 'explained', explained, note: asked.note ?? onPlace };
}

/** The edits that would turn an answer round, a step at a time. The first answers have none. */
export function* proposals(open: OpenPolicy, question: TimedQuestion): Generator<WorkerAnswer, undefined, undefined> {
  const asked = requestOf(open, question);
  if (typeof asked === 'string') {
    yield refused(asked);
    return;
  }
  const { decision, edits: opening } = explain(open.policy, asked.request);
  let found: TakenAway | { readonly edits: readonly Edit[]; readonly isComplete: boolean } = {
    ...{ edits: opening, isComplete: true },
  };
  if (decision === 'allow') {
    const steps = takingAway(open.policy, asked.request, { set: open.set });
    for (;;) {
      const step = steps.next();
      if (step.done === true) {
        found = step.value;
        break;
      }
      yield { kind: 'proposed', proposed: { edits: [], of: null, isComplete: false } };
    }
  }
  const of = found.edits.length;
  const proved: AnyEdit[] = [];
  if (of === 0) yield { kind: 'proposed', proposed: { edits: [], of, isComplete: found.isComplete } };
  for (const edit of provingEdits<Edit | ClosingEdit>(found.edits, open)) {
    proved.push(edit);
    yield { kind: 'proposed', proposed: { edits: [...proved], of, isComplete: found.isComplete } };
  }
}

/** A credential, too, is part of what was decided. */
export function answerPastAccess({ policy }: OpenPolicy, access: PastAccess): WorkerAnswer {
  const { identities: texts, credentialScopes, namespaceRestrictions, scope, context, target, at } = access;
  const identities = texts.flatMap((text): readonly Identity[] => {
    const parsed = parseIdentity(text);
    return parsed.ok ? [parsed.identity] : [];
  });
  if (identities.length < texts.length) return refused('the event names an identity that nobody can have');
  // A scope that this policy does not know gives nothing.
  const carried = policy.scopes.filter((one) => credentialScopes.includes(one));
  const request = {
    identities,
    credentialScopes: carried,
    namespaceRestrictions,
    scope,
    context,
    target,
    at: instantOf(at),
  };
  const { edits: _, noEdit: __, ...explained } = explain(policy, request);
  return { kind: 'explained', explained, note: null };
}

/** The files that an edit changes, as they then are. */
export function answerApply(
  { set, files }: OpenPolicy,
  { change }: Extract<Ask, { readonly kind: 'apply' }>,
): WorkerAnswer {
  if (set === null) return refused('a snapshot has no files that could be edited');
  const edited = writeEdit(sourcesOf(files), { set, change });
  if (!edited.ok) return refused(`the edit cannot be written: ${edited.reason}; make it by hand`);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    kind: 'applied',
    files: edited.files.map(({ path, from, to }) => ({ path, before: decoder.decode(from), text: decoder.decode(to) })),
  };
}
