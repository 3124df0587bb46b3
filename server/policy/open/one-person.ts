// The identities of a new key, judged by a policy. Guardrails are proved for one person at a time, with any groups that this
// person may be in. So a key that joins two people, or identities that exclude each other, is refused. Doubts are for people
// to read: names that the policy does not know, and what a snapshot cannot tell.
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
import { checkPolicy } from './check-policy.js';
import { openPolicy } from './open-policy.js';

export interface KeyDoubt {
  readonly text: string;
  readonly help: string;
}

export interface KeyJudgment {
  /** Why there must be no key with these identities; null if the policy knows no reason. */
  readonly refusal: KeyDoubt | null;
  readonly doubts: readonly KeyDoubt[];
}

/** `policy` is the folder or snapshot to ask; null if there is none. */
export async function judgeIdentities(identities: readonly Identity[], policy: string | null): Promise<KeyJudgment> {
  const asked = identities.length === 0 || policy === null ? NOT_ASKED : await ask(policy);
  return {
    refusal: asked === null ? null : refusalOf(identities, asked),
    doubts: doubtsOf(identities, { policy, asked }),
  };
}

function doubtsOf(
  identities: readonly Identity[],
  { policy, asked }: { readonly policy: string | null; readonly asked: Asked | null },
): readonly KeyDoubt[] {
  if (asked === null)
    return [
      {
        text: `the policy \`${policy ?? ''}\` cannot be used, so it was not asked about these identities`,
        help: '`bailiwick check` or `bailiwick verify` says what is wrong with it',
      },
      ...severalPeople(identities, NOT_ASKED),
    ];
  return [...unknownNames(identities, asked.policy), ...severalPeople(identities, asked)];
}

/** What a policy says of a person: identities as texts, or why there are none and whom it names instead. */
export type PersonAnswer =
  | { readonly kind: 'person'; readonly identities: readonly string[] }
  | { readonly kind: 'unusable' }
  /** A snapshot. */
  | { readonly kind: 'nameless' }
  | { readonly kind: 'unknown'; readonly known: readonly string[] };

/** `policy` is the folder to ask. */
export async function askPerson(name: string, policy: string): Promise<PersonAnswer> {
  const asked = await ask(policy);
  if (asked === null) return { kind: 'unusable' };
  const { people } = asked;
  if (people === null) return { kind: 'nameless' };
  const all = new Set(people.values());
  const found = [...all].find((person) => person.name === name);
  return found === undefined
    ? { kind: 'unknown', known: [...all].map((person) => person.name) }
    : { kind: 'person', identities: found.identities.map(formatIdentity) };
}

interface Asked {
  readonly policy: Policy | null;
  /** Null if nobody can say, because a snapshot has none. */
  readonly people: People | null;
}

/** By the text of each of their identities. */
type People = ReadonlyMap<string, PolicySet['people'][number]>;

const NOT_ASKED: Asked = { policy: null, people: null };
/** Runs no tests: neither tests nor guardrails say anything about a key. */
const NO_TESTS = /(?!)/;

async function ask(path: string): Promise<Asked | null> {
  const checked = await checkPolicy({ folder: path, onlyTests: NO_TESTS });
  if (checked.kind === 'path') {
    const opened = checked.fault.kind === 'not_a_folder' ? await openPolicy(path, 'use') : null;
    return opened?.kind === 'opened' ? { policy: opened.policy, people: null } : null;
  }
  const { compiled } = checked.report;
  if (compiled === null) return null;
  const people = compiled.set.people.flatMap((person) =>
    person.identities.map((identity) => [formatIdentity(identity), person] as const),
  );
  return { policy: compiled.handle, people: new Map(people) };
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
function refusalOf(identities: readonly Identity[], { policy, people }: Asked): KeyDoubt | null {
  if (identities.length < 2) return null;
  const apart = policy === null ? null : excludedBy(policy, identities);
  if (apart !== null) return apart;
  const said = people === null ? null : personsOf(identities, people);
  return said === null
    ? null
    : {
        text: `${said}: the key could do what all of them may do together, and guardrails are proved for one person at a time`,
        help: "make one key for each; if they are one person's, say so under `people` in the policy",
      };
}

/** Asks the engine, which denies an actor with both everything. */
function excludedBy(policy: Policy, identities: readonly Identity[]): KeyDoubt | null {
  const decision = decideRaw(policy, {
    actor: { kind: 'request', identities, credentialScopes: null, namespaceRestrictions: null },
    request: { kind: 'access', scope: 'namespace:read', target: ROOT },
    at: instantOf(0),
  });
  if (decision.decision === 'allow' || decision.identities === undefined) return null;
  return {
    text: `the policy keeps ${decision.identities.join(' and ')} apart (\`exclusive\` in \`policy.yaml\`): a key with both is denied everything`,
    help: 'make one key for each',
  };
}

/** A snapshot names no people. Usually nobody is two subjects of one provider. */
function severalPeople(identities: readonly Identity[], { policy, people }: Asked): readonly KeyDoubt[] {
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
