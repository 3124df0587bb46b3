// However a policy is opened, it decides alike, cites alike and is proved alike.
import { describe, expect, it } from '@jest/globals';
import { compilePolicy, draftPolicy, openUnread, policyRows } from '../../engine/compiler.js';
import { packedOf } from '../../engine/index.js';
import { FULL } from './full-policy.js';
import { policyOf } from './oracle/worlds.js';
import { ADA, ask, grant, load } from './table-world.js';

const SET = policyOf([], [grant('/a'), grant('/a/b', { inherit: false }), grant('/c')]);
const ANSWERS = [
  ['/a/b', 'g0,g1'],
  ['/a/b/c', 'g0'],
  ['/b', 'no_matching_grant'],
  ['/c', 'g2'],
] as const;

describe('a policy', () => {
  it('is the same where it is opened without the bytes of its snapshot', () => {
    const compiled = compilePolicy(FULL);
    if (!compiled.ok) throw new Error('it compiles');
    const [unread, loaded] = [openUnread(FULL, compiled.snapshot), load(FULL)];
    expect({ ...unread }).toEqual({ ...loaded });
    expect(packedOf(unread)).toEqual(packedOf(loaded));
    expect(policyRows(unread)).toEqual(policyRows(loaded));
  });

  it('decides and is proved alike as a draft, which has no digests', () => {
    const [draft, loaded] = [draftPolicy(SET), load(SET)];
    if (draft === null) throw new Error('it is small');
    expect({ ...draft }).toEqual({ ...loaded, digest: '', decisions: '', checks: null });
    for (const [path, answer] of ANSWERS) expect(ask(draft, ADA, path)).toBe(answer);
    expect(policyRows(draft)).toEqual(policyRows(loaded));
  });

  it('is in memory that threads share, or in its own where the platform shares none', () => {
    const { SharedArrayBuffer: Shared } = globalThis;
    expect(packedOf(load(SET))?.table.buffer).toBeInstanceOf(Shared);
    Reflect.deleteProperty(globalThis, 'SharedArrayBuffer');
    try {
      const own = load(SET);
      expect(packedOf(own)?.table.buffer).toBeInstanceOf(ArrayBuffer);
      for (const [path, answer] of ANSWERS) expect(ask(own, ADA, path)).toBe(answer);
    } finally {
      globalThis.SharedArrayBuffer = Shared;
    }
  });
});
