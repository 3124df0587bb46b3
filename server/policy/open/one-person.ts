// The identities of a new key, judged by a policy. Guardrails are proved for one person at a time, with any groups that this
// person may be in. So a key that joins two people, or identities that exclude each other, is refused. Doubts are for people
// to read: names that the policy does not know, and what a snapshot cannot tell.
import { Readable } from 'node:stream';
import { type PolicySet, unknownPart } from '../../../engine/compiler.js';
import {
  decideRaw,
  formatIdentity,
  GROUP_SUFFIX,
  type Identity,
  instantOf,
  type Policy,
  ROOT,
} from '../../../engine/index.js';
import { checkPolicy, NO_TESTS } from './check-policy.js';
import { openPolicy, type OpenResult, openSnapshot } from './open-policy.js';
import type { Content } from '../sources/source.js';

export interface KeyDoubt {
  readonly text: string;
  readonly help: string;
}

export interface KeyJudgment {
  /** Why there must be no key with these identities; null if the policy knows no reason. */
  readonly refusal: KeyDoubt | null;
  readonly doubts: readonly KeyDoubt[];
}

export function judgeIdentities(identities: readonly Identity[], asked: KnownPolicy): KeyJudgment {
  return {
    refusal: refusalOf(identities, asked),
    doubts: [...unknownNames(identities, asked.policy), ...severalPeople(identities, asked)],
  };
}

/** What a policy says of a person: identities as texts, or why there are none and whom it names instead. */
export type PersonAnswer =
  | { readonly kind: 'person'; readonly identities: readonly string[] }
  /** A snapshot. */
  | { readonly kind: 'nameless' }
  | { readonly kind: 'unknown'; readonly known: readonly string[] };

export function askPerson(name: string, { people }: KnownPolicy): PersonAnswer {
  if (people === null) return { kind: 'nameless' };
  const all = new Set(people.values());
  const found = [...all].find((person) => person.name === name);
  return found === undefined
    ? { kind: 'unknown', known: [...all].map((person) => person.name) }
    : { kind: 'person', identities: found.identities.map(formatIdentity) };
}

/** What is known of the policy that is queried. */
export interface KnownPolicy {
  readonly policy: Policy | null;
  /** Null if nobody can say, because a snapshot has none. */
  readonly people: People | null;
}

/** By the text of each of their identities. */
type People = ReadonlyMap<string, PolicySet['people'][number]>;

/** There is no policy to ask. */
export const NOT_ASKED: KnownPolicy = { policy: null, people: null };

/** Null if the policy cannot be used. */
export async function askPolicy(content: Content): Promise<KnownPolicy | null> {
  if (content.kind === 'parts')
    return askSnapshot(
      openSnapshot(Readable.from(content.parts.map((part) => Buffer.from(part.buffer))), {
        source: 'file',
        purpose: 'use',
      }),
    );
  const { path } = content;
  // Neither tests nor guardrails say anything about a key.
  const checked = await checkPolicy({ folder: path, onlyTests: NO_TESTS, digests: false });
  if (checked.kind === 'path')
    return checked.fault.kind === 'not_a_folder' ? askSnapshot(openPolicy(path, 'use')) : null;
  const { compiled } = checked.report;
  if (compiled === null) return null;
  const people = compiled.set.people.flatMap((person) =>
    person.identities.map((identity) => [formatIdentity(identity), person] as const),
  );
  return { policy: compiled.handle, people: new Map(people) };
}

async function askSnapshot(opening: Promise<OpenResult>): Promise<KnownPolicy | null> {
  const opened = await opening;
  return opened.kind === 'opened' ? { policy: opened.policy, people: null } : null;
}

function unknownNames(identities: readonly Identity[], policy: Policy | null): readonly KeyDoubt[] {
  if (policy === null) return [];
  return identities.flatMap((identity) => {
    const unknown = unknownPart(policy, identity);
    if (unknown === null) return [];
    const name = formatIdentity(identity);
    const { part, meant } = unknown;
    const text =
      part === 'provider'
        ? `the policy declares no provider \`${identity.provider}\``
        : `the policy names \`${name}\` nowhere`;
    const help = `with \`${name}\` the key may do nothing until a role or a grant names it`;
    return [{ text, help: meant === null ? help : `did you mean \`${meant}\`? ${help}` }];
  });
}

/** Why no actor may have all of these identities; null if the policy knows no reason. */
function refusalOf(identities: readonly Identity[], { policy, people }: KnownPolicy): KeyDoubt | null {
  if (identities.length < 2) return null;
  const apart = policy === null ? null : pairKeptApart(policy, identities);
  if (apart !== null)
    return {
      text: `the policy keeps ${apart.join(' and ')} apart (\`exclusive\` in \`policy.yaml\`): a key with both is denied everything`,
      help: 'make one key for each',
    };
  if (people === null) return null;
  const said = personsOf(identities, people);
  if (said === null) return groupAlone(identities, people);
  return {
    text: `${said}: the key could do what all of them may do together, and guardrails are proved for one person at a time`,
    help: "make one key for each; if they are one person's, say so under `people` in the policy",
  };
}

/**
 * Whoever is in a group has signed in with its provider, so proofs count what that identity is kept apart from (`exclusive`). A key
 * with the group and without the identity would be an actor that no proof has looked at.
 */
function groupAlone(identities: readonly Identity[], people: People): KeyDoubt | null {
  const own = identities.filter(({ provider }) => !provider.endsWith(GROUP_SUFFIX));
  const [first] = own;
  const person = first === undefined ? undefined : people.get(formatIdentity(first));
  for (const { provider, subject } of person === undefined ? [] : identities) {
    if (!provider.endsWith(GROUP_SUFFIX)) continue;
    const signedIn = provider.slice(0, -GROUP_SUFFIX.length);
    const known = person?.identities.filter((one) => one.provider === signedIn) ?? [];
    if (known.length === 0 || own.some((one) => one.provider === signedIn)) continue;
    return {
      text: `\`${provider}:${subject}\` comes with an identity of \`${signedIn}\`, and the key has none: guardrails are proved for actors that have both`,
      help: `add ${known.map((one) => `\`--identity ${formatIdentity(one)}\``).join(' or ')}`,
    };
  }
  return null;
}

/** Two of the identities that `exclusive` keeps apart, as texts: the engine denies an actor with both everything. Null if there are none. */
export function pairKeptApart(policy: Policy, identities: readonly Identity[]): readonly string[] | null {
  const decision = decideRaw(policy, {
    actor: { kind: 'request', identities, credentialScopes: null, namespaceRestrictions: null },
    request: { kind: 'access', scope: 'namespace:read', target: ROOT },
    at: instantOf(0),
  });
  return decision.decision === 'allow' ? null : (decision.identities ?? null);
}

/** A snapshot names no people. Usually nobody is two subjects of one provider. */
function severalPeople(identities: readonly Identity[], { policy, people }: KnownPolicy): readonly KeyDoubt[] {
  if (identities.length < 2 || people !== null) return [];
  const said = accountsOfOneProvider(identities);
  if (said === null) return policy === null ? [] : [NO_PEOPLE];
  return [
    {
      text: `${said}: this key may do what all of them may do together, and guardrails check each alone`,
      help: 'make one key for each, or name the policy folder with `--policy`, which says who is one person',
    },
  ];
}

const NO_PEOPLE: KeyDoubt = {
  text: 'a snapshot does not name people, so it is not known whether these identities belong to one person',
  help: 'name the policy folder with `--policy`',
};

/** Says whose these identities are if they are not those of one person and of groups that this person may be in. */
function personsOf(identities: readonly Identity[], people: People): string | null {
  const own = identities.filter(({ provider }) => !provider.endsWith(GROUP_SUFFIX));
  const persons = new Set(
    own.map((identity) => people.get(formatIdentity(identity))?.name ?? `\0${formatIdentity(identity)}`),
  );
  if (persons.size > 1) {
    const each = own.map((identity) => {
      const text = formatIdentity(identity);
      const person = people.get(text);
      return person === undefined ? `${text} is not named in \`people\`` : `${text} is \`${person.name}\``;
    });
    return `the policy counts these identities as ${String(persons.size)} people (${each.join(', ')})`;
  }
  const [first] = own;
  const known = first === undefined ? undefined : people.get(formatIdentity(first));
  const groups = identities.filter((identity) => !own.includes(identity));
  const providers = new Set(known?.identities.map(({ provider }) => provider) ?? own.map(({ provider }) => provider));
  // Groups alone are those of somebody who signs in with their provider.
  if (first === undefined) providers.add(groups[0]?.provider.slice(0, -GROUP_SUFFIX.length) ?? '');
  const foreign = groups.find(({ provider }) => !providers.has(provider.slice(0, -GROUP_SUFFIX.length)));
  if (foreign === undefined) return null;
  return `${formatIdentity(foreign)} is a group of another provider than those that this person signs in with (${[...providers].join(', ')})`;
}
/** Used if there is no policy to ask: usually nobody is two subjects of one provider. */
function accountsOfOneProvider(identities: readonly Identity[]): string | null {
  const byProvider = new Map<string, string[]>();
  for (const identity of identities) {
    const same = byProvider.get(identity.provider) ?? [];
    byProvider.set(identity.provider, [...same, formatIdentity(identity)]);
  }
  const several = [...byProvider.values()].find((texts) => texts.length > 1);
  if (several === undefined) return null;
  return `${several.join(' and ')} are of one provider: two identities of one provider usually belong to two people`;
}
