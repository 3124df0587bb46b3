// The options for who asks, what and where, and the meaning of their strings; people as a policy folder names them
// (`people`). Anything else is wrong usage.
import type { PolicySet } from '../../engine/compiler.js';
import {
  canonicalize,
  formatIdentity,
  type Identity,
  identityFaultText,
  isScopeName,
  meantPath,
  type NamespacePath,
  nearest,
  parseIdentity,
  pathFaultText,
  type Policy,
  type ScopeName,
  SCOPES,
} from '../../engine/index.js';
import { type CliFailure, meantOr, usage } from './exit.js';
import { type Given, repeated, required, takes } from './verb.js';

export const ACTOR = takes({
  '--as <identity>': {
    ...required('who asks, as `provider:subject`; repeat it for several identities', 'person'),
    repeated: true,
  },
  '--person <name>': 'person of the policy who asks, with all their identities; `--as` adds more, such as groups',
  '--credential-scopes <scopes>': repeated('scopes that the credential carries (default: all; "" for none)'),
  '--restrict <namespaces>': repeated('namespaces that the credential is limited to (default: unlimited; "" for none)'),
});

export type ActorOptions = Given<typeof ACTOR>;

export interface AskingActor {
  /** Whose identities these are, if the policy says so. */
  readonly person?: string;
  readonly identities: readonly Identity[];
  /** Null means all. */
  readonly credentialScopes: readonly ScopeName[] | null;
  /** As typed: step 1 decides whether they are namespaces. Null means none. */
  readonly namespaceRestrictions: readonly string[] | null;
}

/** What the policy has still to say something about: `completeActor`. */
export interface TypedActor extends Omit<AskingActor, 'person' | 'credentialScopes'> {
  readonly credentialScopes: readonly string[] | null;
}

/** Throws `CliFailure` with exit status 2 for something that is not an identity. */
export function readActor(options: ActorOptions): TypedActor {
  const { as = [], credentialScopes, restrict } = options;
  return {
    identities: as.map(readIdentity),
    credentialScopes: credentialScopes === undefined ? null : splitList(credentialScopes),
    namespaceRestrictions: restrict === undefined ? null : splitList(restrict),
  };
}

/**
 * The actor with the identities of the person, or with the name of whoever has them, and with scopes that the policy knows.
 * Throws `CliFailure` 2.
 */
export function completeActor(
  actor: TypedActor,
  { person }: ActorOptions,
  named: NamedPolicy & { readonly policy: PolicyScopes },
): AskingActor {
  const whole = person === undefined ? [] : identitiesOf(person, named);
  const identities = [...whole, ...actor.identities];
  const name = person ?? personWith(identities, named.set);
  const credentialScopes = actor.credentialScopes?.map((text) => requireScope(named.policy, text)) ?? null;
  return { ...actor, identities, credentialScopes, ...(name === undefined ? {} : { person: name }) };
}

/** Scopes and namespaces may be joined by commas, because neither contains one. */
function splitList(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => (text === '' ? [] : text.split(',')));
}

export function readIdentity(text: string): Identity {
  const result = parseIdentity(text);
  if (result.ok) return result.identity;
  throw usage(
    `\`${text}\` is not an identity: ${identityFaultText(result.fault)}`,
    'write `provider:subject`, such as `orcid:0000-0002-1825-0097`',
  );
}

/** Of whichever policy it is asked about. `requireScope` is for one that is open. */
export function readScope(text: string): ScopeName {
  if (isScopeName(text)) return text;
  throw usage(`\`${text}\` is not a scope`, scopeHelp(text));
}

type PolicyScopes = Pick<Policy, 'scopes'>;

/** Throws `CliFailure` 2 for a scope that the policy does not know. */
export function requireScope(policy: PolicyScopes, text: string): ScopeName {
  const known = policy.scopes.find((scope) => scope === text);
  if (known !== undefined) return known;
  throw usage(notAScope(text), scopeHelp(text, policy));
}

/** Another policy may declare what has the form of a scope. */
export function notAScope(text: string): string {
  return `\`${text}\` is not a scope${isScopeName(text) ? ' of the policy' : ''}`;
}

/** What was meant, or what there is. Without a policy, only the ten are known. */
export function scopeHelp(text: string, policy: PolicyScopes | null = null): string {
  const known = policy?.scopes ?? SCOPES;
  const more = policy === null ? ', and those of the families that the policy declares' : '';
  return meantOr(nearest(text, known), `scopes are ${known.join(', ')}${more}`);
}

export function readNamespace(text: string): NamespacePath {
  const result = canonicalize(text);
  if (result.ok) return result.path;
  throw usage(
    `\`${text}\` is not a namespace: ${pathFaultText(result.fault)}`,
    meantOr(meantPath(text), 'write a path such as `/labs/optics`; the root is `/`'),
  );
}

/** A policy that was opened, and how the user named it. */
export interface NamedPolicy {
  readonly set: PolicySet | null;
  readonly shown: string;
}

/** Throws `CliFailure` 2 if the policy does not name the person. */
export function identitiesOf(person: string, { set, shown }: NamedPolicy): readonly Identity[] {
  if (set === null) {
    throw usage(
      `\`${shown}\` is a snapshot, which does not name people, so \`--person\` has no meaning`,
      'name the policy folder',
    );
  }
  const found = set.people.find(({ name }) => name === person);
  if (found !== undefined) return found.identities;
  throw unknownPerson(
    person,
    set.people.map(({ name }) => name),
  );
}

export function unknownPerson(person: string, known: readonly string[]): CliFailure {
  const help = meantOr(nearest(person, known), 'people are named under `people` in the policy');
  return usage(`the policy names no person \`${person}\``, help);
}

/** Names of people by the texts of their identities; a snapshot has none. */
export function personsOf({ people }: Pick<PolicySet, 'people'>): ReadonlyMap<string, string> {
  return new Map(
    people.flatMap(({ name, identities }) =>
      identities.map((identity): [string, string] => [formatIdentity(identity), name]),
    ),
  );
}

/** Whose identities these are; undefined unless all of them belong to one person. */
export function personWith(identities: readonly Identity[], set: PolicySet | null): string | undefined {
  const known = set === null ? new Map<string, string>() : personsOf(set);
  const [first, ...others] = new Set(identities.map((identity) => known.get(formatIdentity(identity))));
  return others.length === 0 ? first : undefined;
}
