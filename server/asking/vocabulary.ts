// The closed vocabulary of AuthZEN (docs/authzen.md "The vocabulary"): what the names of a client mean here. Each table is
// a total function without expressions: a name that it does not have means nothing, and the answer is no.
import { createHash } from 'node:crypto';
import {
  canonicalize,
  type Family,
  isFamily,
  isName,
  isScopeName,
  type NamespacePath,
  nearest,
  pathFaultText,
  type Policy,
  type ScopeName,
  SCOPES,
} from '../../engine/index.js';
import { canonicalJson } from '../json/canonical-json.js';
import type { Logger } from '../lib/ports.js';

/** What the ids of one type of resource mean. */
export type ResourceWord =
  /** Every id is this namespace. */
  | { readonly kind: 'at'; readonly path: NamespacePath }
  /** An id is one segment below `path`, unless `ids` has it. Without a path, `ids` has all of them. */
  | {
      readonly kind: 'ids';
      readonly under: NamespacePath | null;
      readonly ids: ReadonlyMap<string, NamespacePath>;
    }
  /** An id is that of a record of the family. */
  | { readonly kind: 'store'; readonly family: Family };

/** A table that is null has the natural meaning of its part. */
export interface AuthzenVocabulary {
  /** SHA-256 of its canonical JSON. */
  readonly digest: string;
  /** Providers by type. */
  readonly subjects: ReadonlyMap<string, string> | null;
  readonly resources: ReadonlyMap<string, ResourceWord> | null;
  readonly actions: ReadonlyMap<string, ScopeName> | null;
  /** What its author should know. */
  readonly warnings: readonly string[];
}

const text = { type: 'string', minLength: 1 } as const;
const mapOf = (one: object): object => ({ type: 'object', additionalProperties: one });
const closed = (properties: Readonly<Record<string, object>>, required: readonly string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/** The shape of the setting, as JSON Schema. */
export const VOCABULARY_SCHEMA: Readonly<Record<string, unknown>> = Object.freeze({
  ...closed(
    {
      subjects: mapOf(closed({ provider: text }, ['provider'])),
      resources: mapOf(closed({ at: text, under: text, ids: mapOf(text), store: text }, [])),
      actions: mapOf(text),
    },
    [],
  ),
});

export type VocabularyReading =
  { readonly ok: true; readonly value: AuthzenVocabulary } | { readonly ok: false; readonly message: string };

/** Reads what the schema has accepted. Ends at the first fault; the message continues a sentence. */
export function readVocabulary(written: unknown): VocabularyReading {
  try {
    const { subjects, resources, actions } = membersOf(written);
    const scopes = tableOf(actions, scopeOf);
    const value: AuthzenVocabulary = Object.freeze({
      digest: `sha256:${createHash('sha256').update(canonicalJson(written)).digest('hex')}`,
      subjects: tableOf(subjects, providerOf),
      resources: tableOf(resources, resourceOf),
      actions: scopes,
      warnings: sameScopes(scopes ?? new Map<string, ScopeName>()),
    });
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof WordFault)) throw error;
    return { ok: false, message: error.message };
  }
}

class WordFault extends Error {}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function tableOf<Word>(value: unknown, read: (word: unknown, name: string) => Word): ReadonlyMap<string, Word> | null {
  if (value === undefined) return null;
  return new Map(Object.entries(membersOf(value)).map(([name, word]) => [name, read(word, name)]));
}

function providerOf(word: unknown, type: string): string {
  const { provider } = membersOf(word);
  if (typeof provider === 'string' && isName(provider)) return provider;
  throw new WordFault(`has no valid \`provider\` for the subjects \`${type}\``);
}

function scopeOf(word: unknown, action: string): ScopeName {
  if (isScopeName(word)) return word;
  const hint = typeof word === 'string' ? hintOf(word, SCOPES) : '';
  throw new WordFault(`maps the action \`${action}\` to something that is not a scope${hint}`);
}

function resourceOf(word: unknown, type: string): ResourceWord {
  const { at, under, ids, store } = membersOf(word);
  const given = [at, store, under ?? ids].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw new WordFault(
      `needs one of \`at\`, \`under\` (with or without \`ids\`), \`ids\` or \`store\` for \`${type}\``,
    );
  if (at !== undefined) return { kind: 'at', path: pathOf(at, type) };
  if (store !== undefined) {
    if (!isFamily(store) || store === 'namespace')
      throw new WordFault(`has a \`store\` for \`${type}\` that is not a family of records`);
    return { kind: 'store', family: store };
  }
  const known = Object.entries(membersOf(ids)).map(([id, path]) => [id, pathOf(path, type)] as const);
  return { kind: 'ids', under: under === undefined ? null : pathOf(under, type), ids: new Map(known) };
}

function pathOf(value: unknown, type: string): NamespacePath {
  const read = canonicalize(value);
  if (read.ok) return read.path;
  throw new WordFault(`has a path for \`${type}\` that is not a namespace: ${pathFaultText(read.fault)}`);
}

/** Warns of actions that everybody is denied under a policy, because it does not know their scopes. */
export function warnOfUnknownScopes(
  vocabulary: AuthzenVocabulary | null,
  { name: policy, digest: snapshot, scopes }: Pick<Policy, 'name' | 'digest' | 'scopes'>,
  log: Pick<Logger, 'warn'>,
): void {
  for (const [name, scope] of vocabulary?.actions ?? []) {
    if (scopes.includes(scope)) continue;
    const message = `the action \`${name}\` means ${scope}, which is not a scope of the policy, so everybody is denied it`;
    log.warn({ vocabulary: vocabulary?.digest, policy, snapshot }, message + hintOf(scope, scopes));
  }
}

function hintOf(scope: string, known: readonly ScopeName[]): string {
  const meant = nearest(scope, known);
  return meant === null ? '' : `; did you mean \`${meant}\`?`;
}

function sameScopes(actions: ReadonlyMap<string, ScopeName>): readonly string[] {
  const byScope = new Map<ScopeName, string[]>();
  for (const [name, scope] of actions) byScope.set(scope, [...(byScope.get(scope) ?? []), name]);
  return [...byScope].flatMap(([scope, names]) =>
    names.length < 2
      ? []
      : [`${names.map((name) => `\`${name}\``).join(' and ')} both mean ${scope}, so no policy tells them apart`],
  );
}
