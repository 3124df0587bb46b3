// Many grants that begin and end at one place: the memory of the digests stays proportional to the policy, they mean the same as with
// few grants, and a policy with rights that change too often is refused with the reason.
import { RECORD_SCOPE_SET } from '../../engine/model/scope-set.js';
import { describe, expect, it } from '@jest/globals';
import { compilePolicy, ENGINE_LIMITS } from '../../engine/compiler.js';
import { type Instant, instantOf, type ScopeSet } from '../../engine/index.js';
import type { PolicyGrant, PolicyRole, PolicySet } from '../../engine/model/policy-set.js';
import { decodeSnapshot } from '../../engine/snapshot/decode.js';
import { decisionsFault } from '../../engine/snapshot/labels.js';
import { compile } from './full-policy.js';
import { pathOf, policyOf } from './oracle/worlds.js';

const HOUR = 3_600_000;
const ADA = { kind: 'identity', identity: { provider: 'orcid', subject: 'ada' } } as const;

const hour = (number: number): Instant => instantOf(number * HOUR);

const grant = (index: number, change: Partial<PolicyGrant> = {}): PolicyGrant => ({
  id: `g${String(index)}`,
  principal: ADA,
  namespace: pathOf('/a'),
  scopes: RECORD_SCOPE_SET,
  inherit: true,
  notBefore: hour(2 * index),
  expires: hour(2 * index + 1),
  reason: null,
  place: null,
  ...change,
});

const many = (count: number, of: (index: number) => PolicyGrant): readonly PolicyGrant[] =>
  Array.from({ length: count }, (_, index) => of(index));

/** The same grants, each through a role of its own. */
function throughRoles(grants: readonly PolicyGrant[]): PolicySet {
  const roles = grants.map(({ id, principal }): PolicyRole => ({
    name: `r-${id}`,
    description: null,
    members: [{ ...principal, place: null }],
    place: null,
  }));
  return policyOf(
    roles,
    grants.map((one) => ({ ...one, principal: { kind: 'role', role: `r-${one.id}` } })),
  );
}

const compiles = (set: PolicySet, intervals: number): boolean => compilePolicy(set, { ...ENGINE_LIMITS, intervals }).ok;

describe('many windows at one namespace', () => {
  const COUNT = 2000;
  const windows = many(COUNT, (index) => grant(index));

  it.each([
    ['of one identity', policyOf([], windows)],
    ['of as many roles', throughRoles(windows)],
  ])('%s are kept in proportion to their number', (_, set) => {
    expect([compiles(set, 10 * COUNT), compiles(set, 3 * COUNT)]).toEqual([true, false]);
  });

  it('decide the same, and have the same digest, whoever they are given through', () => {
    const overlapping = many(300, (index) =>
      grant(index, { scopes: (1 << (index % 10)) as ScopeSet, expires: hour(2 * index + (index % 7)) }),
    ).filter(({ notBefore, expires }) => (notBefore ?? 0) < (expires ?? 0));
    expect(compile(throughRoles(overlapping)).decisions).toBe(compile(policyOf([], overlapping)).decisions);
    expect(compile(throughRoles(windows)).decisions).toBe(compile(policyOf([], windows)).decisions);
    expect(compile(policyOf([], windows.slice(1))).decisions).not.toBe(compile(policyOf([], windows)).decisions);
  });

  it('that abut are one, also where some are not inherited and some hold always', () => {
    const abutting = many(500, (index) => grant(index, { expires: hour(2 * index + 2) }));
    const whole = grant(0, { expires: hour(1000) });
    expect(compile(policyOf([], abutting)).decisions).toBe(compile(policyOf([], [whole])).decisions);
    const mixed = many(500, (index) => grant(index, { expires: hour(2 * index + 2), inherit: index % 2 === 0 }));
    const even = mixed.filter(({ inherit }) => inherit);
    expect(compile(policyOf([], mixed)).decisions).toBe(
      compile(policyOf([], [...even, { ...whole, id: 'whole', inherit: false }])).decisions,
    );
    const always = grant(500, { notBefore: null, expires: null });
    expect(compile(policyOf([], [...mixed, always])).decisions).toBe(compile(policyOf([], [always])).decisions);
  });
});

describe('rights that change more often than the limit', () => {
  // Every namespace below begins with all the windows above it and adds one, so that their number is squared.
  const squared = policyOf(
    [],
    many(120, (index) => grant(index, index < 60 ? {} : { namespace: pathOf(`/a/b${String(index)}`) })),
  );

  it('are refused with what to do, and so is their snapshot', () => {
    const least = 2 * 60 * 121;
    expect([compiles(squared, 2 * least), compiles(squared, least / 2)]).toEqual([true, false]);
    const refused = compilePolicy(squared, { ...ENGINE_LIMITS, intervals: 5000 });
    expect(refused.ok ? [] : refused.diagnostics).toMatchObject([
      {
        code: 'LIMIT_EXPANDED',
        severity: 'error',
        file: 'policy.yaml',
        message: expect.stringContaining('change more than 5,000 times'),
        help: expect.stringContaining('`expires`'),
      },
    ]);
    const { bytes } = compile(squared);
    const decoded = decodeSnapshot(bytes);
    if (!decoded.ok) throw new Error(decoded.fault.message);
    const { snapshot } = decoded;
    expect(decisionsFault(snapshot, snapshot.decisions, ENGINE_LIMITS)).toBe(null);
    expect(decisionsFault(snapshot, snapshot.decisions, { ...ENGINE_LIMITS, intervals: 5000 })).toMatchObject({
      code: 'snapshot.limit',
      message: expect.stringContaining('intervals'),
    });
    expect(decisionsFault(snapshot, snapshot.decisions, { ...ENGINE_LIMITS, expandedRows: 0 })).toEqual({
      code: 'snapshot.limit',
      message: 'the policy has more rows than the limit once its roles are followed',
    });
    expect(decisionsFault(snapshot, 'another', ENGINE_LIMITS)?.code).toBe('snapshot.decisions');
  });

  it('are also counted where they are written, however few of them differ', () => {
    // Two hundred namespaces beside each other where the same windows are given.
    const alike = policyOf(
      [],
      many(4000, (index) =>
        grant(index % 20, { id: `g${String(index)}`, namespace: pathOf(`/n${String(Math.floor(index / 20))}`) }),
      ),
    );
    expect([compiles(alike, 200 * 2 * 40), compiles(alike, 100 * 2 * 40)]).toEqual([true, false]);
  });

  it('leave policies alone whose rights never change', () => {
    const timeless = policyOf(
      [],
      many(50, (index) => grant(index, { notBefore: null, expires: null })),
    );
    expect(compiles(timeless, 0)).toBe(true);
  });
});
