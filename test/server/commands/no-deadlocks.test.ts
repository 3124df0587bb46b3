// Commands of all kinds on the same few records and names, many at once, as single requests and in batches: whatever they
// lock, no two wait for each other in a circle, so the store never has to end a deadlock.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { deadlocksOf } from '../../support/deadlocks.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns, times } from '../../support/test-runs.js';

const NAMESPACES = ['/a', '/a/b', '/a/c'];
const NAMES = ['n0', 'n1', 'n2', 'n3'];
const RECORDS = 4;
const WRITERS = 12;
/** With the newest revision. */
const TRIES = 5;
const REQUESTS = { usual: 14, deep: 250 };
const KINDS = [
  'create',
  'use',
  'copy',
  'move',
  'rename',
  'retemplate',
  'archive',
  'restore',
  'delete',
  'by name',
  'namespace',
  'version',
  'move template',
] as const;
/** What commands that meet one another are answered. */
const USUAL =
  / (?:20[01]|404 record\.not_found|422 reference\.not_found|409 record\.(?:name_taken|archived|active|conflict|referenced)|412 record\.precondition)$/;

interface BatchCommand {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly ifMatch?: string;
}

interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly record: number;
  readonly namespace: string;
  readonly name: string;
  /** The template that asks for unique names, or the other. */
  readonly asks: boolean;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...KINDS),
  record: fc.nat(RECORDS - 1),
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom(...NAMES),
  asks: fc.boolean(),
});
/** One command, or several as a batch. */
const REQUEST = fc.oneof({ weight: 1, arbitrary: fc.tuple(STEP) }, fc.array(STEP, { minLength: 2, maxLength: 6 }));

describeOnStores('commands of all kinds at once', (store) => {
  let doors: CommandDoors;
  let templates: readonly [string, string] = ['', ''];
  /** A template of runs. */
  let process = '';
  /** The records that the steps are about: whoever makes one puts it in the place of another. */
  const ids: string[] = [];

  beforeAll(async () => {
    doors = await openCommandDoors({ db: store.db, actors: { ada: { '/': '*:*' } } });
    for (const path of NAMESPACES) await doors.send('ada', `PUT /api/v1/namespaces${path}`, { body: {} });
    const make = async (collection: string, body: object): Promise<string> =>
      String((await doors.send('ada', `POST /api/v1/${collection}`, { body })).json['id']);
    const template = { namespace: '/', name: 't', schema: {} };
    templates = [
      await make('resource-templates', { ...template, version: '1' }),
      await make('resource-templates', { ...template, version: '2', uniqueName: true }),
    ];
    process = await make('process-templates', {
      ...template,
      namespace: '/a',
      version: '1',
      slots: [{ name: 't', template: templates[0] }],
    });
    for (let n = 0; n < RECORDS; n += 1) {
      ids.push(await make('resources', { namespace: '/a', name: `first ${String(n)}`, template: templates[0] }));
    }
  });
  afterAll(async () => {
    await doors.close();
  });

  it('make the store end no deadlock', async () => {
    const before = await deadlocksOf(store.db);
    const requests = fc.sample(REQUEST, { seed: testRuns(1).seed, numRuns: WRITERS * times(REQUESTS) });
    const answers = new Set<string>();
    const write = async (writer: number): Promise<void> => {
      for (const [n, steps] of requests.entries()) {
        if (n % WRITERS !== writer) continue;
        for (let times = 0; times < TRIES; times += 1) {
          const answer = await send(steps);
          answers.add(answer);
          if (!answer.endsWith(' 412 record.precondition')) break;
        }
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));

    expect([...answers].filter((answer) => !USUAL.test(answer))).toEqual([]);
    // Nearly every kind was done, and not only refused: which of them meet is chance.
    const refused = [...KINDS, 'batch'].filter((kind) => !answers.has(`${kind} 200`) && !answers.has(`${kind} 201`));
    expect(refused.length).toBeLessThan(KINDS.length / 3);
    expect(await deadlocksOf(store.db)).toBe(before);
  });

  async function send(steps: readonly Step[]): Promise<string> {
    const [first, ...others] = await Promise.all(steps.map(commandOf));
    if (first === undefined) throw new TypeError('a request without commands');
    const [kind, sent] =
      others.length > 0
        ? ['batch', doors.send('ada', 'POST /api/v1/batch', { body: { commands: [first, ...others] } })]
        : [steps[0]?.kind ?? '', doors.send('ada', `${first.method} ${first.path}`, first)];
    const { status, json } = await sent;
    // Later steps are about the records that were made, since others are deleted.
    if (kind !== 'use' && status === 201 && typeof json['id'] === 'string') ids[steps[0]?.record ?? 0] = json['id'];
    return `${kind} ${String(status)}${typeof json['code'] === 'string' ? ` ${json['code']}` : ''}`;
  }

  async function commandOf({ kind, record, namespace, name, asks }: Step): Promise<BatchCommand> {
    const path = `/api/v1/resources/${ids[record] ?? ''}`;
    const template = templates[asks ? 1 : 0];
    // Most commands state the revision that the record has, so most are done.
    const change = async (
      method: string,
      body: object | null,
      { of = path, verb = '' } = {},
    ): Promise<BatchCommand> => {
      const { json } = await doors.send('ada', `GET ${of}`);
      return {
        method,
        path: `${of}${verb}`,
        ...(body === null ? {} : { body }),
        ifMatch: `"${String(Number(json['revision'] ?? 1))}"`,
      };
    };
    switch (kind) {
      case 'create':
        return { method: 'POST', path: '/api/v1/resources', body: { namespace, name, template } };
      case 'use':
        return {
          method: 'POST',
          path: '/api/v1/process-runs',
          body: { namespace, template: process, state: 'pending', resources: { s: ids[record] ?? '' } },
        };
      case 'copy':
        return { method: 'POST', path: `${path}/copies`, body: { destination: namespace } };
      case 'move':
        return change('POST', { namespace }, { verb: '/move' });
      case 'rename':
        return change('PATCH', { name });
      case 'retemplate':
        return change('PATCH', { template });
      case 'archive':
      case 'restore':
        return change('POST', {}, { verb: `/${kind}` });
      case 'delete':
        return change('DELETE', null);
      case 'by name':
        return {
          method: 'PUT',
          path: `/api/v1/resources/by-name?${new URLSearchParams({ namespace, name }).toString()}`,
          body: { template: templates[1] },
        };
      case 'version':
        return {
          method: 'POST',
          path: `/api/v1/process-templates/${process}/versions`,
          body: { version: randomUUID() },
        };
      case 'move template':
        return change(
          'POST',
          { namespace: namespace === '/a' ? '/a' : '/' },
          { of: `/api/v1/resource-templates/${template}`, verb: '/move' },
        );
      case 'namespace':
        return change('PATCH', { description: name }, { of: `/api/v1/namespaces${namespace}` });
    }
  }
});
