// What an editor shows about a name: who is behind a role, what somebody holds, whom a grant reaches. Each editor writes it in its own way.
import { type NamePlace, type PolicySet, whatCan } from '../../engine/compiler.js';
import { formatIdentity, type Instant, parseIdentity, type Policy, scopeNames } from '../../engine/index.js';

export interface OpenedFolder {
  readonly set: PolicySet;
  readonly policy: Policy;
}

/** A piece of a line. Texts of a policy are no markup. */
export interface Part {
  readonly kind: 'text' | 'code' | 'strong';
  readonly text: string;
}

export type SaidLine = readonly Part[];

const SHOWN = 20;

/** Everybody in a role, directly or by other roles. */
export function membersOf({ roles }: PolicySet, name: string): readonly string[] {
  const byName = new Map(roles.map((role) => [role.name, role]));
  const visited = new Set([name]);
  const people = new Set<string>();
  // Iterating a set also visits what is added meanwhile.
  for (const role of visited) {
    for (const member of byName.get(role)?.members ?? []) {
      if (member.kind === 'role') visited.add(member.role);
      else people.add(formatIdentity(member.identity));
    }
  }
  return [...people].sort();
}

/** Null if there is nothing to say. */
export function aboutName(
  { set, policy }: OpenedFolder,
  { kind, name }: NamePlace,
  at: Instant,
): readonly SaidLine[] | null {
  switch (kind) {
    case 'role': {
      const role = set.roles.find((one) => one.name === name);
      if (role === undefined) return null;
      const members = membersOf(set, name);
      const grants = set.grants.filter(({ principal }) => principal.kind === 'role' && principal.role === name);
      return [
        [strong(`role ${name}`), ...after(': ', role.description)],
        [text(`${counted(members.length)}: `), ...listed(members)],
        ...grants
          .slice(0, SHOWN)
          .map(({ id, namespace, scopes }) => [
            ...[text('grant '), code(id), text(' at '), code(namespace)],
            text(`: ${scopeNames(scopes).join(', ')}`),
          ]),
        ...rest(grants.length),
      ];
    }
    case 'identity': {
      const parsed = parseIdentity(name);
      if (!parsed.ok) return null;
      const regions = whatCan(policy, { identities: [parsed.identity], at });
      const person = set.people.find(({ identities }) => identities.some((one) => formatIdentity(one) === name));
      return [
        [strong(name), ...after(', ', person?.name ?? null)],
        ...(regions.length === 0 ? [[text('holds nothing now')]] : []),
        ...regions
          .slice(0, SHOWN)
          .map(({ namespace, extent, scopes }) => [
            ...[code(namespace), text(`${extent === 'exact' ? '' : ' and below'}: ${scopes.join(', ')}`)],
          ]),
        ...rest(regions.length),
      ];
    }
    case 'grant': {
      const grant = set.grants.find(({ id }) => id === name);
      if (grant === undefined) return null;
      const { namespace, inherit, scopes, principal, reason } = grant;
      return [
        [
          ...[strong(`grant ${name}`), text(' at '), code(namespace)],
          text(`${inherit ? ' and below' : ''}: ${scopeNames(scopes).join(', ')}`),
        ],
        principal.kind === 'role'
          ? [text(`held by ${counted(membersOf(set, principal.role).length)} of role `), code(principal.role)]
          : [text('held by '), code(formatIdentity(principal.identity))],
        ...(reason === null ? [] : [[text(reason)]]),
      ];
    }
    case 'provider': {
      const provider = set.providers.find((one) => one.name === name);
      return provider === undefined ? null : [[strong(`provider ${name}`), ...after(': ', provider.description)]];
    }
    default:
      return null;
  }
}

function counted(identities: number): string {
  return `${String(identities)} ${identities === 1 ? 'identity' : 'identities'}`;
}

function after(sign: string, what: string | null): SaidLine {
  return what === null ? [] : [text(sign + what)];
}

function listed(texts: readonly string[]): SaidLine {
  const more = texts.length - SHOWN;
  return [
    ...texts.slice(0, SHOWN).flatMap((one, i) => (i === 0 ? [code(one)] : [text(', '), code(one)])),
    ...(more > 0 ? [text(` and ${String(more)} more`)] : []),
  ];
}

function rest(count: number): readonly SaidLine[] {
  return count > SHOWN ? [[text(`and ${String(count - SHOWN)} more`)]] : [];
}

function text(said: string): Part {
  return { kind: 'text', text: said };
}

function code(said: string): Part {
  return { kind: 'code', text: said };
}

function strong(said: string): Part {
  return { kind: 'strong', text: said };
}
