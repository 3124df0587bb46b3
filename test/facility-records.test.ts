// The records that ship would be accepted by the gateway: every reference leads to a record in the lineage, records
// made from a template fit its schema, and all five families are there, with the mixed types that queries must handle.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { canonicalize, FAMILIES, isWithin, parseInstant } from '../engine/index.js';
import { fromRoot } from './support/root.js';

interface Line {
  readonly family: string;
  readonly namespace: string;
  readonly name?: string;
  readonly id?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly slots?: readonly { readonly name: string; readonly template: string; readonly required: boolean }[];
  readonly template?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly resources?: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly archivedAt?: string;
}

const LINES = readFileSync(fromRoot('fixtures/records/facility.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);
const BY_ID = new Map(LINES.flatMap((line) => (line.id === undefined ? [] : [[line.id, line]])));

const referencesOf = (line: Line): readonly string[] => [
  ...(line.template === undefined ? [] : [line.template]),
  ...(line.slots ?? []).map((slot) => slot.template),
  ...Object.values(line.resources ?? {}),
];

function pathOf(text: string): Parameters<typeof isWithin>[0] {
  const result = canonicalize(text);
  if (!result.ok || result.path !== text) throw new Error(`not canonical: ${text}`);
  return result.path;
}

describe('the records of the facility', () => {
  it('are of all families, in namespaces that have a record', () => {
    const count = (family: string): number => LINES.filter((line) => line.family === family).length;
    expect(FAMILIES.filter((family) => count(family) < 10)).toEqual([]);
    const namespaces = new Set(
      LINES.filter((line) => line.family === 'namespace').map((line) => pathOf(line.namespace)),
    );
    expect(LINES.filter((line) => !namespaces.has(pathOf(line.namespace)))).toEqual([]);
  });

  it('refer to records before them, in their own lineage, not archived', () => {
    const wrong = LINES.filter((line, index) =>
      referencesOf(line).some((id) => {
        const target = BY_ID.get(id);
        if (target === undefined || LINES.indexOf(target) >= index || target.archivedAt !== undefined) return true;
        return !isWithin(pathOf(line.namespace), pathOf(target.namespace));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('carry an id exactly where something refers to them', () => {
    const referred = new Set(LINES.flatMap(referencesOf));
    expect([...BY_ID.keys()].filter((id) => !referred.has(id))).toEqual([]);
    expect(
      [...BY_ID.keys()].every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toBe(true);
  });

  it('fit the schemas of their templates', () => {
    const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
    const made = LINES.filter((line) => line.template !== undefined);
    expect(made.length).toBeGreaterThan(100);
    const faults = made.flatMap((line) => {
      const schema = BY_ID.get(line.template ?? '')?.schema ?? false;
      const value = line.family === 'process-run' ? line.parameters : line.properties;
      return ajv.validate(schema, value) ? [] : [`${line.namespace} ${line.name ?? ''}: ${ajv.errorsText()}`];
    });
    expect(faults).toEqual([]);
  });

  it('fill the slots of their process templates with what these ask for', () => {
    const runs = LINES.filter((line) => line.family === 'process-run');
    const faults = runs.filter((run) => {
      const slots = BY_ID.get(run.template ?? '')?.slots ?? [];
      const given = Object.entries(run.resources ?? {});
      const unfit = given.some(
        ([name, id]) => slots.find((slot) => slot.name === name)?.template !== BY_ID.get(id)?.template,
      );
      return unfit || slots.some((slot) => slot.required && run.resources?.[slot.name] === undefined);
    });
    expect(faults).toEqual([]);
  });

  it('were created at fixed instants, and archived after that', () => {
    const at = (text: string): number => parseInstant(text) ?? Number.NaN;
    expect(LINES.filter((line) => Number.isNaN(at(line.createdAt)))).toEqual([]);
    expect(
      LINES.filter((line) => line.archivedAt !== undefined && !(at(line.archivedAt) > at(line.createdAt))),
    ).toEqual([]);
  });

  it('hold the same property as number, text, boolean, null, list and object somewhere', () => {
    const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
    const kinds = new Map<string, Set<string>>();
    for (const [name, value] of LINES.flatMap((line) => Object.entries(line.properties ?? {}))) {
      kinds.set(name, (kinds.get(name) ?? new Set()).add(kindOf(value)));
    }
    expect([...(kinds.get('resolutionA') ?? [])].sort()).toEqual(['null', 'number', 'string']);
    expect([...kinds.values()].filter((set) => set.size > 1).length).toBeGreaterThan(10);
    expect(new Set([...kinds.values()].flatMap((set) => [...set]))).toEqual(
      new Set(['number', 'string', 'boolean', 'null', 'list', 'object']),
    );
  });
});
