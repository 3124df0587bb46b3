// Each cell of the map in the page has what is decided there at an instant: by identities, people and roles, opened and closed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { makeAccessMap } from '../../engine/compiler.js';
import {
  decideRaw,
  type Instant,
  instantOf,
  loadSnapshot,
  parseIdentity,
  type Policy,
  type ScopeName,
} from '../../engine/index.js';
import { hasBrowser, openBrowser } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

/** Nobody visits then. */
const NOW = '2026-12-01T00:00:00Z';

interface Cell {
  readonly path: string;
  readonly place: 'itself' | 'below' | 'namespace';
  readonly column: string;
  readonly columnKind: 'all' | 'provider' | 'person' | 'role' | 'none' | 'identity';
  readonly of: number;
  readonly counts: readonly [readonly number[]];
}

/** A namespace itself, or any below it that no grant names. */
interface Place {
  readonly path: string;
  readonly isBelow: boolean;
}

/** By scope, 1 or 0. */
type Decided = (identity: string, place: Place) => readonly number[];

function decidedBy(policy: Policy, scopes: readonly ScopeName[], at: Instant): Decided {
  const known = new Map<string, readonly number[]>();
  return (text, { path, isBelow }) => {
    const key = `${text} ${path} ${String(isBelow)}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const read = parseIdentity(text);
    if (!read.ok) throw new Error(text);
    const target = isBelow ? `${path === '/' ? '' : path}/no-grant-names-this` : path;
    const actor = {
      kind: 'request',
      identities: [read.identity],
      credentialScopes: null,
      namespaceRestrictions: null,
    } as const;
    const answers = scopes.map((scope) =>
      decideRaw(policy, { actor, request: { kind: 'access', scope, target }, at }).decision === 'allow' ? 1 : 0,
    );
    known.set(key, answers);
    return answers;
  };
}

function sum(lists: readonly (readonly number[])[], width: number): readonly number[] {
  return Array.from({ length: width }, (_, i) => lists.reduce((total, list) => total + (list[i] ?? 0), 0));
}

(hasBrowser ? test : test.skip)(
  'cells of the map',
  async () => {
    const folder = await makeFolder();
    await runCli(['compile', fromRoot('policies'), '-o', join(folder, 'policy.json')]);
    const loaded = loadSnapshot(await readFile(join(folder, 'policy.json')));
    if (!loaded.ok) throw new Error(loaded.fault.message);
    const { policy } = loaded;
    const { nodes, identities, roles, scopes } = makeAccessMap(policy);
    const places = nodes.paths.flatMap((path, row): readonly Place[] => [
      { path, isBelow: false },
      ...(nodes.hasBelow[row] === 1 ? [{ path, isBelow: true }] : []),
    ]);
    const { people } = parse(await readFile(fromRoot('policies/people.yaml'), 'utf8')) as {
      readonly people: Readonly<Record<string, { readonly identities: readonly string[] }>>;
    };
    const inRole = (called: string): readonly string[] => {
      const role = roles.find(({ name }) => name === called);
      const own = (role?.identities ?? []).map((row) => identities[row] ?? '');
      return [...new Set([...own, ...(role?.roles ?? []).flatMap((row) => inRole(roles[row]?.name ?? ''))])];
    };
    const membersOf = ({ column, columnKind }: Cell): readonly string[] => {
      switch (columnKind) {
        case 'all':
          return identities;
        case 'provider':
          return identities.filter((one) => one.startsWith(`${column}:`));
        case 'person':
          return identities.filter((one) => people[column]?.identities.includes(one) === true);
        case 'role':
          return inRole(column);
        case 'none':
          return identities.filter((one) => !roles.some(({ name }) => inRole(name).includes(one)));
        case 'identity':
          return [column];
      }
    };
    const placesOf = ({ path, place }: Cell): readonly Place[] =>
      places.filter((one) =>
        place === 'namespace'
          ? path === '/' || one.path === path || one.path.startsWith(`${path}/`)
          : one.path === path && one.isBelow === (place === 'below'),
      );
    await runCli(['playground', fromRoot('policies'), '-o', join(folder, 'page.html')]);
    const browser = await openBrowser();
    try {
      const page = await browser.context.newPage();
      // Every column is in sight.
      await page.setViewportSize({ width: 6000, height: 900 });
      await page.clock.setFixedTime(NOW);
      await page.goto(pathToFileURL(join(folder, 'page.html')).href);
      await page.locator('.across .head').first().waitFor();
      expect(await page.locator('.seal').textContent()).toContain(`at ${NOW}`);
      const decided = decidedBy(policy, scopes, instantOf(Date.parse(NOW)));
      await page.getByRole('button', { name: 'Open rows' }).click();
      await page.getByText('The same as a table').click();
      const table = page.locator('.as-table');
      const cellsOf = async (grouping: string, last: string): Promise<readonly Cell[]> => {
        await page.getByLabel('Columns').selectOption(grouping);
        const shut = page.locator('.across .head.provider[aria-expanded=false]');
        if (grouping === 'identities') await shut.first().waitFor();
        while ((await shut.count()) > 0) {
          const name = (await shut.first().textContent()) ?? '';
          await shut.first().click();
          await page.locator('.across .head.provider[aria-expanded=true]', { hasText: name.trim() }).waitFor();
        }
        await table.getByRole('row', { name: new RegExp(`^/ and below ${last} `) }).waitFor();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          table.getByRole('button', { name: 'JSON' }).click(),
        ]);
        return JSON.parse(await readFile(await download.path(), 'utf8')) as readonly Cell[];
      };
      for (const [grouping, last, kinds] of [
        ['people', 'amit-deshpande', ['all', 'identity', 'person']],
        ['roles', 'facility-people', ['all', 'role']],
        ['identities', 'service:mx-autoprocess', ['all', 'identity', 'provider']],
      ] as const) {
        const cells = await cellsOf(grouping, last);
        expect(cells.map(({ columnKind }) => columnKind)).toEqual(expect.arrayContaining([...kinds]));
        for (const cell of cells) {
          const pairs = membersOf(cell).flatMap((one) => placesOf(cell).map((place) => decided(one, place)));
          expect({ cell, of: pairs.length, counts: [sum(pairs, scopes.length)] }).toEqual({
            ...{ cell, of: cell.of, counts: cell.counts },
          });
        }
        if (grouping !== 'identities') continue;
        // What has no cell is not held.
        const all = identities.flatMap((one) => places.map((place) => decided(one, place)));
        const leaves = cells.filter(({ columnKind, of }) => columnKind === 'identity' && of === 1);
        expect(
          sum(
            leaves.map(({ counts: [own] }) => own),
            scopes.length,
          ),
        ).toEqual(sum(all, scopes.length));
      }
    } finally {
      await browser.close();
    }
  },
  120_000,
);
