// Questions about one policy: who can, what can, why. Whoever asks may have typed anything, so what cannot be answered says why.
import {
  type ClosingEdit,
  type Edit,
  explain,
  proveEdits,
  takeAway,
  unknownPart,
  unknownPlace,
  whatCan,
  whoCan,
} from '../../../engine/compiler.js';
import {
  canonicalize,
  type Identity,
  instantOf,
  type NamespacePath,
  parseIdentity,
  type ScopeName,
} from '../../../engine/index.js';
import { writeEdit } from '../../authoring/write-edit.js';
import { type OpenPolicy, sourcesOf } from './policy.js';
import type { Answer, Ask, Question, RegionDetail } from './protocol.js';

export function refused(message: string): Answer {
  return { kind: 'refused', message };
}

interface Party {
  readonly identities: readonly Identity[];
  readonly note: string | null;
}

/** Whom a text names: a person of the policy, or an identity. A text is the answer if it names nobody. */
function partyOf({ set, policy }: OpenPolicy, text: string): Party | string {
  const person = set.people.find(({ name }) => name === text);
  if (person !== undefined) return { identities: person.identities, note: null };
  const parsed = parseIdentity(text);
  if (!parsed.ok)
    return `\`${text}\` is neither an identity, such as \`orcid:0000-0002-1825-0097\`, nor a person of this policy`;
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
): Answer {
  if (!knows(open, scope)) return refused(unknownScope(open, scope));
  const read = canonicalize(namespace);
  if (!read.ok) return refused(`\`${namespace}\` is not a namespace: write it as \`/labs/optics\``);
  const holders = whoCan(open.policy, { scope, namespace: read.path, at: instantOf(at) });
  return { kind: 'holders', holders, note: noteOnPlace(open, read.path) };
}

export function answerWhatCan(open: OpenPolicy, { who, at }: Extract<Ask, { readonly kind: 'what-can' }>): Answer {
  const party = partyOf(open, who);
  if (typeof party === 'string') return refused(party);
  const expires = new Map(open.set.grants.map((grant) => [grant.id, grant.expires]));
  const regions = whatCan(open.policy, { identities: party.identities, at: instantOf(at) }).map(
    (region): RegionDetail => {
      // It lasts as long as the grant that ends last, and that as long as the memberships that lead to it.
      const ends = region.grants.map(({ id, through = [] }) =>
        Math.min(
          expires.get(id) ?? Infinity,
          ...through.map((link) => (link.expires === undefined ? Infinity : Date.parse(link.expires))),
        ),
      );
      const last = Math.max(...ends);
      return { ...region, until: Number.isFinite(last) ? last : null };
    },
  );
  return { kind: 'regions', regions, note: party.note };
}

export function answerExplain(open: OpenPolicy, { who, scope, namespace, at }: Question): Answer {
  const party = partyOf(open, who);
  if (typeof party === 'string') return refused(party);
  if (!knows(open, scope)) return refused(unknownScope(open, scope));
  const read = canonicalize(namespace);
  if (!read.ok) return refused(`\`${namespace}\` is not a namespace: write it as \`/labs/optics\``);
  const request = {
    ...{ identities: party.identities, credentialScopes: null, namespaceRestrictions: null },
    ...{ scope, context: namespace, target: namespace, at: instantOf(at) },
  };
  const explained = explain(open.policy, request);
  const { edits, isComplete }: Proposed =
    explained.decision === 'allow'
      ? takeAway(open.policy, request, { set: open.set })
      : { edits: explained.edits, isComplete: true };
  return {
    kind: 'explained',
    explained: { ...explained, edits: proveEdits(edits, open), isComplete },
    note: party.note,
  };
}

interface Proposed {
  readonly edits: readonly (Edit | ClosingEdit)[];
  readonly isComplete: boolean;
}

/** The files that an edit changes, as they then are. */
export function answerApply({ set, files }: OpenPolicy, { change }: Extract<Ask, { readonly kind: 'apply' }>): Answer {
  const edited = writeEdit(sourcesOf(files), { set, change });
  if (!edited.ok) return refused(`the edit cannot be written: ${edited.reason}; make it by hand`);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    kind: 'applied',
    files: edited.files.map(({ path, from, to }) => ({ path, before: decoder.decode(from), text: decoder.decode(to) })),
  };
}
