// The files of an imported policy: `policy.yaml` with the words of the source, and one file with roles and grants. They are in the layout
// of `bailiwick fmt`.
import { formatFile } from '../../engine/compiler.js';
import { formatIdentity, InvariantError } from '../../engine/index.js';
import type { ImportedMember, ImportedPolicy } from './imported-policy.js';

/** Path in the folder, and content. */
export type PolicyFiles = ReadonlyMap<string, string>;

const FREE_TEXT = 900;

export function writePolicy(name: string, policy: ImportedPolicy): PolicyFiles {
  const families = policy.families.map(({ name: family, description, actions }): [string, object] => [
    family,
    { description: cut(description), ...(actions.length === 0 ? {} : { actions }) },
  ]);
  const header = {
    bailiwick: 1,
    name,
    providers: Object.fromEntries(policy.providers.map((one) => [one.name, { description: one.description }])),
    ...(families.length === 0 ? {} : { families: Object.fromEntries(families) }),
  };
  const roles = policy.roles.map(({ name: role, description, members }): [string, object] => [
    role,
    { description: cut(description), ...(members.length === 0 ? {} : { members: membersOf(members) }) },
  ]);
  const grants = policy.grants.map(({ id, to, namespace, scopes, inherit, reason }) => ({
    id,
    ...('role' in to ? { role: to.role } : { identity: formatIdentity(to.identity) }),
    namespace,
    scopes,
    ...(inherit ? {} : { inherit }),
    reason: cut(reason),
  }));
  const sections = {
    ...(roles.length === 0 ? {} : { roles: Object.fromEntries(roles) }),
    ...(grants.length === 0 ? {} : { grants }),
  };
  const files = new Map([['policy.yaml', laidOut('policy.yaml', header)]]);
  if (Object.keys(sections).length > 0) files.set('imported.yaml', laidOut('imported.yaml', sections));
  return files;
}

/** Sources may name a member twice; a policy names each once. */
function membersOf(members: readonly ImportedMember[]): readonly (object | string)[] {
  const texts = members.map((one) => ('role' in one ? { role: one.role } : formatIdentity(one.identity)));
  return [...new Map(texts.map((one) => [JSON.stringify(one), one])).values()];
}

function laidOut(path: string, value: object): string {
  // JSON is YAML, apart from characters that policy files have to escape.
  const text = JSON.stringify(value, null, 1).replace(/[^\n -~]/g, unicodeEscape);
  const formatted = formatFile({ path, bytes: Buffer.from(text) });
  if (formatted.ok) return formatted.text;
  throw new InvariantError(`an imported ${path} cannot be read: ${formatted.diagnostics[0]?.message ?? ''}`);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Free text has a limit of bytes. */
function cut(text: string): string {
  let kept = text;
  while (Buffer.byteLength(kept) > FREE_TEXT)
    kept = kept.slice(0, -Math.ceil((Buffer.byteLength(kept) - FREE_TEXT) / 4));
  return kept.length === text.length ? text : `${kept.toWellFormed()}…`;
}
