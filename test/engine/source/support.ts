// Reading policy texts in tests: a folder of texts, the diagnostics with the source text under each span.
import {
  type Diagnostic,
  ENGINE_LIMITS,
  type EngineLimits,
  type PolicyReading,
  readPolicy,
} from '../../../engine/compiler.js';

export const POLICY = 'bailiwick: 1\nname: photon-facility\nproviders: { orcid: {}, github: {} }\n';

export const ROLES = [
  'roles:',
  '  staff:',
  '    members: [orcid:0000-0002-1825-0097]',
  '    scopes: [resource:read]',
  '  leads:',
  '    members: [github:octocat]',
  '',
].join('\n');

export type Folder = Readonly<Record<string, string | Uint8Array>>;

export function readFolder(folder: Folder, limits: Partial<EngineLimits> = {}): PolicyReading {
  const files = Object.entries(folder).map(([path, content]) => ({
    path,
    bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  }));
  return readPolicy(files, { ...ENGINE_LIMITS, ...limits });
}

/** The folder of the examples of the code pages, with one more file. */
export function readExample(text: string | Uint8Array, limits: Partial<EngineLimits> = {}): PolicyReading {
  return readFolder({ 'policy.yaml': POLICY, 'roles.yaml': ROLES, 'example.yaml': text }, limits);
}

export function textUnder(reading: PolicyReading, { file, range }: Pick<Diagnostic, 'file' | 'range'>): string {
  const text = reading.sources.get(file) ?? '';
  const lines = text.split('\n');
  const offset = ({ line, column }: { readonly line: number; readonly column: number }): number =>
    lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0) + column - 1;
  return text.slice(offset(range.start), offset(range.end));
}

/** `CODE text under it`, one for each diagnostic. */
export function summary(reading: PolicyReading): readonly string[] {
  return reading.diagnostics.map((diagnostic) => `${diagnostic.code} ${textUnder(reading, diagnostic)}`);
}
