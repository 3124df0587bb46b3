// What an access review costs grows with its rows, and not with their product with what was selected or decided.
import { describe, expect, test } from '@jest/globals';
import { heldRights } from '../../../engine/compiler.js';
import type { Instant, Policy } from '../../../engine/index.js';
import { ROOT } from '../../../engine/model/namespace.js';
import { outcomeOf } from '../../../server/review/outcome.js';
import { makePopulation, type Population, populationFault } from '../../../server/review/population.js';
import { readSheets, sheetText } from '../../../server/review/sheet.js';
import { load } from '../../engine/prove/brute.js';
import { POLICY, readFolder } from '../../engine/source/support.js';
import { growth } from '../../support/cpu-time.js';

const AT = 1_800_000_000_000 as Instant;
const NOT_SQUARE = 40;
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

function policyOf(text: string): Policy {
  const { policy } = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
  if (policy === null) throw new Error('no policy');
  return load(policy);
}

function populationOf(policy: Policy, identities: readonly string[] | null): Population {
  const rights = heldRights(policy, { at: AT, under: ROOT, identities: null, scopes: null }, 100_000) ?? [];
  const selection = { under: ROOT, persons: null, identities, scopes: null };
  return makePopulation({ policy, version: '1', at: AT, selection, rights, persons: new Map() });
}

const grantTo = (identity: string, i: number): string =>
  `  - { id: g${String(i)}, identity: "${identity}", scopes: [resource:read], namespace: /a }\n`;

describe('a review', () => {
  test('of many people who were selected by name', () => {
    const cost = growth(500, (size) => {
      const people = Array.from({ length: size }, (_, i) => `orcid:u${String(i)}`);
      const policy = policyOf(`grants:\n${lines(size, (i) => grantTo(people[i] ?? '', i))}`);
      return () => {
        expect(populationFault(populationOf(policy, people))).toBeNull();
      };
    });
    expect(cost).toBeLessThan(NOT_SQUARE);
  });

  test('of many grants to one identity in one place', () => {
    const cost = growth(500, (size) => {
      const policy = policyOf(`grants:\n${lines(size, (i) => grantTo('orcid:u', i))}`);
      const population = populationOf(policy, null);
      return () => {
        const { totals } = outcomeOf({ population, decided: new Map(), policy, version: '1', at: AT, more: [] });
        expect(totals.rows).toBe(size);
      };
    });
    expect(cost).toBeLessThan(NOT_SQUARE);
  });

  test('whose rows many reviewers decided, in a sheet of many columns', () => {
    const cost = growth(1_000, (size) => {
      const population = populationOf(policyOf(`grants:\n${grantTo('orcid:u', 0)}`), null);
      const [head = '', row = ''] = sheetText(population.rows).trim().split(/\r?\n/);
      const columns = lines(size, (i) => `x${String(i)},`);
      const blanks = ','.repeat(size);
      const decided = row.replace(/(?:,(?:"")?){3}$/, ',');
      const text = [
        `${columns}${head}`,
        `${blanks}${row}`,
        ...Array.from({ length: size }, (_, i) => `${decided}keep,rev${String(i)},`),
      ];
      // The lines of reviewers are in a sheet of their own: that one has no more columns.
      const sheets = [
        { shown: 'wide', text: text.slice(0, 2).join('\n') },
        { shown: 'long', text: [head, ...text.slice(2)].join('\n') },
      ];
      return () => {
        const { byRow, faults } = readSheets(sheets, population);
        expect([faults, byRow.get(population.rows[0]?.id ?? '')?.by.length]).toEqual([[], size]);
      };
    });
    expect(cost).toBeLessThan(NOT_SQUARE);
  });

  test('in which later reviewers disagree names the first of them', () => {
    const population = populationOf(policyOf(`grants:\n${grantTo('orcid:u', 0)}`), null);
    const [head = '', row = ''] = sheetText(population.rows).trim().split(/\r?\n/);
    const said = (decision: string, reviewer: string): string =>
      `${row.replace(/(?:,(?:"")?){3}$/, ',')}${decision},${reviewer},`;
    const text = [head, ...Array.from({ length: 10 }, (_, i) => said('keep', `r${String(i)}`)), said('revoke', 'eve')];
    const { faults } = readSheets([{ shown: 's', text: text.join('\n') }], population);
    expect(faults.map(({ code, message }) => [code, message])).toEqual([
      ['sheet.conflict', 'r0, r1, r2, r3, r4, r5, r6, r7 and 2 more decided `keep`, and eve `revoke`'],
    ]);
  });
});
