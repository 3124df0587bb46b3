// Commands on generated worlds. An actor is refused exactly where and how `decide` says. For an actor who may write but
// not read, no answer depends on what that actor may not read. Nothing here is committed: each command is in a batch,
// before one that is refused.
import { beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  decide,
  FAMILIES,
  type Family,
  type NamespacePath,
  type Request,
  unrestrictedPolicy,
} from '../../engine/index.js';
import { anyInstant, pathOf } from '../engine/oracle/worlds.js';
import type { Json } from '../server/query/oracle/evaluate.js';
import { type Answer, type Asker, openWriteDoors, type Write } from '../support/query-doors.js';
import { namespaceOf } from '../support/query-oracle.js';
import {
  compiled,
  idOf,
  likelyActor,
  PLACES,
  queryWorld,
  type QueryWorld,
  recordOf,
  settle,
} from '../support/query-worlds.js';
import { describeOnStores } from '../support/stores.js';
import { shrinkingFor, stopwatch, testRuns } from '../support/test-runs.js';

const SHRINKING = 200_000;
const ABSENT = idOf('abcdef');
const MADE = FAMILIES.filter((family) => family !== 'namespace');
const NEVER = '"999999999"';

interface Scene {
  readonly world: QueryWorld;
  readonly askers: readonly Asker[];
  /** Where copies go, by the place of their source in the list of records. */
  readonly destinations: readonly string[];
}

const scene: fc.Arbitrary<Scene> = queryWorld.chain((world) => {
  const policy = compiled(world.set);
  const asker = fc
    .record({ actor: likelyActor, at: anyInstant })
    .map((who): Asker => ({ ...who, policy: who.actor.kind === 'local' ? unrestrictedPolicy() : policy }));
  return fc.record({
    world: fc.constant(world),
    askers: fc.array(asker, { minLength: 1, maxLength: 2, size: 'max' }),
    destinations: fc.array(fc.constantFrom(...PLACES), { minLength: 7, maxLength: 7 }),
  });
});

interface Command {
  readonly method: 'PUT' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly ifMatch?: string;
}

interface Case {
  readonly command: Command;
  /** Status, code, step and cause of the refusal that the policy asks for; null if it allows the command. */
  readonly refused: readonly unknown[] | null;
}

/** Every way to write, at every place and to every record. */
function* casesOf({ world, destinations }: Scene, asker: Asker): Generator<Case> {
  const verdict = (request: Request) => decide(asker.policy, { actor: asker.actor, request, at: asker.at });
  const access = (family: Family, action: 'read' | 'write', namespace: NamespacePath) =>
    verdict({ kind: 'access', scope: `${family}:${action}`, context: namespace, target: namespace });
  const deniedBy = (decision: ReturnType<typeof verdict>): Case['refused'] =>
    decision.decision === 'allow' ? null : [403, 'authz.denied', decision.step, decision.cause];
  const absent = [404, 'record.not_found', undefined, undefined];

  for (const place of PLACES) {
    const namespace = pathOf(place);
    const url = `/api/v1/namespaces${namespace}`;
    yield {
      command: { method: 'PUT', path: url, body: { description: 'never' } },
      refused: deniedBy(verdict({ kind: 'create-namespace', namespace })),
    };
    const write = deniedBy(access('namespace', 'write', namespace));
    yield { command: { method: 'PATCH', path: url, body: {}, ifMatch: NEVER }, refused: write };
    if (namespace !== '/')
      yield { command: { method: 'POST', path: `${url}/archive`, ifMatch: NEVER }, refused: write };
    const byName = new URLSearchParams({ namespace, name: 'n' }).toString();
    yield {
      command: { method: 'PUT', path: `/api/v1/resources/by-name?${byName}`, body: { template: ABSENT } },
      refused: deniedBy(access('resource', 'write', namespace)) ?? deniedBy(access('resource', 'read', namespace)),
    };
    for (const family of MADE) {
      const templated = family.endsWith('-template') ? { version: '1', schema: {} } : {};
      const body = { namespace, name: 'n', ...templated, ...(family === 'process-template' ? { slots: [] } : {}) };
      yield {
        command: { method: 'POST', path: `/api/v1/${family}s`, body },
        refused: deniedBy(access(family, 'write', namespace)),
      };
    }
  }
  for (const [index, record] of world.records.entries()) {
    const family = FAMILIES.find((one) => one === record['family']);
    if (family === undefined || family === 'namespace') continue;
    const namespace = namespaceOf(record);
    const [read, write] = [access(family, 'read', namespace), access(family, 'write', namespace)];
    const path = `/api/v1/${family}s/${String(record['id'])}`;
    const refused = write.decision === 'deny' && read.decision === 'deny' ? absent : deniedBy(write);
    yield { command: { method: 'PATCH', path, body: { description: 'x' }, ifMatch: NEVER }, refused };
    yield { command: { method: 'POST', path: `${path}/restore`, ifMatch: NEVER }, refused };
    yield { command: { method: 'DELETE', path, ifMatch: NEVER }, refused };
    const destination = pathOf(destinations[index % destinations.length] ?? '/');
    const there = access(family, 'write', destination);
    const deniedThere = (to: typeof there): Case['refused'] =>
      to.decision === 'deny' ? [403, 'authz.denied', 'destination_write', to.step] : null;
    yield {
      command: { method: 'POST', path: `${path}/move`, body: { namespace: destination }, ifMatch: NEVER },
      refused: read.decision === 'deny' ? absent : (deniedBy(write) ?? deniedThere(there)),
    };
    if (family === 'resource-template' || family === 'process-template') {
      yield {
        command: { method: 'POST', path: `${path}/versions`, body: { version: 'never yet' } },
        refused: read.decision === 'deny' ? absent : deniedThere(write),
      };
      continue;
    }
    yield {
      command: { method: 'POST', path: `${path}/copies`, body: { destination } },
      refused: read.decision === 'deny' ? absent : deniedThere(there),
    };
    // The engine's own words for a copy, of the family that it has them for.
    if (family === 'resource') {
      const copy = verdict({ kind: 'copy', source: namespace, destination });
      expect(copy.decision === 'allow').toBe(read.decision === 'allow' && there.decision === 'allow');
    }
  }
  for (const family of MADE) {
    yield {
      command: { method: 'PATCH', path: `/api/v1/${family}s/${ABSENT}`, body: {}, ifMatch: NEVER },
      refused: absent,
    };
  }
}

/** Of the revision that each record has, so that what it holds is worked with. */
function realChanges({ records }: QueryWorld): readonly Command[] {
  const templates = records.filter(({ family }) => String(family).endsWith('-template'));
  return records.flatMap(({ family, id, revision }, index): readonly Command[] => {
    if (family === 'namespace') return [];
    const path = `/api/v1/${String(family)}s/${String(id)}`;
    const ifMatch = `"${String(revision)}"`;
    const properties = { deep: { a: { b: 1 } }, label: null };
    const template = templates[index % Math.max(templates.length, 1)]?.['id'];
    const isMade = family === 'resource' || family === 'process-run';
    return [
      { method: 'PATCH', path, body: { description: 'x', properties }, ifMatch },
      { method: 'DELETE', path, ifMatch },
      ...['/', '/a', '/a/b'].map(
        (namespace) => ({ method: 'POST', path: `${path}/move`, body: { namespace }, ifMatch }) as const,
      ),
      ...(!isMade || template === undefined ? [] : [{ method: 'PATCH', path, body: { template }, ifMatch } as const]),
    ];
  });
}

/** Nobody may do this, so nothing that stands before it is committed. */
const REFUSED: Command = { method: 'PUT', path: '/api/v1/namespaces/', body: {} };

function jsonOf({ text }: Answer): Json {
  return JSON.parse(text) as Json;
}

describeOnStores('commands', (store) => {
  let write: Write;
  const many = store.name === 'postgres';
  const batch = (asker: Asker, command: Command): Promise<Answer> =>
    write(asker, { method: 'POST', path: '/api/v1/batch', body: { commands: [command, REFUSED] }, key: 'never-kept' });
  /** By itself, where it cannot do anything: it names a revision that no record has. */
  const alone = (asker: Asker, { method, path, body, ifMatch }: Command): Promise<Answer> =>
    write(asker, { method, path, body: body ?? {}, ifMatch });

  beforeAll(() => {
    write = openWriteDoors(store.db);
  });

  it('are refused where `decide` denies, as the documents say, and nowhere else', async () => {
    const tally = { askers: 0, commands: 0, allowed: 0, denied: 0, hidden: 0 };
    const runs = testRuns(many ? { usual: 2, deep: 120 } : { usual: 2, deep: 40 });
    const told = stopwatch(`commands on ${store.name}`, runs);
    await fc.assert(
      fc.asyncProperty(scene, async (one) => {
        await settle(store.db, one.world.records);
        for (const asker of one.askers) {
          tally.askers += 1;
          for (const { command, refused } of casesOf(one, asker)) {
            tally.commands += 1;
            const answer = await batch(asker, command);
            const { code, step, cause, command: place } = jsonOf(answer);
            if (refused === null) {
              tally.allowed += 1;
              // Later reasons to refuse it are not the policy's.
              expect([command, place === 1 || (code !== 'authz.denied' && code !== 'record.not_found')]).toEqual([
                command,
                true,
              ]);
            } else {
              tally[refused[0] === 404 ? 'hidden' : 'denied'] += 1;
              expect([command, place, answer.status, code, step, cause]).toEqual([command, 0, ...refused]);
            }
            if (command.ifMatch === undefined) continue;
            const single = await alone(asker, command);
            const { code: own, step: ownStep } = jsonOf(single);
            if (refused !== null)
              expect([command, single.status, own, ownStep]).toEqual([command, ...refused.slice(0, 3)]);
            else expect([command, own === 'authz.denied' || own === 'record.not_found']).toEqual([command, false]);
          }
        }
      }),
      shrinkingFor(SHRINKING, runs),
    );
    told(tally.askers, tally.commands, tally);
    expect(tally.allowed).toBeGreaterThan(0.1 * tally.commands);
    expect(tally.denied).toBeGreaterThan(0.1 * tally.commands);
    expect(tally.hidden).toBeGreaterThan(0.01 * tally.commands);
  });

  it('tell nobody of what they may not read', async () => {
    const tally = { askers: 0, commands: 0, changed: 0 };
    const runs = testRuns(many ? { usual: 3, deep: 60 } : { usual: 3, deep: 20 });
    const told = stopwatch(`non-interference of commands on ${store.name}`, runs);
    const content = fc.constantFrom(...FAMILIES).chain((family) => recordOf(family, PLACES));
    await fc.assert(
      fc.asyncProperty(scene, fc.array(content, { minLength: 12, maxLength: 12 }), async (one, others) => {
        const [asker] = one.askers;
        if (asker === undefined) return;
        tally.askers += 1;
        const rewritten = one.world.records.map((record, index) => rewrite(asker, record, others[index % 12] ?? {}));
        tally.changed += rewritten.filter((record, index) => record !== one.world.records[index]).length;
        const answers = async (records: readonly Json[]): Promise<readonly unknown[]> => {
          await settle(store.db, records);
          const got: unknown[] = [];
          const commands = [...[...casesOf(one, asker)].map(({ command }) => command), ...realChanges(one.world)];
          for (const command of commands) {
            const { status, text, headers } = await batch(asker, command);
            got.push([command, status, text, headers]);
          }
          tally.commands += got.length;
          return got;
        };
        expect(await answers(rewritten)).toEqual(await answers(one.world.records));
      }),
      shrinkingFor(SHRINKING, runs),
    );
    told(tally.askers, tally.commands, tally);
    expect(tally.changed).toBeGreaterThan(tally.askers);
  });
});

/**
 * The record with another content wherever the asker may not read it. What a writer may know stays: where it is, that it is archived,
 * its revision, and what a namespace is to those who write below it. Who may not write it either learns nothing of what it refers to.
 */
function rewrite({ policy, actor, at }: Asker, record: Json, other: Json): Json {
  const family = FAMILIES.find((one) => one === record['family']);
  if (family === undefined || family === 'namespace') return record;
  const namespace = namespaceOf(record);
  const may = (action: 'read' | 'write'): boolean => {
    const request = { kind: 'access', scope: `${family}:${action}`, context: namespace, target: namespace } as const;
    return decide(policy, { actor, request, at }).decision === 'allow';
  };
  if (may('read')) return record;
  const content = { ...record, description: other['description'] ?? null, properties: other['properties'] ?? {} };
  if (may('write')) return content;
  return {
    ...content,
    ...(family === 'resource' || family === 'process-run' ? { template: null } : {}),
    ...(family === 'process-run' ? { resources: {} } : {}),
  };
}
