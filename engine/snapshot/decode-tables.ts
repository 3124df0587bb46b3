// Turns the columns of the file back into tables, once they are checked (column-fault.ts).
import type { EngineLimits } from '../limits.js';
import { windowOf } from '../model/instant.js';
import { makeScopeColumn, NO_SCOPES, RECORD_SETS, type ScopeSet } from '../model/scope-set.js';
import type { Vocabulary } from '../model/vocabulary.js';
import { narrowMembers } from '../model/narrow-members.js';
import { type PolicyTables, type TextColumn, windowColumns, type WindowColumns } from '../model/tables.js';
import { areTexts, columnFault } from './column-fault.js';
import { FIRST_SET, readFamilies, total } from './family-columns.js';
import type { SnapshotBody, SparseColumn, SparseTexts } from './document.js';

/** The tables, or what is wrong with them as `field: reason`. */
export function decodeTables(body: SnapshotBody, limits: EngineLimits): PolicyTables | string {
  const words = familiesOf(body, limits);
  if (typeof words === 'string') return words;
  return (
    columnFault(body, words.sets.length, limits) ??
    narrowMembers(toTables(body, words), limits.grants) ??
    'grants: more than the limit, narrowed for members with a window'
  );
}

interface Words {
  readonly vocabulary: Vocabulary;
  readonly sets: readonly ScopeSet[];
}

function familiesOf({ families, grants }: SnapshotBody, { scopes }: EngineLimits): Words | string {
  if (families !== undefined && !areTexts(families.description, families.name.length))
    return 'families.description: not rows of families and texts';
  const textsOf = (texts: SparseTexts): ReadonlyMap<number, string> =>
    new Map(toRows(texts.row).map((row, i) => [row, texts.text[i] ?? '']));
  return readFamilies(families, textsOf, { scopes, grants: grants.id.length });
}

function toTables(body: SnapshotBody, { vocabulary, sets }: Words): PolicyTables {
  const { exclusive, grants, identities, members, namespaces, roles } = body;
  const count = grants.id.length;
  const inherit = new Uint8Array(count).fill(1);
  for (const row of toRows(grants.exact)) inherit[row] = 0;
  const notBefore = expandSparse(grants.notBefore, count, -Infinity);
  const expires = expandSparse(grants.expires, count, Infinity).map(
    (until) => windowOf({ notBefore: null, expires: until }).until,
  );
  return {
    name: body.name,
    providers: body.providers,
    files: body.files,
    segments: body.segments,
    identities: { provider: expandCounts(identities.perProvider), subject: identities.subject },
    roles: {
      name: roles.name,
      file: Int32Array.from(roles.file),
      line: Int32Array.from(roles.line),
      description: expandTexts(roles.description),
    },
    members: {
      role: expandCounts(members.perRole),
      member: Int32Array.from(members.member),
      file: Int32Array.from(members.file),
      line: Int32Array.from(members.line),
      windows: toWindows(members),
    },
    namespaces: {
      parent: Int32Array.from([-1, ...namespaces.up.map((up, index) => index + 1 - up)]),
      segment: Int32Array.from([-1, ...namespaces.segment]),
    },
    grants: {
      id: grants.id,
      principal: Int32Array.from(grants.principal),
      namespace: Int32Array.from(grants.namespace),
      scopes: makeScopeColumn(
        grants.scopes.map((number) => sets[number - FIRST_SET] ?? RECORD_SETS[number] ?? NO_SCOPES),
      ),
      inherit,
      notBefore,
      expires,
      file: Int32Array.from(grants.file),
      line: Int32Array.from(grants.line),
      reason: expandTexts(grants.reason),
    },
    vocabulary,
    exclusive: { first: Int32Array.from(exclusive?.first ?? []), second: Int32Array.from(exclusive?.second ?? []) },
  };
}

/** A member is a row of one of the two sparse columns, or of both. */
function toWindows({ notBefore, expires }: SnapshotBody['members']): WindowColumns | null {
  const [from, until] = [sparseMap(notBefore), sparseMap(expires)];
  const rows = Int32Array.from(new Set([...from.keys(), ...until.keys()])).sort();
  return windowColumns(
    Array.from(rows, (row) => ({
      row,
      ...windowOf({ notBefore: from.get(row) ?? null, expires: until.get(row) ?? null }),
    })),
  );
}

function sparseMap(sparse: SparseColumn | undefined): ReadonlyMap<number, number> {
  return new Map(toRows(sparse?.row ?? []).map((row, index) => [row, sparse?.at[index] ?? 0]));
}

function toRows(distances: readonly number[]): readonly number[] {
  let row = 0;
  return distances.map((distance) => (row += distance));
}

function expandCounts(counts: readonly number[]): Int32Array {
  const column = new Int32Array(total(counts));
  let at = 0;
  counts.forEach((count, key) => {
    column.fill(key, at, at + count);
    at += count;
  });
  return column;
}

function expandSparse(sparse: SparseColumn, count: number, otherwise: number): Float64Array {
  const column = new Float64Array(count).fill(otherwise);
  toRows(sparse.row).forEach((row, index) => {
    column[row] = sparse.at[index] ?? otherwise;
  });
  return column;
}

function expandTexts(texts: SparseTexts | undefined): TextColumn {
  return { row: Int32Array.from(toRows(texts?.row ?? [])), text: texts?.text ?? [] };
}
