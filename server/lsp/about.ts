// What an editor shows about a name: who is behind a role, what somebody holds, which tests need a grant.
import { type NamePlace, type PolicySet, whatCan } from '../../engine/compiler.js';
import { formatIdentity, type Instant, parseIdentity, type Policy, scopeNames } from '../../engine/index.js';

export interface Opened {
  readonly set: PolicySet;
  readonly policy: Policy;
}

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

/** Markdown; null if there is nothing to say. */
export function aboutName({ set, policy }: Opened, { kind, name }: NamePlace, at: Instant): string | null {
  switch (kind) {
    case 'role': {
      const role = set.roles.find((one) => one.name === name);
      if (role === undefined) return null;
      const members = membersOf(set, name);
      const grants = set.grants.filter(({ principal }) => principal.kind === 'role' && principal.role === name);
      return lines([
        `**role ${code(name)}**${role.description === null ? '' : `: ${plain(role.description)}`}`,
        `${String(members.length)} ${members.length === 1 ? 'identity' : 'identities'}: ${listed(members)}`,
        ...grants.map(
          ({ id, namespace, scopes }) => `grant ${code(id)} at ${code(namespace)}: ${scopeNames(scopes).join(', ')}`,
        ),
      ]);
    }
    case 'identity': {
      const parsed = parseIdentity(name);
      if (!parsed.ok) return null;
      const regions = whatCan(policy, { identities: [parsed.identity], at });
      const person = set.people.find(({ identities }) => identities.some((one) => formatIdentity(one) === name));
      return lines([
        `**${code(name)}**${person === undefined ? '' : `, ${plain(person.name)}`}`,
        ...(regions.length === 0 ? ['holds nothing now'] : []),
        ...regions
          .slice(0, SHOWN)
          .map(
            ({ namespace, extent, scopes }) =>
              `${code(namespace)}${extent === 'exact' ? '' : ' and below'}: ${scopes.join(', ')}`,
          ),
      ]);
    }
    case 'grant': {
      const grant = set.grants.find(({ id }) => id === name);
      if (grant === undefined) return null;
      return lines([
        `**grant ${code(name)}** at ${code(grant.namespace)}${grant.inherit ? ' and below' : ''}: ${scopeNames(grant.scopes).join(', ')}`,
        ...(grant.principal.kind === 'role'
          ? [
              `held by ${String(membersOf(set, grant.principal.role).length)} identities of role ${code(grant.principal.role)}`,
            ]
          : []),
        ...(grant.reason === null ? [] : [plain(grant.reason)]),
      ]);
    }
    case 'provider': {
      const provider = set.providers.find((one) => one.name === name);
      return provider === undefined
        ? null
        : `**provider ${code(name)}**${provider.description === null ? '' : `: ${plain(provider.description)}`}`;
    }
    default:
      return null;
  }
}

function lines(texts: readonly string[]): string {
  return texts.join('  \n');
}

function listed(texts: readonly string[]): string {
  const rest = texts.length - SHOWN;
  return `${texts.slice(0, SHOWN).map(code).join(', ')}${rest > 0 ? ` and ${String(rest)} more` : ''}`;
}

/** Texts of a policy are no markup. */
function code(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}

function plain(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>()#+!|]/g, (character) => `\\${character}`);
}
