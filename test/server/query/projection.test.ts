// Records as JSON texts of the server's making: exactly the fields, formats and selected parts that the API shows, for any JSON
// that can be stored and any name that can be asked for; and pages that are put together of several texts.
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../../../server/db/database.js';
import { parseQuery } from '../../support/parse-query.js';
import { projectionOf, recordJson } from '../../../server/query/projection.js';
import { listPage } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';

const cursors = { secret: new Uint8Array(32).fill(7), actorId: 'test', visibility: 'v' };
const predicate = rowPredicate({ kind: 'all' });

interface Asked {
  readonly family: string;
  readonly select?: readonly string[];
  readonly size?: number;
  readonly after?: string | null;
}

async function list(db: Database, { family, select, size = 5, after = null }: Asked): ReturnType<typeof listPage> {
  const body = { family, namespace: '/', page: { size, after }, includeArchived: true };
  const plan = parseQuery(select === undefined ? body : { ...body, select }, 'query');
  return listPage(db, { predicate, plan, cursors });
}

/** A number by its text; `jsonb` keeps the digits and writes them out. */
interface Exact {
  readonly number: string;
}

type Tree = string | boolean | null | Exact | readonly Tree[] | ReadonlyMap<string, Tree>;

const isObject = (tree: Tree): tree is ReadonlyMap<string, Tree> => tree instanceof Map;

/** What is stored, as text. */
function written(tree: Tree): string {
  if (isObject(tree)) return `{${[...tree].map(([key, value]) => `${JSON.stringify(key)}:${written(value)}`).join()}}`;
  if (Array.isArray(tree)) return `[${tree.map(written).join()}]`;
  return typeof tree === 'object' && tree !== null && 'number' in tree ? tree.number : JSON.stringify(tree);
}

/** Slow and plain: the parts of a tree at the ends of these paths; undefined if there are none. */
function picked(tree: Tree, paths: readonly (readonly string[])[]): Tree | undefined {
  if (paths.some((path) => path.length === 0)) return tree;
  if (!isObject(tree)) return undefined;
  const part = new Map<string, Tree>();
  for (const [key, value] of tree) {
    const below = paths.filter(([head]) => head === key).map((path) => path.slice(1));
    const member = below.length === 0 ? undefined : picked(value, below);
    if (member !== undefined) part.set(key, member);
  }
  return part.size === 0 ? undefined : part;
}

/** A JSON text with its numbers as texts, so that no double rounds them, and its members in the order of their names. */
function exactly(json: string): unknown {
  const marked = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"number ${token}"`,
  );
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return { members: members.map(([key, member]) => [key, sorted(member)]) };
  };
  return sorted(JSON.parse(marked));
}

const KEYS = ['a', 'b', '0', '10', '__proto__', 'constructor', '"', '\\', '?', '$1', "'", '😀', '\u2028', '\t', ' '];
const NUMBERS = [
  '0',
  '1.0',
  '-1.50',
  '12345678901234567890',
  '0.1000000000000000055511151231257827',
  '5e-324',
  '1e400',
];
const WRITTEN_OUT = new Map([
  ['5e-324', `0.${'0'.repeat(323)}5`],
  ['1e400', `1${'0'.repeat(400)}`],
]);

/** What is stored and the paths that are asked for, over a few of the names, so that they meet. */
const question = fc.shuffledSubarray(KEYS, { minLength: 2, maxLength: 4 }).chain((names) => {
  const key = fc.constantFrom(...names);
  const { object } = fc.letrec<{ tree: Tree; object: ReadonlyMap<string, Tree> }>((tie) => ({
    object: fc.uniqueArray(fc.tuple(key, tie('tree')), { selector: ([name]) => name, maxLength: 4 }).map(toMap),
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom<Tree>('', '"', '\\u0000', '</script>', '\n', 'é', true, false, null),
      fc.constantFrom(...NUMBERS).map((number) => ({ number })),
      tie('object'),
      fc.array(tie('tree'), { maxLength: 3 }),
      tie('object'),
    ),
  }));
  const paths = fc.array(fc.array(key, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
  return fc.record({ stored: object, wanted: paths });
});

function toMap(members: readonly (readonly [string, Tree])[]): ReadonlyMap<string, Tree> {
  return new Map(members);
}

/** As the server writes what was stored. */
function writtenOut(tree: Tree): Tree {
  if (isObject(tree)) return new Map([...tree].map(([name, value]) => [name, writtenOut(value)]));
  if (Array.isArray(tree)) return tree.map(writtenOut);
  if (typeof tree !== 'object' || tree === null || !('number' in tree)) return tree;
  return { number: WRITTEN_OUT.get(tree.number) ?? tree.number };
}

const ID = '01900000-0000-7000-8000-000000000001';

describeOnStores('records as JSON', (store) => {
  beforeAll(async () => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
          VALUES (?, 2, '/a/', 'x', '{}', 3, '2030-01-02T03:04:05.006Z', '2031-01-01T00:00:00+01:00', 'me "too"')`,
      [ID],
    );
  });

  it('show the parts that are selected of whatever is stored, with every digit', async () => {
    let shown = 0;
    await fc.assert(
      fc.asyncProperty(question, async ({ stored, wanted }) => {
        await store.db.knex.raw('UPDATE records SET properties = ?::jsonb WHERE id = ?', [written(stored), ID]);
        const names = wanted.map((path) => ['properties', ...path].join('.'));
        const { items } = await list(store.db, { family: 'resource', select: names });
        const part = picked(writtenOut(stored), wanted);
        expect(exactly(items)).toEqual(exactly(`[{"properties":${part === undefined ? '{}' : written(part)}}]`));
        const whole = await list(store.db, { family: 'resource', select: [...names, 'properties'] });
        expect(exactly(whole.items)).toEqual(exactly(`[{"properties":${written(writtenOut(stored))}}]`));
        shown += part === undefined ? 0 : 1;
      }),
      testRuns(60),
    );
    expect(shown).toBeGreaterThan(15);
  });

  it('have the fields of their family in one order, null where they lack one, and one form for each type', async () => {
    await store.db.knex.raw(`UPDATE records SET properties = '{"n": 1.0, "t": "é\\u2028"}' WHERE id = ?`, [ID]);
    expect((await list(store.db, { family: 'resource' })).items).toBe(
      `[{"id":"${ID}","family":"resource","namespace":"/a","name":"x","description":null,` +
        `"properties":{"n": 1.0, "t": "é\u2028"},"template":null,"copiedFrom":null,"revision":3,` +
        `"createdAt":"2030-01-02T03:04:05.006Z","updatedAt":"2030-12-31T23:00:00.000Z","createdBy":"me \\"too\\"",` +
        `"archivedAt":null}]`,
    );
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, description, properties, version, schema, slots, template, copied_from,
            parameters, resources, state, revision, created_at, updated_at, archived_at, created_by)
          SELECT ('ff' || substr(md5(family::text), 3))::uuid, family, '/b/', E'a"\\\\\\n\\x01', '', '{}', '1', '{"type": "object"}', '[]', ?::uuid,
            ?::uuid, '{"p": null}', '{"slot": "x"}', 'pending', 1, '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z',
            '2030-01-01T00:00:00Z', 'x' FROM unnest(ARRAY[0, 1, 3, 4]) AS family`,
      [ID, ID],
    );
    const own = new Map([
      ['namespace', ''],
      ['resource-template', '"version":"1","schema":{"type": "object"},"uniqueName":false,'],
      ['process-template', '"version":"1","schema":{"type": "object"},"uniqueName":false,"slots":[],'],
      ['process-run', `"template":"${ID}","parameters":{"p": null},"resources":{"slot": "x"},"state":"pending",`],
    ]);
    for (const [family, members] of own) {
      const { items } = await list(store.db, { family });
      // The root's record is there too.
      const [last] = /\{"id":"[^"]*","family":"[^"]*","namespace":"\/b".*(?=\]$)/.exec(items) ?? [];
      expect(last?.replace(/^\{"id":"[0-9a-f-]{36}",/, '{')).toBe(
        `{"family":"${family}","namespace":"/b","name":"a\\"\\\\\\n\\u0001","description":"","properties":{},${members}` +
          `"revision":1,"createdAt":"0001-01-01T00:00:00.000Z","updatedAt":"9999-12-31T23:59:59.999Z","createdBy":"x",` +
          `"archivedAt":"2030-01-01T00:00:00.000Z"}`,
      );
    }
    expect((await list(store.db, { family: 'namespace', select: ['namespace'] })).items).toContain('{"namespace":"/"}');
    expect((await list(store.db, { family: 'resource', select: [] })).items).toBe('[{}]');
  });

  it('are in order and complete where a page is put together of several texts', async () => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
          SELECT ('02900000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 2, '/c/', 'y', '{}', 1, now(), now(), 'x'
          FROM generate_series(1, ?::int) AS i`,
      [300],
    );
    for (const size of [63, 64, 65, 127, 128, 129, 300, 301, 500]) {
      const ids: string[] = [];
      let after: string | null = null;
      do {
        const page: { readonly items: string; readonly next: string | null } = await list(store.db, {
          family: 'resource',
          select: ['id'],
          size,
          after,
        });
        const items = JSON.parse(page.items) as readonly { readonly id: string }[];
        expect(items.length).toBe(page.next === null ? 301 - ids.length : size);
        ids.push(...items.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      expect(ids).toEqual([...new Set(ids)].sort());
      expect(ids.length).toBe(301);
    }
  });
});

describe('the statement of a record', () => {
  it('has the names that are asked for in its bindings alone', () => {
    const field = { kind: 'property', root: 'properties', path: ["q'?$1", '"x"'] } as const;
    const { text, bindings } = recordJson('resource', projectionOf([field]));
    expect(text).not.toMatch(/q'|x"/);
    expect(bindings).toEqual([`"q'?$1"`, `"\\"x\\""`, "q'?$1", '"x"']);
  });
});
