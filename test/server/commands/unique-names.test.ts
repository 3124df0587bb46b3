// Names that are unique in a namespace: what every command says about a name that is taken, held against a model that
// knows nothing of the store; who may give such a name; and what the store makes of many writers at once.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';

const WRITERS = 32;
const PLACES = ['/a', '/a/b'] as const;
const NAMES = ['x', 'y', 'z'] as const;

interface Kept {
  readonly id: string;
  place: string;
  name: string;
  /** Whether the name must be unique. */
  unique: boolean;
  archived: boolean;
  revision: number;
}

type Step =
  | { readonly does: 'create' | 'put'; readonly place: string; readonly name: string; readonly unique: boolean }
  | { readonly does: 'rename'; readonly which: number; readonly name: string }
  | { readonly does: 'template'; readonly which: number; readonly unique: boolean }
  | { readonly does: 'both'; readonly which: number; readonly unique: boolean; readonly name: string }
  | { readonly does: 'copy' | 'move'; readonly which: number; readonly place: string }
  | { readonly does: 'archive' | 'restore'; readonly which: number };

const place = fc.constantFrom(...PLACES);
const name = fc.constantFrom(...NAMES);
const which = fc.nat(7);
const unique = fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constantFrom('create', 'put'), place, name, unique }),
  fc.record({ does: fc.constant('rename'), which, name }),
  fc.record({ does: fc.constant('template'), which, unique }),
  fc.record({ does: fc.constant('both'), which, unique, name }),
  fc.record({ does: fc.constantFrom('copy', 'move'), which, place }),
  fc.record({ does: fc.constantFrom('archive', 'restore'), which }),
);

const holderOf = (kept: readonly Kept[], at: Pick<Kept, 'place' | 'name'>): Kept | undefined =>
  kept.find((one) => one.unique && !one.archived && one.place === at.place && one.name === at.name);

describeOnStores('unique names', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    // Writes resources that it may not read, and reads the templates.
    wes: { '/': '*:write resource-template:read process-template:read' },
    // As wes, and reads what is in /a alone.
    amy: { '/': '*:write resource-template:read', '/a': 'resource:read' },
    // Reads resources, and no templates.
    dim: { '/': 'resource:*' },
  };
  const { send, make } = useCommandDoors(store, actors);
  let [asking, other, plain] = ['', '', ''];
  let runs = '';
  const told = ({ status, json }: Answered): string =>
    typeof json['code'] === 'string' ? `${String(status)} ${json['code']}` : String(status);
  const byName = (at: { readonly place: string; readonly name: string }): string =>
    `PUT /api/v1/resources/by-name?namespace=${encodeURIComponent(at.place)}&name=${encodeURIComponent(at.name)}`;

  beforeAll(async () => {
    for (const path of PLACES) await send(`PUT /api/v1/namespaces${path}`, { body: {} });
    const template = { namespace: '/', name: 't', version: '1', schema: { properties: { n: { type: 'number' } } } };
    asking = await make('resource-templates', { ...template, uniqueName: true });
    const version = await send(`POST /api/v1/resource-templates/${asking}/versions`, { body: { version: '2' } });
    expect(version.json).toMatchObject({ uniqueName: true, version: '2' });
    other = String(version.json['id']);
    plain = await make('resource-templates', template);
    runs = await make('process-templates', { ...template, slots: [], uniqueName: true });
  });
  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM records WHERE family IN (2, 4)');
  });
  /** Does the step, and says what the model expects. */
  async function take(kept: Kept[], one: Step, templates: readonly string[]): Promise<readonly [string, string]> {
    const templateOf = (isUnique: boolean): string => (isUnique ? (templates[kept.length % 2] ?? '') : plain);
    if (!('which' in one)) {
      const template = templateOf(one.unique);
      const holder = holderOf(kept, one);
      if (one.does === 'create') {
        const body = { namespace: one.place, name: one.name, template };
        const answer = await send('POST /api/v1/resources', { body });
        const expected = one.unique && holder !== undefined ? '409 record.name_taken' : '201';
        if (answer.status === 201) kept.push({ ...one, id: String(answer.json['id']), archived: false, revision: 1 });
        return [told(answer), expected];
      }
      const answer = await send(byName(one), { body: { template, description: String(kept.length) } });
      if (!one.unique) return [told(answer), '422 record.invalid'];
      if (holder === undefined) {
        if (answer.status === 201) kept.push({ ...one, id: String(answer.json['id']), archived: false, revision: 1 });
        return [told(answer), '201'];
      }
      if (answer.status === 200) holder.revision = Number(answer.json['revision']);
      return [`${told(answer)} ${String(answer.json['id'])}`, `200 ${holder.id}`];
    }
    const record = kept[one.which];
    if (record === undefined) return ['', ''];
    const path = `/api/v1/resources/${record.id}`;
    const after: Kept = { ...record };
    if ('name' in one) after.name = one.name;
    if ('unique' in one) after.unique = one.unique;
    if (one.does === 'move' || one.does === 'copy') after.place = one.place;
    if (one.does === 'archive') after.archived = true;
    if (one.does === 'restore') after.archived = false;
    const answer =
      one.does === 'rename' || one.does === 'template' || one.does === 'both'
        ? await send(`PATCH ${path}`, {
            ifMatch: record.revision,
            body: {
              ...('name' in one ? { name: one.name } : {}),
              ...('unique' in one ? { template: templateOf(one.unique) } : {}),
            },
          })
        : one.does === 'copy'
          ? await send(`POST ${path}/copies`, { body: { destination: one.place } })
          : await send(`POST ${path}/${one.does}`, {
              ifMatch: record.revision,
              ...(one.does === 'move' ? { body: { namespace: one.place } } : {}),
            });
    const holder = holderOf(kept, after);
    const isTaken =
      after.unique && !after.archived && holder !== undefined && (one.does === 'copy' || holder !== record);
    const expected =
      record.archived && one.does !== 'restore' ? '409 record.archived' : isTaken ? '409 record.name_taken' : 'done';
    if (answer.status === 201) kept.push({ ...after, id: String(answer.json['id']), revision: 1 });
    if (answer.status === 200) Object.assign(record, { ...after, revision: Number(answer.json['revision']) });
    return [answer.status < 300 ? 'done' : told(answer), expected];
  }

  it('are refused by every command exactly if another record has the name', async () => {
    let taken = 0;
    let total = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40, size: 'max' }), async (steps) => {
        await store.db.knex.raw('DELETE FROM records WHERE family IN (2, 4)');
        const kept: Kept[] = [];
        for (const [index, one] of steps.entries()) {
          const [got, expected] = await take(kept, one, [asking, other]);
          expect([index, one, got]).toEqual([index, one, expected]);
          taken += expected.endsWith('name_taken') ? 1 : 0;
          total += 1;
        }
        const active = kept.filter((each) => each.unique && !each.archived).map((each) => `${each.place} ${each.name}`);
        expect(new Set(active).size).toBe(active.length);
      }),
      testRuns(store.name === 'postgres' ? { usual: 12, deep: 200 } : { usual: 4, deep: 60 }),
    );
    expect(taken).toBeGreaterThan(0.03 * total);
  });

  it('make one record of many puts at once, and one of many creates', async () => {
    const at = { place: '/a', name: 'one' };
    const puts = await Promise.all(
      Array.from({ length: WRITERS }, (_, n) => send(byName(at), { body: { template: asking, properties: { n } } })),
    );
    expect(puts.map(told).sort()).toEqual([...Array<string>(WRITERS - 1).fill('200'), '201']);
    expect(new Set(puts.map(({ json }) => json['id'])).size).toBe(1);
    expect(puts.map(({ json }) => Number(json['revision'])).sort((a, b) => a - b)).toEqual(
      Array.from({ length: WRITERS }, (_, n) => n + 1),
    );
    const same = await Promise.all(
      Array.from({ length: WRITERS }, () => send(byName({ ...at, name: 'same' }), { body: { template: asking } })),
    );
    expect(same.map(({ json }) => json['revision'])).toEqual(Array<number>(WRITERS).fill(1));
    const body = { namespace: '/a', name: 'two', template: asking };
    const creates = await Promise.all(Array.from({ length: WRITERS }, () => send('POST /api/v1/resources', { body })));
    expect(creates.map(told).sort()).toEqual(['201', ...Array<string>(WRITERS - 1).fill('409 record.name_taken')]);
    const { rows } = await store.db.knex.raw<{ rows: readonly { name: string }[] }>(
      'SELECT name FROM records WHERE family = 2 ORDER BY name',
    );
    expect(rows.map((row) => row.name)).toEqual(['one', 'same', 'two']);
  });

  it('are only given by who may read there, and others learn nothing of who has them', async () => {
    const body = { namespace: '/a', name: 'x', template: asking };
    const own = await make('resources', { ...body, name: 'own', namespace: '/a/b' });
    const free = [
      await send('POST /api/v1/resources', { body }, 'wes'),
      await send(byName({ place: '/a', name: 'x' }), { body: { template: asking } }, 'wes'),
      await send(`PATCH /api/v1/resources/${own}`, { body: { name: 'x' }, ifMatch: 1 }, 'wes'),
    ];
    for (const namespace of PLACES) await make('resources', { ...body, namespace });
    const busy = [
      await send('POST /api/v1/resources', { body }, 'wes'),
      await send(byName({ place: '/a', name: 'x' }), { body: { template: asking } }, 'wes'),
      await send(`PATCH /api/v1/resources/${own}`, { body: { name: 'x' }, ifMatch: 1 }, 'wes'),
    ];
    expect(free.map(told)).toEqual(Array<string>(3).fill('403 authz.denied'));
    expect(busy.map(({ text }) => text)).toEqual(free.map(({ text }) => text));
    // A name that need not be unique is given as before.
    expect(told(await send('POST /api/v1/resources', { body: { ...body, template: plain } }, 'wes'))).toBe('201');
    // A grant at /a reaches what is below it.
    expect(told(await send(`PATCH /api/v1/resources/${own}`, { body: { name: 'x' }, ifMatch: 1 }, 'amy'))).toBe(
      '409 record.name_taken',
    );
    expect(told(await send('POST /api/v1/resources', { body: { ...body, namespace: '/' } }, 'amy'))).toBe(
      '403 authz.denied',
    );
  });

  it('say nothing about a template that may not be read', async () => {
    const body = { namespace: '/a', name: 'x' };
    await make('resources', { ...body, template: asking });
    const answers = await Promise.all(
      [asking, plain, '01900000-0000-7000-8000-00000000dead'].map((template) =>
        send('POST /api/v1/resources', { body: { ...body, template } }, 'dim'),
      ),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(told)).toEqual(Array<string>(3).fill('422 reference.not_found'));
    expect(told(await send(byName({ place: '/a', name: 'x' }), { body: { template: plain } }, 'dim'))).toBe(
      '422 reference.not_found',
    );
  });

  it('are of runs, too, unless a run has none', async () => {
    const body = { namespace: '/a', name: 'x', template: runs };
    await make('process-runs', body);
    expect(told(await send('POST /api/v1/process-runs', { body }))).toBe('409 record.name_taken');
    for (const nameless of [null, null]) await make('process-runs', { ...body, name: nameless });
    // Resources and runs do not share names.
    await make('resources', { ...body, template: asking });
  });

  it('are kept in batches, which may put by name', async () => {
    const put = (body: object, more: object = {}): object => ({
      ...{ method: 'PUT', path: '/api/v1/resources/by-name?namespace=/a&name=x', body: { template: asking, ...body } },
      ...more,
    });
    const create = {
      method: 'POST',
      path: '/api/v1/resources',
      body: { namespace: '/a', name: 'x', template: asking },
    };
    const twice = await send('POST /api/v1/batch', { body: { commands: [create, put({ description: 'b' }), create] } });
    expect(twice.json).toMatchObject({
      code: 'record.name_taken',
      command: 2,
      errors: [{ pointer: '/commands/2/body/name' }],
    });
    const done = await send('POST /api/v1/batch', {
      body: { commands: [create, put({ description: 'b' }, { ifMatch: '"1"' })] },
    });
    expect(done.json['results']).toMatchObject([{ status: 201 }, { status: 200, etag: '"2"' }]);
    const stale = await send('POST /api/v1/batch', { body: { commands: [put({}, { ifMatch: '"1"' })] } });
    expect(told(stale)).toBe('412 record.precondition');
    expect(told(await send('POST /api/v1/batch', { body: { commands: [put({}, { as: 'r' })] } }))).toBe(
      '400 request.schema',
    );
    const onlyNew = { ifNoneMatch: '*' };
    const there = await send('POST /api/v1/batch', { body: { commands: [put({}, onlyNew)] } });
    expect(there.json).toMatchObject({ code: 'record.precondition', command: 0 });
    const elsewhere = { path: '/api/v1/resources/by-name?namespace=/a/b&name=x', ...onlyNew };
    const fresh = await send('POST /api/v1/batch', { body: { commands: [put({}, elsewhere)] } });
    expect(fresh.json['results']).toMatchObject([{ status: 201 }]);
    const misplaced = await send('POST /api/v1/batch', { body: { commands: [{ ...create, ...onlyNew }] } });
    expect(misplaced.json).toMatchObject({
      code: 'request.schema',
      errors: [{ pointer: '/commands/0/ifNoneMatch' }],
    });
    // A condition that would be ignored is refused.
    const conditional = { ...create, ifMatch: '"1"' };
    const ignored = await send('POST /api/v1/batch', { body: { commands: [create, conditional] } });
    expect(ignored.json).toMatchObject({
      code: 'request.schema',
      command: 1,
      errors: [
        {
          pointer: '/commands/1/ifMatch',
          code: 'request.schema',
          message: 'is only for commands that change an existing record, and this one takes no condition',
        },
      ],
    });
    const starred = await send('POST /api/v1/batch', { body: { commands: [create, put({}, { ifMatch: '*' })] } });
    expect(starred.json).toMatchObject({ code: 'request.schema', errors: [{ pointer: '/commands/1/ifMatch' }] });
  });

  it('put by name under conditions, and once for each key', async () => {
    const at = byName({ place: '/a', name: 'a b/ä' });
    const body = { template: asking, properties: { n: 1 } };
    const why = ({ json }: Answered): unknown => [json['code'], json['title']];
    const nobody = await send(at, { body, ifMatch: 1 });
    expect(why(nobody)).toEqual(['record.precondition', 'No resource has this name']);
    const made = await send(at, { body, headers: { 'if-none-match': '*' }, key: 'k' });
    expect(made.json).toMatchObject({ name: 'a b/ä', properties: { n: 1 }, revision: 1 });
    expect([made.header('location'), made.header('etag')]).toEqual([
      `/api/v1/resources/${String(made.json['id'])}`,
      '"1"',
    ]);
    const again = await send(at, { body, headers: { 'if-none-match': '*' }, key: 'k' });
    expect([again.status, again.text, again.header('idempotency-replayed')]).toEqual([201, made.text, 'true']);
    expect(told(await send(at, { body: { ...body, properties: {} }, key: 'k' }))).toBe('422 idempotency.key_reused');
    // What a key's request required is a part of it: an answer under other conditions would say that these were met.
    for (const sending of [{}, { ifMatch: 1 }])
      expect(told(await send(at, { body, key: 'k', ...sending }))).toBe('422 idempotency.key_reused');
    expect(told(await send(at, { body, key: 'k', ifMatch: 2 }))).toBe('412 record.precondition');
    // The key of another name is another key.
    expect(told(await send(byName({ place: '/a', name: 'other' }), { body, key: 'k' }))).toBe('201');
    const taken = await send(at, { body, headers: { 'if-none-match': '*' } });
    expect(why(taken)).toEqual(['record.precondition', 'A resource has this name already']);
    const stale = await send(at, { body, ifMatch: 2 });
    expect(why(stale)).toEqual(['record.precondition', 'The record has changed since you read it']);
    expect((await send(at, { body, ifMatch: 1 })).json).toMatchObject({ revision: 1 });
    // What the request does not state is gone.
    expect((await send(at, { body: { template: other }, ifMatch: 1 })).json).toMatchObject({
      properties: {},
      template: other,
      revision: 2,
    });
    expect(told(await send(at, { body: { template: asking, properties: { n: 'x' } } }))).toBe('422 record.invalid');
  });

  it.each([
    ['namespace=/a', 'request.schema'],
    ['name=x', 'request.schema'],
    ['namespace=/a&name=', 'request.schema'],
    ['namespace=/a&name=%00', 'request.schema'],
    ['namespace=a//b&name=x', 'namespace.invalid'],
    ['a name of more than 1,024 bytes', 'request.schema'],
    ['namespace=/a&name=x&name=y', 'request.schema'],
  ])('refuse the query %s', async (query, code) => {
    const sent = query.startsWith('a name') ? `namespace=/a&name=${encodeURIComponent('ä'.repeat(600))}` : query;
    const answer = await send(`PUT /api/v1/resources/by-name?${sent}`, { body: { template: asking } });
    expect(told(answer)).toBe(`400 ${code}`);
  });

  it('need a namespace that exists', async () => {
    expect(told(await send(byName({ place: '/none', name: 'x' }), { body: { template: asking } }))).toBe(
      '404 namespace.not_found',
    );
  });

  it('are put by many batches at once, in any order', async () => {
    const names = Array.from({ length: 6 }, (_, n) => `n${String(n)}`);
    const batches = Array.from({ length: 8 }, (_, n) => {
      const order = n % 2 === 0 ? names : [...names].reverse();
      const commands = order.map((one) => ({
        method: 'PUT',
        path: `/api/v1/resources/by-name?namespace=/a&name=${one}`,
        body: { template: asking, properties: { n } },
      }));
      return send('POST /api/v1/batch', { body: { commands } });
    });
    const began = performance.now();
    const answers = await Promise.all(batches);
    expect(answers.map(told)).toEqual(batches.map(() => '200'));
    // A store that has to end deadlocks takes a second for each.
    expect(performance.now() - began).toBeLessThan(5_000);
    const page = await send('POST /api/v1/query', {
      body: { family: 'resource', namespace: '/a', reach: 'exact', where: { name: { startsWith: 'n' } } },
    });
    const items = page.json['items'] as readonly { readonly properties: { readonly n: number } }[];
    expect(items).toHaveLength(names.length);
    expect(new Set(items.map(({ properties }) => properties.n)).size).toBe(1);
  });
});
