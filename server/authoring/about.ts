// What an editor shows about a name: who is behind a role, what somebody holds, whom a grant reaches. Each editor writes it in its own way.
import type { NamePlace } from '../../engine/compiler.js';
import { formatIdentity, type Instant, parseIdentity, scopeNames } from '../../engine/index.js';
import type { PolicyIndex } from './policy-index.js';

/** A piece of a line. Texts of a policy are no markup. */
interface Part {
  readonly kind: 'text' | 'code' | 'strong';
  readonly text: string;
}

export type SaidLine = readonly Part[];

const SHOWN = 20;

/** Null if there is nothing to say. */
export function aboutName(index: PolicyIndex, { kind, name }: NamePlace, at: Instant): readonly SaidLine[] | null {
  const { set } = index;
  switch (kind) {
    case 'role': {
      const role = index.role(name);
      if (role === undefined) return null;
      const members = index.membersOf(name);
      const grants = index.grantsTo(name);
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
      const regions = index.heldBy(parsed.identity, at);
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
      const grant = index.grant(name);
      if (grant === undefined) return null;
      const { namespace, inherit, scopes, principal, reason } = grant;
      return [
        [
          ...[strong(`grant ${name}`), text(' at '), code(namespace)],
          text(`${inherit ? ' and below' : ''}: ${scopeNames(scopes).join(', ')}`),
        ],
        principal.kind === 'role'
          ? [text(`held by ${counted(index.membersOf(principal.role).length)} of role `), code(principal.role)]
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
