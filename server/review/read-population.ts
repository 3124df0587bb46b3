// Reads a population that somebody else may have written: its form first, then that it is what was frozen.
import { canonicalize, isScopeName, parseIdentity, parseInstant } from '../../engine/index.js';
import { isObject, parseStrictJson } from '../json/strict-json.js';
import { type Population, populationFault } from './population.js';

const DEPTH = 12;

/** The population, or what is wrong with the file. */
export function readPopulation(bytes: Uint8Array): Population | string {
  const parsed = parseStrictJson(bytes, { depth: DEPTH });
  if (!parsed.ok) return `it is not plain JSON (${parsed.fault.message})`;
  return checkPopulation(parsed.value);
}

/** The same for JSON that was parsed already. */
export function checkPopulation(value: unknown): Population | string {
  if (!isPopulation(value)) return 'it is not an access review of this version';
  return populationFault(value) ?? value;
}

function isPopulation(value: unknown): value is Population {
  if (!isObject(value) || value['review'] !== 1) return false;
  const { version, policy, snapshot, decisions, at, digest, selection, usage, counts, rows } = value;
  return (
    [version, policy].every(isText) &&
    [snapshot, decisions, digest].every(isDigest) &&
    isInstant(at) &&
    isSelection(selection) &&
    (usage === null || isUsage(usage)) &&
    isObject(counts) &&
    isListOf(rows, isRow)
  );
}

function isSelection(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { under, persons, identities, scopes } = value;
  return (
    isPath(under) &&
    (persons === null || isListOf(persons, isText)) &&
    (identities === null || isListOf(identities, isIdentity)) &&
    (scopes === null || isListOf(scopes, isScope))
  );
}

function isUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { events, from, until, shortened } = value;
  return (
    [events, shortened].every(Number.isSafeInteger) && [from, until].every((one) => one === null || isInstant(one))
  );
}

function isRow(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, identity, person, namespace, extent, scopes, from, until, grant, ways, lastUsed } = value;
  return (
    isText(id) &&
    isIdentity(identity) &&
    (person === undefined || isText(person)) &&
    isPath(namespace) &&
    (extent === 'exact' || extent === 'subtree') &&
    isListOf(scopes, isScope) &&
    [from, until].every((one) => one === null || isInstant(one)) &&
    (lastUsed === undefined || lastUsed === null || isInstant(lastUsed)) &&
    isGrant(grant) &&
    isListOf(ways, (way) => isListOf(way, isLink))
  );
}

function isGrant(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, namespace, reason } = value;
  return isText(id) && isPath(namespace) && (reason === undefined || isText(reason)) && hasPlace(value);
}

function isLink(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { role, notBefore, expires } = value;
  return isText(role) && [notBefore, expires].every((one) => one === undefined || isInstant(one)) && hasPlace(value);
}

function hasPlace({ file, line }: Readonly<Record<string, unknown>>): boolean {
  return (file === undefined || isText(file)) && (line === undefined || Number.isSafeInteger(line));
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);
}

/** As we write it. */
export function isInstant(value: unknown): value is string {
  return typeof value === 'string' && parseInstant(value) !== null;
}

function isPath(value: unknown): boolean {
  const read = typeof value === 'string' ? canonicalize(value) : null;
  return read?.ok === true && read.path === value;
}

function isIdentity(value: unknown): boolean {
  return typeof value === 'string' && parseIdentity(value).ok;
}

function isScope(value: unknown): boolean {
  return typeof value === 'string' && isScopeName(value);
}

export function isListOf(value: unknown, isItem: (item: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isItem);
}
