// References to roles and providers. Each is declared, or there is a diagnostic with the name that was perhaps meant.
import type { IdentityReference, MemberReference, PolicyDocument, RoleReference } from '../model/document.js';
import { groupDigits } from '../diagnostics/fault-words.js';
import {
  baseProvider,
  FORBIDDEN_KEYS,
  formatIdentity,
  isProviderOf,
  joinedIdentities,
  mayBeProvider,
} from '../model/identity.js';
import type { Principal } from '../model/policy-set.js';
import type { Located, Span } from '../model/span.js';
import { sortTexts } from '../model/order.js';
import type { Names } from './names.js';
import { relatedAt } from './places.js';

/** How a role is named where an identity stands: in a list of members, by a grant, in `to` and `except`, or not at all. */
export type RoleForm = 'member' | 'grant' | 'parties' | 'none';

export function checkReference(
  document: PolicyDocument,
  reference: MemberReference,
  { names, roleForm }: { readonly names: Names; readonly roleForm: RoleForm },
): void {
  if (reference.kind === 'role') checkRole(document, reference, names);
  else checkIdentity(document, reference, { names, roleForm });
}

export function checkRole(document: PolicyDocument, reference: RoleReference, names: Names): void {
  if (names.roles.has(reference.value) || names.rolesMayBeMissing) return;
  const near = names.suggestRole.nearest(reference.value);
  const [other, name] = ['name one that is declared', reference.value];
  const declare = FORBIDDEN_KEYS.has(name)
    ? `no role can be called that: ${other}`
    : `declare it under \`roles\`, or ${other}`;
  const help = near === null ? declare : `did you mean \`${near}\`?`;
  names.report(document, reference, {
    code: 'ROLE_UNKNOWN',
    message: `the role \`${reference.value}\` is not declared`,
    help,
  });
}

export function checkIdentity(
  document: PolicyDocument,
  reference: IdentityReference,
  { names, roleForm }: { readonly names: Names; readonly roleForm: RoleForm },
): void {
  const { provider, subject } = reference.value;
  const isRole = /^roles?$/.test(provider) && names.providers?.has(provider) === false;
  const { start, end } = reference;
  if (!isRole) {
    checkProvider(document, { value: provider, start, end }, names);
    checkSingle(document, reference, names);
  } else {
    const message = `\`${formatIdentity(reference.value)}\` reads as an identity of the provider \`${provider}\`, which is not declared`;
    const help = `to name the role \`${subject}\`, ${ROLE_FORMS[roleForm](subject)}`;
    names.report(document, reference satisfies Span, { code: 'PROVIDER_UNKNOWN', message, help });
  }
}

/** Two identities without a comma between them read as one, which nobody has. */
function checkSingle(document: PolicyDocument, reference: IdentityReference, { providers, report }: Names): void {
  const joined = providers === null ? null : joinedIdentities(reference.value, providers);
  if (joined === null) return;
  const message = `\`${formatIdentity(reference.value)}\` is ${groupDigits(joined.length)} identities in one text`;
  const help = `write each as a text of its own, with a comma between them or on its own line: ${joined.map((text) => `\`${text}\``).join(', ')}`;
  report(document, reference satisfies Span, { code: 'IDENTITY_JOINED', message, help });
}

const ROLE_FORMS: Readonly<Record<RoleForm, (role: string) => string>> = {
  member: (role) => `write \`{ role: ${role} }\``,
  grant: (role) => `write \`role: ${role}\` in place of \`identity\``,
  parties: (role) => `write \`roles: [${role}]\` beside \`identities\``,
  none: () => 'name its members: only identities stand here',
};

export function checkProvider(document: PolicyDocument, reference: Located<string>, names: Names): void {
  const { providers } = names;
  const { value } = reference;
  if (providers === null || isProviderOf(providers, value)) return;
  if (providers.size === 0) {
    names.lackProvider(document, reference);
    return;
  }
  const near = names.suggestProvider.nearest(value);
  const help = near === null ? declareHelp(value) : `did you mean \`${near}\`?`;
  names.report(document, reference satisfies Span, {
    code: 'PROVIDER_UNKNOWN',
    message: `the provider \`${value}\` is not declared`,
    help,
  });
}

const SHOWN_PROVIDERS = 8;

/** A `policy.yaml` without any provider is one mistake, however many identities others name. */
export function reportLackingProviders({ lacking, header, report }: Names): void {
  const [first] = lacking;
  if (first === undefined || header === null) return;
  const [name, { document, at }] = first;
  const declarable = new Set([...lacking.keys()].map(baseProvider).filter(mayBeProvider));
  const shown = sortTexts(declarable).slice(0, SHOWN_PROVIDERS);
  const rest = declarable.size > shown.length ? ', …' : '';
  report(header, START, {
    code: 'PROVIDER_UNKNOWN',
    message: `\`${header.file}\` declares no provider, so no identity can be named`,
    help: `add \`providers: { ${shown.map((provider) => `${provider}: {}`).join(', ')}${rest} }\` to it`,
    related: [relatedAt(document, at, `an identity of \`${name}\` is named here`)],
  });
}

const START: Span = { start: 0, end: 0 };

function declareHelp(provider: string): string {
  if (mayBeProvider(provider)) return 'declare it in `policy.yaml`, under `providers`';
  const base = baseProvider(provider);
  return mayBeProvider(base)
    ? `declare \`${base}\` in \`policy.yaml\`, under \`providers\`: its groups come with it`
    : 'no provider can be called that: name one that is declared';
}

export function identityPrincipal(reference: MemberReference): Principal {
  return reference.kind === 'role'
    ? { kind: 'role', role: reference.value }
    : { kind: 'identity', identity: reference.value };
}
