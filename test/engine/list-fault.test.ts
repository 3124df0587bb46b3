// Files with a right seal that no program can parse, or only with all of its memory. Each is refused before it is parsed,
// and nothing of a policy within the limits is.
import { describe, expect, it, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { ENGINE_LIMITS } from '../../engine/limits.js';
import { type FieldTable, isField, SNAPSHOT_FIELDS } from '../../engine/snapshot/document.js';
import { listFault } from '../../engine/snapshot/list-fault.js';
import { fromRoot } from '../support/root.js';

/** Where the lists of a file are, with the names above them. */
function listsOf(table: FieldTable, path: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(table).flatMap(([key, entry]) => {
    if (!isField(entry)) return listsOf(entry, [...path, key]);
    return ['texts', 'counts', 'instants'].includes(entry.holds) ? [[...path, key]] : [];
  });
}

const LISTS = listsOf(SNAPSHOT_FIELDS.snapshot);

function bodyWith(path: readonly string[], list: string): Uint8Array {
  const start = path.map((key) => `{"${key}":`).join('');
  return new TextEncoder().encode(`${start}${list}${'}'.repeat(path.length)}`);
}

/** What one list of so many entries is refused with; null if it is not. */
function faultOf(path: readonly string[], entries: number, limits = ENGINE_LIMITS): string | null {
  const list = `[${Array.from({ length: entries }, (_, i) => (i % 2 === 0 ? '"a,\\"]"' : '0')).join()}]`;
  return listFault(bodyWith(path, list), limits)?.code ?? null;
}

describe('the lists of a file', () => {
  // Any two of these limits differ, and so do their sums.
  const FEW = { exclusive: 1, providers: 2, grants: 5, roles: 11, members: 23, namespaces: 47, scopes: 95 };
  const limits = { ...ENGINE_LIMITS, ...FEW };
  const most: Readonly<Record<string, number>> = {
    ...{ exclusive: 1, families: 100, files: 39, grants: 5, identities: 34, members: 34, namespaces: 47 },
    ...{ providers: 4, roles: 11, segments: 47 },
  };

  test.each(LISTS.map((path) => [path.join('.'), path] as const))('%s has as many entries as may be', (_, path) => {
    const allowed = path.at(-1) === 'own' ? 5 * 95 : (most[path[0] ?? ''] ?? 0);
    expect(allowed).toBeGreaterThan(0);
    expect([faultOf(path, allowed, limits), faultOf(path, allowed + 1, limits)]).toEqual([null, 'snapshot.limit']);
  });

  it('are told with the part of the file and the number', () => {
    const zeros = `[${'0,'.repeat(5)}0]`;
    expect(listFault(bodyWith(['grants', 'expires', 'row'], zeros), limits)?.message).toBe(
      'the file has more than 5 entries in a list of `grants`, which no policy within the limits has',
    );
    // Names that the format does not have are not shown.
    expect(listFault(bodyWith(['\u001b', 'row'], zeros), limits)?.message).toMatch(
      /^the file has more than 5 entries in a list, /,
    );
    expect(listFault(bodyWith(['constructor', 'row'], zeros), limits)?.code).toBe('snapshot.limit');
  });

  it('have so many texts together', () => {
    // Three lists of families, two of grants and of roles, and one of files, identities, providers and segments.
    const allowed = 3 * 100 + 2 * 5 + 2 * 11 + 39 + 34 + 4 + 47;
    const file = (texts: number): Uint8Array =>
      bodyWith(['roles'], `{${Array.from({ length: texts }, () => '"a":["b"]').join()}}`);
    expect(listFault(file(allowed), limits)).toBeNull();
    expect(listFault(file(allowed + 1), limits)?.message).toBe(
      `the file has more than ${String(allowed)} texts in its lists, which no policy within the limits has`,
    );
  });

  it('have room in memory at their limits', () => {
    // V8 has no list of more entries.
    expect(ENGINE_LIMITS.grants * ENGINE_LIMITS.scopes).toBeLessThan(2 ** 27 - 2);
    expect(LISTS.length).toBeGreaterThan(40);
  });

  test.each<[string, string]>([
    ['a list', '{"grants":{"id":[[]]}}'],
    ['an object', '{"grants":{"id":[{}]}}'],
    ['an exponent', '{"grants":{"line":[1e9]}}'],
    ['a large exponent', '{"grants":{"line":[1E9]}}'],
    ['a word', '{"grants":{"line":[true]}}'],
    ['too many names', `{${'"a":0,'.repeat(1_001)}"b":0}`],
    ['too many names, far from their colons', `{${'"a" :0,'.repeat(1_001)}"b":0}`],
  ])('hold texts and integers: not %s', (_, text) => {
    expect(listFault(new TextEncoder().encode(text), ENGINE_LIMITS)?.code).toBe('snapshot.shape');
  });

  test.each<[string, string]>([
    ['names', `{${'"a":0,'.repeat(999)}"b":0}`],
    ['brackets and colons in a text', '{"grants":{"id":["[{:","\\\\","]"],"line":[-1,2]}}'],
    ['no JSON at all', '}}]]":'],
    ['a text without end', '{"a":["\\'],
    ['a list without end', '{"a":[0,0'],
    ['nothing', ''],
  ])('may stand beside %s', (_, text) => {
    expect(listFault(new TextEncoder().encode(text), ENGINE_LIMITS)).toBeNull();
  });
});

// In a process of its own, because one that is not refused ends with it.
describe('a file of full size is refused, and ends nothing', () => {
  const opens = `
    const [, , door, kind] = process.argv;
    const { createHash } = await import('node:crypto');
    const { loadSnapshot } = await import(door);
    const MIB = 1024 * 1024;
    const bodies = {
      'a long list': () => ['{"grants":{"id":[', '0,', 268 * MIB, '0]}}'],
      'short texts': () => ['{"a":[', '"a",'.repeat(60_000) + '"a"],"a":[', 399 * MIB, '0]}'],
      'lists beside lists': () => ['"aaaaaaaaaaaaaaaa"', '[]', 399 * MIB, ''],
      'lists in lists': () => ['', '[', 399 * MIB, ''],
      'scopes of sets': () => ['{"families":{"sets":{"own":[', '0,', 268 * MIB, '0]}}}'],
      'sets': () => ['{"families":{"sets":{"perSet":[', '1,', 190 * MIB, '1]}}}'],
      'times that grow when they are written': () => ['{"grants":{"expires":{"at":[', '9e15,', 399 * MIB, '0]}}}'],
    };
    const [before, unit, bytes, after] = bodies[kind]();
    const under = Buffer.concat([Buffer.from(before), Buffer.alloc(bytes - (bytes % unit.length), unit), Buffer.from(after)]);
    const seal = createHash('sha256').update(under).digest('hex');
    const file = Buffer.concat([Buffer.from('{"seal":"sha256:' + seal + '","snapshot":'), under, Buffer.from('}')]);
    const loaded = loadSnapshot(file);
    console.log(loaded.ok ? 'taken' : loaded.fault.code);`;

  test.each<[string, string]>([
    ['a long list', 'snapshot.limit'],
    ['short texts', 'snapshot.limit'],
    ['lists beside lists', 'snapshot.shape'],
    ['lists in lists', 'snapshot.shape'],
    ['scopes of sets', 'snapshot.limit'],
    ['sets', 'snapshot.limit'],
    ['times that grow when they are written', 'snapshot.shape'],
  ])('%s', (kind, expected) => {
    const door = pathToFileURL(fromRoot('dist/engine/index.js')).href;
    const flags = ['--max-old-space-size=1000', '--input-type=module'];
    const { stdout, status } = spawnSync(process.execPath, [...flags, '-e', opens, 'x', door, kind], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect([status, stdout.trim()]).toEqual([0, expected]);
  });
});
