// References to roles and providers. Each is declared, or there is a diagnostic with the name that was perhaps meant.
import type { IdentityReference, MemberReference, PolicyDocument, RoleReference } from '../model/document.js';
import { GROUP_SUFFIX } from '../model/identity.js';
import { nearest } from '../diagnostics/nearest.js';
import type { Principal } from '../model/policy-set.js';
import type { Located, Span } from '../model/span.js';
import type { Names } from './names.js';
import { findingAt } from './places.js';

export function checkReference(document: PolicyDocument, reference: MemberReference, names: Names): void {
  if (reference.kind === 'role') checkRole(document, reference, names);
  else checkIdentity(document, reference, names);
}

export function checkRole(document: PolicyDocument, reference: RoleReference, names: Names): void {
  if (names.roles.has(reference.value) || names.rolesMayBeMissing) return;
  const near = names.suggestRole.nearest(reference.value);
  const help = near === null ? 'declare it under `roles`, or name one that is declared' : `did you mean \`${near}\`?`;
  names.sink.add(
    findingAt(document, reference, {
      code: 'ROLE_UNKNOWN',
      message: `the role \`${reference.value}\` is not declared`,
      help,
    }),
  );
}

export function checkIdentity(document: PolicyDocument, reference: IdentityReference, names: Names): void {
  const { provider } = reference.value;
  checkProvider(document, { value: provider, start: reference.start, end: reference.end }, names);
}

export function checkProvider(document: PolicyDocument, reference: Located<string>, names: Names): void {
  const { providers } = names;
  const { value } = reference;
  if (providers === null || providers.has(value)) return;
  if (value.endsWith(GROUP_SUFFIX) && providers.has(value.slice(0, -GROUP_SUFFIX.length))) return;
  const near = nearest(value, providers);
  const help = near === null ? 'declare it in `policy.yaml`, under `providers`' : `did you mean \`${near}\`?`;
  names.sink.add(
    findingAt(document, reference satisfies Span, {
      code: 'PROVIDER_UNKNOWN',
      message: `the provider \`${value}\` is not declared`,
      help,
    }),
  );
}

export function identityPrincipal(reference: MemberReference): Principal {
  return reference.kind === 'role'
    ? { kind: 'role', role: reference.value }
    : { kind: 'identity', identity: reference.value };
}
