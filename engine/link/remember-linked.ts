// What was linked of a document is linked once, as long as the document stays and what it names is declared as before. So of a policy
// that is read again, only documents that have changed are linked again, and those that refer to a role that has.
import type { MemberReference, PolicyDocument, StatedScopes } from '../model/document.js';
import type { Names } from './names.js';

type Link<T> = (document: PolicyDocument, names: Names) => readonly T[];

/** All that may make another result of the same document. */
interface Relied {
  readonly providers: ReadonlySet<string>;
  readonly declared: Names['declared'];
  readonly roles: readonly string[];
  /** Of roles whose scopes a grant takes. */
  readonly scopes: ReadonlyMap<string, StatedScopes>;
}

/** Like `link`. What is linked with a finding is not remembered, because the finding has to be reported each time. */
export function rememberLinked<T>(link: Link<T>): Link<T> {
  const known = new WeakMap<PolicyDocument, { readonly linked: readonly T[]; readonly relied: Relied }>();
  return (document, names) => {
    const before = known.get(document);
    const { providers, declared, sink } = names;
    if (before !== undefined && isAsBefore(before.relied, names)) {
      known.set(document, { ...before, relied: { ...before.relied, declared } });
      return before.linked;
    }
    const added = sink.added();
    const linked = link(document, names);
    // Where no provider is declared, whoever names one is reported at the end.
    if (sink.added() === added && providers !== null && providers.size > 0)
      known.set(document, { linked, relied: reliedOn(document, names, providers) });
    else known.delete(document);
    return linked;
  };
}

function isAsBefore({ providers, declared, roles, scopes }: Relied, names: Names): boolean {
  if (names.providers?.size !== providers.size) return false;
  for (const provider of providers) if (!names.providers.has(provider)) return false;
  if (names.declared === declared) return true;
  for (const role of roles) if (!names.roles.has(role)) return false;
  for (const [role, stated] of scopes) if (names.roles.get(role)?.role.scopes !== stated) return false;
  return true;
}

function reliedOn({ roles, grants }: PolicyDocument, names: Names, providers: ReadonlySet<string>): Relied {
  const named = new Set<string>();
  const scopes = new Map<string, StatedScopes>();
  const add = ({ kind, value }: MemberReference): void => {
    if (kind === 'role') named.add(value);
  };
  for (const { members } of roles) members.forEach(add);
  for (const { principals, scopes: own } of grants) {
    principals.forEach(add);
    for (const { kind, value } of own === 'absent' ? principals : [])
      if (kind === 'role') scopes.set(value, names.roles.get(value)?.role.scopes ?? 'absent');
  }
  return { providers, declared: names.declared, roles: [...named], scopes };
}
