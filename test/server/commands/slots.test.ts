// What the slots of a template demand of runs, on generated templates and runs: a create, a copy, a patch and a load all say what a plain
// reading of the documents says. And what a patch does not set is not judged.
import { beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { instantOf } from '../../../engine/index.js';
import { loadDataset } from '../../../server/load/load-dataset.js';
import type { DatasetText } from '../../../server/load/record-line.js';
import { type Answered, useCommandDoors } from '../../support/command-doors.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';

interface Slot {
  readonly name: string;
  readonly template: string | null;
  readonly required: boolean;
}

const NAMES = ['in', 'out', 'in.2'];
const KINDS = ['crystal', 'plate'];
type Used = Readonly<Record<string, string>>;

/** Kinds stand for the ids of templates, and of resources made from them; `none` is made from no template. */
const slotsOf = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...NAMES),
    template: fc.constantFrom(null, ...KINDS),
    required: fc.boolean(),
  }),
  { selector: ({ name }) => name, maxLength: 3 },
);
const used: fc.Arbitrary<Used> = fc.dictionary(
  fc.constantFrom(...NAMES, 'other', 'constructor'),
  fc.constantFrom('none', ...KINDS),
  { maxKeys: 4, noNullPrototype: true },
);

/** The pointers that are wrong, by the documents. */
function wrongIn(slots: readonly Slot[], uses: Used): readonly string[] {
  const wrong = [];
  for (const { name, template, required } of slots) {
    const kind = Object.entries(uses).find(([slot]) => slot === name)?.[1];
    if (kind === undefined ? required : template !== null && kind !== template) wrong.push(`/resources/${name}`);
  }
  return wrong;
}

describeOnStores('the slots of a run', (store) => {
  const actors = {
    ada: { '/': '*:*' },
    wes: { '/': '*:write resource:read' },
    kim: { '/': 'process-run:* resource:read' },
  };
  const { send, make } = useCommandDoors(store, actors);
  const ids = new Map<string, string>();
  const idOf = (name: string): string => ids.get(name) ?? '';
  const templateWith = (slots: readonly Slot[]): Promise<string> => {
    const stored = slots.map((slot) => ({ ...slot, template: slot.template === null ? null : idOf(slot.template) }));
    return make('process-templates', { namespace: '/a', name: 'p', version: '1', schema: {}, slots: stored });
  };
  const resources = (uses: Used): Used =>
    Object.fromEntries(Object.entries(uses).map(([slot, kind]) => [slot, idOf(`a ${kind}`)]));
  const wrongOf = ({ status, json }: Answered): readonly string[] | number =>
    json['code'] === 'record.invalid'
      ? (json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer)
      : status;
  const load = async (line: object, onlyTried: boolean): Promise<readonly string[]> => {
    async function* lines(): AsyncGenerator<readonly DatasetText[]> {
      yield [{ number: 1, bytes: Buffer.from(JSON.stringify(line)) }];
      await Promise.resolve();
    }
    const { faults } = await loadDataset(store.db, lines(), {
      onConflict: 'report',
      now: instantOf(Date.parse('2030-06-01T00:00:00Z')),
      ...(onlyTried ? { effect: 'tried' as const } : {}),
    });
    return faults.map(({ code, pointer }) => `${code} ${pointer}`);
  };

  beforeAll(async () => {
    await send('PUT /api/v1/namespaces/a', { body: {} });
    for (const kind of KINDS) {
      const body = { namespace: '/a', name: kind, version: '1', schema: {} };
      ids.set(kind, await make('resource-templates', body));
      ids.set(`a ${kind}`, await make('resources', { namespace: '/a', name: kind, template: idOf(kind) }));
    }
    ids.set('a none', await make('resources', { namespace: '/a', name: 'none' }));
  });

  it('have names that a body can have as keys', async () => {
    const body = { namespace: '/a', name: 'p', version: '1', schema: {} };
    const answers = await Promise.all(
      ['constructor', 'prototype', 'constructors'].map((name) =>
        send('POST /api/v1/process-templates', { body: { ...body, slots: [{ name, required: true }] } }),
      ),
    );
    const told = answers.map(({ status, json }) => [
      status,
      (json['errors'] as { pointer: string }[] | undefined)?.[0],
    ]);
    const refused = [400, expect.objectContaining({ pointer: '/slots/0/name', code: 'request.schema' })];
    expect(told).toEqual([refused, refused, [201, undefined]]);
  });

  it('are judged alike wherever a run gets its template or its resources', async () => {
    const tally = { right: 0, wrong: 0 };
    await fc.assert(
      fc.asyncProperty(slotsOf, used, used, async (slots, uses, before) => {
        // A body cannot have this key at all.
        const [now, then] = [uses, before].map(({ constructor: _never, ...rest }) => rest as Used);
        if (now === undefined || then === undefined) return;
        const template = await templateWith(slots);
        const wrong = wrongIn(slots, now);
        tally[wrong.length === 0 ? 'right' : 'wrong'] += 1;
        const run = { namespace: '/a', name: 'r' };
        const body = { ...run, template, resources: resources(now) };
        const created = await send('POST /api/v1/process-runs', { body });
        expect(wrongOf(created)).toEqual(wrong.length === 0 ? 201 : wrong);
        // The same resources first, and then the template; or both at once.
        for (const [held, patch] of [
          [now, { template }],
          [
            then,
            { template, resources: { ...Object.fromEntries(NAMES.map((name) => [name, null])), ...body.resources } },
          ],
        ] as const) {
          const old = await make('process-runs', { ...run, resources: resources(held) });
          const changed = await send(`PATCH /api/v1/process-runs/${old}`, { body: patch, ifMatch: 1 });
          expect(wrongOf(changed)).toEqual(wrong.length === 0 ? 200 : wrong);
        }
        const line = { family: 'process-run', ...body, name: template };
        const faults = wrong.slice(0, 1).map((pointer) => `record.invalid ${pointer}`);
        for (const tried of [true, false]) expect(await load(line, tried)).toEqual(faults);
        if (wrong.length > 0) return;
        const path = `process-runs/${String(created.json['id'])}`;
        expect((await send(`POST /api/v1/${path}/copies`, { body: { destination: '/a' } })).status).toBe(201);
        // A patch of single slots is judged as the run that it makes.
        const [slot = 'in', kind = 'none'] = Object.entries(then)[0] ?? [];
        for (const change of [{ [slot]: kind }, { [slot]: null }]) {
          const { [slot]: _left, ...rest } = now;
          const made = change[slot] === null ? rest : { ...now, [slot]: kind };
          const resource = change[slot] === null ? null : idOf(`a ${kind}`);
          const at = (await send(`GET /api/v1/${path}`)).header('etag');
          const sent = { body: { resources: { [slot]: resource } }, ...(at === undefined ? {} : { ifMatch: at }) };
          const wrongThen = wrongIn(slots, made);
          expect(wrongOf(await send(`PATCH /api/v1/${path}`, sent))).toEqual(wrongThen.length === 0 ? 200 : wrongThen);
          if (wrongThen.length === 0) break;
        }
      }),
      testRuns({ usual: 25, deep: 300 }),
    );
    expect(tally.right).toBeGreaterThan(2);
    expect(tally.wrong).toBeGreaterThan(2);
  });

  it('are not judged by what does not touch them, and a changed resource leaves runs as they are', async () => {
    const template = await templateWith([{ name: 'in', template: 'crystal', required: true }]);
    const crystal = await make('resources', { namespace: '/a', name: 'c', template: idOf('crystal') });
    const run = await make('process-runs', { namespace: '/a', template, resources: { in: crystal } });
    await send(`PATCH /api/v1/resources/${crystal}`, { body: { template: idOf('plate') }, ifMatch: 1 });
    const path = `PATCH /api/v1/process-runs/${run}`;
    expect((await send(path, { body: { state: 'running' }, ifMatch: 1 })).status).toBe(200);
    expect((await send(path, { body: { resources: { other: idOf('a none') } }, ifMatch: 2 })).status).toBe(200);
    const again = await send(path, { body: { resources: { in: crystal } }, ifMatch: 3 });
    expect(again.json['errors']).toEqual([
      {
        pointer: '/resources/in',
        code: 'record.invalid',
        message: 'must be a resource that is made from the template of this slot',
      },
    ]);
    const emptied = await send(path, { body: { resources: { in: null } }, ifMatch: 3 });
    expect(emptied.json['errors']).toEqual([
      { pointer: '/resources/in', code: 'record.invalid', message: 'is required by the template' },
    ]);
  });

  it('are reported together with the parameters, and not to whoever may not read the template', async () => {
    const template = await make('process-templates', {
      namespace: '/a',
      name: 'p',
      version: '1',
      schema: { required: ['energy'] },
      slots: [{ name: 'in', template: idOf('crystal'), required: true }],
    });
    const refused = await send('POST /api/v1/process-runs', { body: { namespace: '/a', template } });
    expect(wrongOf(refused)).toEqual(['/parameters/energy', '/resources/in']);
    const body = { namespace: '/a', template, parameters: { energy: 1 }, resources: { in: idOf('a crystal') } };
    const run = await make('process-runs', body);
    const patch = (actor: string): Promise<Answered> =>
      send(`PATCH /api/v1/process-runs/${run}`, { body: { resources: { in: idOf('a plate') } }, ifMatch: 1 }, actor);
    for (const actor of ['wes', 'kim']) {
      const { status, json } = await patch(actor);
      expect([status, json['code'], json['errors']]).toEqual([422, 'record.invalid', undefined]);
    }
    expect(wrongOf(await patch('ada'))).toEqual(['/resources/in']);
  });
});
