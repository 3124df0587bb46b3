// Where a policy in force came from, and who stands behind it, as events hold it (docs/audit.md "An event").
import { formatInstant, type PublicationStatement } from '../../engine/index.js';
import { maskCredentials } from '../lib/mask.js';
import { AUDIT_LIMITS } from '../limits/logs.js';

/** Members in the order of RFC 8785. */
export interface EventPolicy {
  /** Who or what put it in force: an admin, an operator, a gateway or a source. */
  readonly askedBy?: string;
  readonly commit?: string;
  /** Of a refused offer: the code of what is wrong with it. */
  readonly fault?: string;
  /** The number of the activation. */
  readonly generation?: number;
  readonly path?: string;
  readonly reason?: string;
  readonly ref?: string;
  readonly repository?: string;
  /** The keys of the keyring that signed the statement. */
  readonly signers?: readonly string[];
  readonly source?: string;
  readonly statement?: {
    readonly environment: string;
    readonly expires: string;
    readonly generation: number;
    readonly issued: string;
    /** What the signer says that the snapshot was compiled from. */
    readonly source?: { readonly commit: string; readonly repository?: string };
  };
  readonly url?: string;
}

interface Source {
  readonly kind: string;
  readonly commit?: string;
  readonly path?: string;
  readonly ref?: string;
  readonly repository?: string;
  readonly url?: string;
}

export interface Provenance {
  readonly askedBy?: string | null;
  readonly fault?: string;
  readonly generation?: number;
  readonly reason?: string;
  readonly signers?: readonly string[];
  readonly source?: Source;
  readonly statement?: PublicationStatement | null;
}

export function eventPolicy({
  askedBy,
  fault,
  generation,
  reason,
  signers = [],
  source,
  statement,
}: Provenance): EventPolicy {
  const { kind, ...place } = source ?? {};
  const texts = { ...place, source: kind, reason, fault, askedBy: askedBy ?? undefined };
  const members = {
    ...Object.fromEntries(
      Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, plain(text)]])),
    ),
    ...(generation === undefined ? {} : { generation }),
    ...(signers.length === 0 ? {} : { signers: [...signers].sort() }),
    ...(statement === null || statement === undefined ? {} : { statement: saysOf(statement) }),
  };
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function saysOf({
  environment,
  expires,
  generation,
  issued,
  source,
}: PublicationStatement): NonNullable<EventPolicy['statement']> {
  const said = { environment, expires: formatInstant(expires), generation, issued: formatInstant(issued) };
  if (source === undefined) return said;
  const { commit, repository } = source;
  return { ...said, source: { commit, ...(repository === null ? {} : { repository: plain(repository) }) } };
}

/** Credentials, and the name and the password of an address, stay out, and a text is cut where a log would suffer from it, between two characters. */
function plain(text: string): string {
  return maskCredentials(text)
    .replaceAll(/\/\/[^/@\s]*@/g, '//')
    .slice(0, AUDIT_LIMITS.textLength)
    .replace(/[\ud800-\udbff]$/, '');
}
