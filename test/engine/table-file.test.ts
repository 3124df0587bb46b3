// A table as a file: opened again it is the policy that it was made of, byte for byte and decision for decision, and its
// format is raised with every change to what it holds.
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  adopt,
  decide,
  openTableFile,
  packedOf,
  packSnapshot,
  type Policy,
  SCOPES,
  TABLE_LAYOUT,
  tableParts,
  unrestrictedPolicy,
  visibility,
} from '../../engine/index.js';
import { FULL } from './full-policy.js';
import { anyActor, anyInstant, anyPath, exclusiveWorld, windowedWorld, world } from './oracle/worlds.js';
import { bytesOf, load } from './table-world.js';

function fileOf(policy: Policy): Uint8Array {
  const packed = packedOf(policy);
  if (packed === null) throw new Error('a policy without a table');
  // Not from the small memory that Node shares among buffers.
  return Uint8Array.from(Buffer.concat(tableParts(packed)));
}

function reopened(policy: Policy): Policy {
  const packed = openTableFile(fileOf(policy));
  if (packed === null) throw new Error('a file that does not open');
  return adopt(packed);
}

describe('a table as a file', () => {
  it('is the same policy: its facts, its decisions and what it shows', () => {
    const worlds = fc.oneof(world, windowedWorld, exclusiveWorld);
    let [allowed, denied] = [0, 0];
    fc.assert(
      fc.property(worlds, anyActor, anyInstant, anyPath, anyPath, (set, actor, at, context, target) => {
        const policy = load(set);
        const again = reopened(policy);
        expect({ ...again }).toEqual({ ...policy });
        expect(Buffer.compare(fileOf(again), fileOf(policy))).toBe(0);
        for (const scope of SCOPES) {
          for (const place of [context, target]) {
            const request = { kind: 'access', scope, context: place, target } as const;
            const decision = decide(policy, { actor, request, at });
            if (decision.decision === 'allow') allowed += 1;
            else denied += 1;
            expect(decide(again, { actor, request, at })).toEqual(decision);
          }
        }
        for (const reach of ['lineage', 'exact', 'subtree'] as const) {
          const request = { family: 'resource', context, reach } as const;
          expect(visibility(again, { actor, request, at })).toEqual(visibility(policy, { actor, request, at }));
        }
      }),
    );
    expect(Math.min(allowed, denied)).toBeGreaterThan(0);
  });

  it('is the same whether the policy was packed for a thread or loaded here', () => {
    const packed = packSnapshot(bytesOf(FULL));
    if (!packed.ok) throw new Error(packed.fault.message);
    expect(Buffer.compare(fileOf(adopt(packed.packed)), fileOf(load(FULL)))).toBe(0);
  });

  it('does not open if its lengths do not agree, and never throws', () => {
    const file = fileOf(load(FULL));
    expect(openTableFile(file)).not.toBeNull();
    for (let length = 0; length < file.length; length += 1) expect(openTableFile(file.slice(0, length))).toBeNull();
    expect(openTableFile(Uint8Array.from([...file, 0]))).toBeNull();
    expect(openTableFile(Uint8Array.from([0, ...file]))).toBeNull();
  });

  it('does not open if what follows the columns is not what was written, and never throws', () => {
    const packed = packedOf(load(FULL));
    const [columns, text] = packed === null ? [] : tableParts(packed);
    if (columns === undefined || text === undefined) throw new Error('a policy without a table');
    const written = Buffer.from(text).toString();
    const opens = (tail: Buffer | string): boolean => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(tail));
      return openTableFile(Uint8Array.from(Buffer.concat([columns, Buffer.from(tail), length]))) !== null;
    };
    const { facts, table } = JSON.parse(written) as { facts: object; table: { sizes: Record<string, number> } };
    const { grants = 0, principals = 0, idBytes = 0, segmentBytes = 0, ...others } = table.sizes;
    const sized = (some: object): string =>
      JSON.stringify({ facts, table: { ...table, sizes: { ...table.sizes, ...some } } });
    expect([written, sized({})].map(opens)).toEqual([true, true]);
    const badly = Buffer.from(written);
    badly[written.indexOf('"name":"') + 8] = 0xff;
    const tails = [
      ...['', 'table', 'null', '1', '"facts"', '[]', '{}', '{"facts":{}}', badly, `\uFEFF${written}`],
      ...[null, 1, '', [], {}, { grants, principals, idBytes, segmentBytes }, others].map((sizes) =>
        JSON.stringify({ facts, table: { ...table, sizes } }),
      ),
      ...[null, 1, undefined].map((other) => JSON.stringify({ facts, table: other })),
      JSON.stringify({ table }),
      // As many bytes as there are.
      sized({ idBytes: idBytes + segmentBytes + 1, segmentBytes: -1 }),
      sized({ idBytes: idBytes + 0.5, segmentBytes: segmentBytes - 0.5 }),
      sized({ principals: String(principals) }),
    ];
    expect(tails.filter(opens)).toEqual([]);
  });

  it('opens only if it is all that its memory has, from the start', () => {
    const file = fileOf(load(FULL));
    const memory = Uint8Array.from([...file, ...file]);
    expect(openTableFile(memory.subarray(file.length))).toBeNull();
  });

  it('does not exist for the unrestricted policy', () => {
    expect(packedOf(unrestrictedPolicy())).toBeNull();
  });

  it('has another format with every change to what it holds', () => {
    // If this fails, raise TABLE_FORMAT in engine/evaluate/table-file.ts: gateways would open old tables in the new form.
    const sets = [FULL, ...fc.sample(fc.oneof(world, windowedWorld, exclusiveWorld), { numRuns: 200, seed: 1 })];
    const hash = createHash('sha256');
    for (const set of sets) hash.update(fileOf(load(set)));
    expect([TABLE_LAYOUT, hash.digest('hex')]).toEqual([
      '1-le',
      '7ff9a50a3ee240cb966b31d2d717117a06bdb29084ba6db85ab7d12187539671',
    ]);
  });
});
