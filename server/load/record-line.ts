// One line of a dataset: turns its bytes into a row that can be stored, or reports the first thing that is wrong with
// it.
import { canonicalize, parseInstant, ROOT, type Family, type NamespacePath } from '../../engine/index.js';
import { checkDatasetLine, type DatasetLine } from '../api/dataset-schema.js';
import { FIRST_STORED, storedPath } from '../db/tables.js';
import { parseStrictJson, pointerTo } from '../json/strict-json.js';
import { contentFault, contentOf, type RecordContent, type Reference, referencesOf } from '../records/content.js';
import { isTooLarge } from '../records/stored-bytes.js';
import { newTemplateFaults, readTemplate } from '../templates/template-schema.js';
import type { DigestCounter } from './digest-counter.js';
import { LOAD_LIMITS } from '../limits/records.js';
import { deriveId, nameDigest } from './record-id.js';

/** A record in the form that the store takes, with instants as RFC 3339 in UTC. */
export interface LoadRow extends RecordContent {
  readonly line: number;
  readonly bytes: number;
  readonly id: string;
  /** Whether the line gave the id. */
  readonly given: boolean;
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly path: string;
  /** Null if the line does not say. */
  readonly createdAt: string | null;
  readonly archivedAt: string | null;
  /** When the record was deleted: the row then says nothing else of it. */
  readonly deletedAt: string | null;
  readonly references: readonly Reference[];
}

/** A line that was skipped. The code is that of the API, if the API has one for the same mistake. */
export interface SkippedLine {
  /** Counts from 1. */
  readonly line: number;
  readonly code: string;
  /** A JSON pointer (RFC 6901) into the line; empty for the line as a whole. */
  readonly pointer: string;
  readonly message: string;
}

export type RowResult =
  { readonly ok: true; readonly row: LoadRow } | { readonly ok: false; readonly fault: SkippedLine };

export interface DatasetText {
  /** Counts from 1. */
  readonly number: number;
  /** Without its line end; null if the line is longer than the limit. */
  readonly bytes: Uint8Array | null;
}

export interface LineReading {
  /** Counts the names of earlier lines. */
  readonly count: DigestCounter;
  /** Whether the schema of a template must be usable. */
  readonly schemas: 'checked' | 'unchecked';
}

/** Reads a line that is not blank. */
export function readRecordLine({ number, bytes }: DatasetText, { count, schemas }: LineReading): RowResult {
  const refuse = (code: string, pointer: string, message: string): RowResult => ({
    ok: false,
    fault: { line: number, code, pointer, message },
  });
  if (bytes === null || bytes.length > LOAD_LIMITS.lineBytes) {
    return refuse('request.too_large', '', `is longer than ${String(LOAD_LIMITS.lineBytes)} bytes`);
  }
  if (isArray(bytes)) return refuse('request.schema', '', ARRAY);
  if (isOpening(bytes)) return refuse('request.schema', '', OBJECT);
  const json = parseStrictJson(bytes, { depth: LOAD_LIMITS.jsonDepth, isLine: true });
  if (!json.ok) return refuse(json.fault.code, json.fault.pointer, json.fault.message);
  if (isTooLarge(bytes.length, json.value)) {
    return refuse(
      'request.too_large',
      '',
      `takes more than ${String(LOAD_LIMITS.recordBytes)} bytes when its numbers are written out`,
    );
  }
  const shape = checkDatasetLine(json.value);
  if (!shape.ok) {
    return refuse('request.schema', shape.fault.place.reduce<string>(pointerTo, ''), shape.fault.message);
  }
  const path = canonicalize(shape.line.namespace);
  if (!path.ok) return refuse('namespace.invalid', '/namespace', notPath(shape.line.namespace));
  const content = readContent(shape.line, path.path);
  if ('message' in content) return refuse('request.schema', content.pointer, content.message);
  const schema = schemas === 'checked' ? (shape.line.schema ?? null) : null;
  const [first, ...others] = schema === null ? [] : newTemplateFaults(readTemplate(schema));
  if (first !== undefined) {
    const more = others.length === 0 ? '' : `, and ${String(others.length)} more`;
    return refuse('record.invalid', `/schema${first.pointer}`, `${first.message}${more}`);
  }
  return { ok: true, row: { line: number, bytes: bytes.length, ...content, ...identify(shape.line, content, count) } };
}

/** Applies even if the value continues on the next line. */
function isArray(bytes: Uint8Array): boolean {
  return bytes[bytes.findIndex((byte) => byte !== 0x20 && byte !== 0x09)] === 0x5b;
}

const ARRAY = "begins an array: a dataset has one object a line; `jq -c '.[]'` converts an array";

const OBJECT = 'begins an object that ends on another line: a dataset has one object a line; `jq -c .` puts it on one';

/** Whether a line only opens an array or an object, as in a file that is formatted for people. */
export function isOpening(bytes: Uint8Array): boolean {
  if (bytes.length < LONGEST_OPENING && /^[ \t]*[[{]\s*$/.test(Buffer.from(bytes).toString('latin1'))) return true;
  return isArray(bytes) && !parseStrictJson(bytes, { depth: LOAD_LIMITS.jsonDepth, isLine: true }).ok;
}

const LONGEST_OPENING = 80;

/** The message for a bad path, with the path that was most likely meant. */
function notPath(text: string): string {
  const meant = canonicalize(
    text
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_]+/g, '-')
      .replaceAll(/\/+/g, '/'),
  );
  return meant.ok ? `is not a namespace path; did you mean \`${meant.path}\`?` : 'is not a namespace path';
}

type Content = Omit<LoadRow, 'line' | 'bytes' | 'id' | 'given'>;

type Wrong = NonNullable<ReturnType<typeof contentFault>>;

function readContent(line: DatasetLine, namespace: NamespacePath): Content | Wrong {
  const { family } = line;
  if (family === 'namespace' && line.name !== undefined && line.name !== null && !names(line.name, namespace)) {
    return { pointer: '/name', message: 'must be the path of the namespace' };
  }
  const wrong = contentFault(line);
  if (wrong !== null) return wrong;
  const createdAt = readInstant(line.createdAt);
  if (createdAt === undefined) return { pointer: '/createdAt', message: INSTANT };
  const archivedAt = readInstant(line.archivedAt);
  if (archivedAt === undefined) return { pointer: '/archivedAt', message: INSTANT };
  const deletedAt = readInstant(line.deletedAt);
  if (deletedAt === undefined) return { pointer: '/deletedAt', message: INSTANT };
  if (archivedAt !== null && family === 'namespace' && namespace === ROOT) {
    return { pointer: '/archivedAt', message: 'the root cannot be archived' };
  }
  return {
    family,
    namespace,
    path: storedPath(namespace),
    ...contentOf(family, family === 'namespace' ? { ...line, name: namespace } : line),
    createdAt,
    archivedAt,
    deletedAt,
    references: referencesOf(family, line),
  };
}

function names(name: string, namespace: NamespacePath): boolean {
  const result = canonicalize(name);
  return result.ok && result.path === namespace;
}

const INSTANT = 'must be an instant, like 2027-01-01T00:00:00Z, in the years 1 to 9999';

/** Undefined if the text is not an instant that can be stored. */
function readInstant(text: string | null | undefined): string | null | undefined {
  if (text === undefined || text === null) return null;
  const instant = parseInstant(text);
  if (instant === null || instant < FIRST_STORED) return undefined;
  return new Date(instant).toISOString();
}

/**
 * Every line that gets here is counted, even if it has an id of its own. So correcting one line changes no other line's
 * id. A deleted record has no name.
 */
function identify(line: DatasetLine, content: Content, count: DigestCounter): Pick<LoadRow, 'id' | 'given'> {
  const digest = nameDigest(content);
  // A namespace is identified by its path alone, so a second line with that path is about the same record.
  const before = content.family === 'namespace' || content.deletedAt !== null ? 0 : count(digest);
  if (line.id !== undefined) return { id: line.id.toLowerCase(), given: true };
  return { id: deriveId(digest, before), given: false };
}
