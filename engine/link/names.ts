// What a policy declares, by name. Of several declarations of a name, the first in file order counts and the others are
// reported.
import type { PolicyDocument, RoleDeclaration } from '../model/document.js';
import type { Located, Span } from '../model/span.js';
import { makeSuggester, type Suggester } from '../diagnostics/nearest.js';
import type { Sink } from '../diagnostics/report.js';
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import { findingAt, type FindingWords, relatedAt } from './places.js';

export interface DeclaredRole {
  readonly document: PolicyDocument;
  readonly role: RoleDeclaration;
}

export interface NamedAt {
  readonly document: PolicyDocument;
  readonly at: Span;
}

export interface Names {
  readonly roles: ReadonlyMap<string, DeclaredRole>;
  /** Stands for the roles: it is the same in two versions of a policy only if the same documents declare them. Holds neither. */
  readonly declared: symbol;
  /** Null if `policy.yaml` could not be read, so that no provider can be called unknown. */
  readonly providers: ReadonlySet<string> | null;
  /** `policy.yaml`, if there is one. */
  readonly header: PolicyDocument | null;
  /** Where none is declared: those that are named, each with the first place that names it. */
  readonly lacking: ReadonlyMap<string, NamedAt>;
  readonly lackProvider: (document: PolicyDocument, provider: Located<string>) => void;
  /** Whether a role that is not listed here may be declared where a file could not be read. */
  readonly rolesMayBeMissing: boolean;
  readonly suggestRole: Suggester;
  readonly suggestProvider: Suggester;
  readonly sink: Sink;
  readonly report: (document: PolicyDocument, at: Span, words: FindingWords) => void;
}

export function collectNames(documents: readonly PolicyDocument[], sink: Sink): Names {
  const header = documents.find((document) => document.header !== null) ?? null;
  const { roles, declared } = collectRoles(documents, header, sink);
  const lacking = new Map<string, NamedAt>();
  const providers =
    header?.complete === true ? new Set(header.header?.providers.map((provider) => provider.name.value)) : null;
  return {
    roles,
    declared,
    providers,
    header,
    lacking,
    lackProvider: (document, provider) => {
      if (!lacking.has(provider.value)) lacking.set(provider.value, { document, at: provider });
    },
    rolesMayBeMissing: documents.some((document) => document.header === null && !document.complete),
    suggestRole: makeSuggester(roles.keys()),
    suggestProvider: makeSuggester(providers ?? []),
    sink,
    report: (document, at, words) => {
      sink.add(findingAt(document, at, words));
    },
  };
}

interface Roles extends Pick<Names, 'roles' | 'declared'> {
  /** Those that declare roles, in file order. */
  readonly documents: readonly PolicyDocument[];
}

/** By the header of a policy: the roles of the version that was read last, if none was declared twice. */
const knownRoles = new WeakMap<PolicyDocument, Roles>();

function collectRoles(documents: readonly PolicyDocument[], header: PolicyDocument | null, sink: Sink): Roles {
  const declaring = documents.filter(({ roles }) => roles.length > 0);
  const known = header === null ? undefined : knownRoles.get(header);
  if (known?.documents.length === declaring.length && declaring.every((one, i) => one === known.documents[i]))
    return known;
  const roles = new Map<string, DeclaredRole>();
  const refuse = refuseRepeated(sink, {
    code: 'ROLE_DUPLICATE',
    message: (name) => `the role \`${name}\` is declared twice`,
    help: 'merge them, or rename one',
  });
  const added = sink.added();
  for (const document of declaring) {
    for (const role of document.roles) {
      if (!roles.has(role.name.value)) roles.set(role.name.value, { document, role });
      refuse(document, role.name);
    }
  }
  const collected = { roles, declared: Symbol('declared roles'), documents: declaring };
  if (header !== null && sink.added() === added) knownRoles.set(header, collected);
  return collected;
}

/** Makes a function that is called for each name in file order, and reports those that came before. */
export function refuseRepeated(
  sink: Sink,
  words: { readonly code: DiagnosticCode; readonly message: (name: string) => string; readonly help: string },
): (document: PolicyDocument, name: Located<string>) => void {
  const { code, message, help } = words;
  const declared = new Map<string, { readonly document: PolicyDocument; readonly name: Located<string> }>();
  return (document, name) => {
    const before = declared.get(name.value);
    if (before === undefined) {
      declared.set(name.value, { document, name });
      return;
    }
    const related = [relatedAt(before.document, before.name, 'first declared here')];
    sink.add(findingAt(document, name, { code, message: message(name.value), help, related }));
  };
}
