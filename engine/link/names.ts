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
  readonly sink: Sink;
  readonly report: (document: PolicyDocument, at: Span, words: FindingWords) => void;
}

export function collectNames(documents: readonly PolicyDocument[], sink: Sink): Names {
  const roles = new Map<string, DeclaredRole>();
  const refuse = refuseRepeated(sink, {
    code: 'ROLE_DUPLICATE',
    message: (name) => `the role \`${name}\` is declared twice`,
    help: 'merge them, or rename one',
  });
  for (const document of documents) {
    for (const role of document.roles) {
      if (!roles.has(role.name.value)) roles.set(role.name.value, { document, role });
      refuse(document, role.name);
    }
  }
  const header = documents.find((document) => document.header !== null) ?? null;
  const lacking = new Map<string, NamedAt>();
  const providers =
    header?.complete === true ? new Set(header.header?.providers.map((provider) => provider.name.value)) : null;
  return {
    roles,
    providers,
    header,
    lacking,
    lackProvider: (document, provider) => {
      if (!lacking.has(provider.value)) lacking.set(provider.value, { document, at: provider });
    },
    rolesMayBeMissing: documents.some((document) => document.header === null && !document.complete),
    suggestRole: makeSuggester(roles.keys()),
    sink,
    report: (document, at, words) => {
      sink.add(findingAt(document, at, words));
    },
  };
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
