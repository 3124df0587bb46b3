// Top-level namespaces in stores of their own (docs/operating.md "Several stores"): each store answers for its part as one store
// with all records does, because records refer to their own namespace and to those above it alone.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Actor, ALL_SCOPES, FAMILIES, instantOf, LOCAL_ACTOR } from '../../engine/index.js';
import { demoSnapshot, INES } from '../support/demo.js';
import { exportedLines, loadLines } from '../support/loaded-records.js';
import { type Ask, type Asker, openDoors } from '../support/query-doors.js';
import { fromRoot } from '../support/root.js';
import { describeOnStores, type OpenedStore } from '../support/stores.js';

const NOW = instantOf(Date.parse('2030-06-01T00:00:00Z'));
const ACTORS: readonly Actor[] = [
  LOCAL_ACTOR,
  { kind: 'key', identities: INES, credentialScopes: ALL_SCOPES, namespaceRestrictions: null },
];
const SELECT = ['id', 'namespace', 'name', 'createdAt'];

describeOnStores('top-level namespaces in several stores', (store) => {
  const opened: OpenedStore[] = [];
  const parts: Record<'beamlines' | 'others', Ask | null> = { beamlines: null, others: null };
  let whole: Ask;
  let askers: readonly Asker[];

  beforeAll(async () => {
    const { policy } = await demoSnapshot();
    askers = ACTORS.map((actor) => ({ actor, at: NOW, policy }));
    await loadLines(store.db, readFileSync(fromRoot('fixtures/records/facility.jsonl'), 'utf8').trimEnd().split('\n'));
    whole = await openDoors(store.db);
    const all = await exportedLines(store.db);
    const isIn = (namespace: string, top: string): boolean => namespace === top || namespace.startsWith(`${top}/`);
    for (const part of ['beamlines', 'others'] as const) {
      const lines = all.filter((line) => {
        const { namespace } = JSON.parse(line) as { readonly namespace: string };
        return namespace === '/' || isIn(namespace, '/beamlines') === (part === 'beamlines');
      });
      const one = await store.open();
      opened.push(one);
      expect(await loadLines(one.database, lines)).toMatchObject({ loaded: lines.length, faults: [] });
      parts[part] = await openDoors(one.database);
    }
  });
  afterAll(async () => {
    for (const one of opened) await one.dispose();
  });

  it.each([
    ['/beamlines', 'beamlines'],
    ['/beamlines/amx', 'beamlines'],
    ['/labs', 'others'],
    ['/computing', 'others'],
  ] as const)('%s is answered by its store as by one that has everything', async (namespace, part) => {
    let found = 0;
    for (const asker of askers) {
      for (const family of FAMILIES) {
        const query = { family, namespace, reach: 'subtree', select: SELECT, page: { size: 200 } };
        const answer = await parts[part]?.(asker, 'query', query);
        expect(answer).toEqual(await whole(asker, 'query', query));
        found += answer?.text.split('"createdAt"').length ?? 0;
      }
    }
    expect(found).toBeGreaterThan(20);
  });

  it('what is visible of everything is divided among the stores', async () => {
    for (const asker of askers) {
      const count = async (ask: Ask | null, reach: string): Promise<number> => {
        let sum = 0;
        for (const family of FAMILIES) {
          const answer = await ask?.(asker, 'count', { family, namespace: '/', reach });
          sum += (JSON.parse(answer?.text ?? '') as { readonly count?: number }).count ?? 0;
        }
        return sum;
      };
      const { beamlines, others } = parts;
      // The records of the root itself are in both.
      const sum =
        (await count(beamlines, 'subtree')) + (await count(others, 'subtree')) - (await count(whole, 'exact'));
      expect(await count(whole, 'subtree')).toBe(sum);
      expect(sum).toBeGreaterThan(0);
    }
  });
});
