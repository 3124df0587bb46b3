// The decision table at its edges, against the slow evaluator: many children, places at the limits of paths, windows at a
// millisecond, nothing at all.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  canonicalize,
  decide,
  heldScopes,
  type Identity,
  type Instant,
  instantOf,
  judgeAs,
  NAMESPACE_LIMITS,
  resolveActor,
  type ScopeSet,
  visibility,
} from '../../engine/index.js';
import { oracleDecide } from './oracle/oracle.js';
import { pathOf, policyOf } from './oracle/worlds.js';
import { READ, NOW, ADA, load, grant, actorOf, ask, askAt } from './table-world.js';

describe('subjects', () => {
  it('are told apart to the last unit, whatever their length and letters', () => {
    const named = [
      'a',
      'ab',
      'abc',
      'abcd',
      'é',
      'aé',
      '\u0141',
      'a\u0141',
      '\u{1d49c}',
      'x'.repeat(255),
      'x'.repeat(254),
    ];
    const others = [
      '',
      'a\0',
      'ab\0',
      'b',
      'abd',
      'A',
      'aA',
      'a\u0241',
      '\u0041\u0001',
      '\ud835',
      'x'.repeat(256),
      'x'.repeat(9999),
    ];
    const policy = load(
      policyOf(
        [],
        named.map((subject) =>
          grant('/n', { principal: { kind: 'identity', identity: { provider: 'orcid', subject } } }),
        ),
      ),
    );
    named.forEach((subject, i) => {
      expect(ask(policy, { provider: 'orcid', subject }, '/n')).toBe(`g${String(i)}`);
    });
    for (const subject of others)
      expect([subject, ask(policy, { provider: 'orcid', subject }, '/n')]).toEqual([subject, 'no_matching_grant']);
  });
});

describe('identities of one actor', () => {
  it('are each found, however many there are and whatever stands between them', () => {
    const subjects = Array.from({ length: 9 }, (_, i) => 'x'.repeat(1 + 31 * i));
    const identityOf = (subject: string): Identity => ({ provider: 'orcid', subject });
    const policy = load(
      policyOf(
        [],
        subjects.map((subject, i) =>
          grant(`/n${String(i)}`, { principal: { kind: 'identity', identity: identityOf(subject) } }),
        ),
      ),
    );
    const strangers = ['y', 'x'.repeat(256), 'x'.repeat(30)].map(identityOf);
    const held = (own: readonly Identity[]): readonly string[] =>
      subjects
        .map((_, i) => pathOf(`/n${String(i)}`))
        .filter((path) => {
          const request = { kind: 'access', scope: 'resource:read', context: path, target: path } as const;
          return decide(policy, { actor: actorOf(...own), request, at: NOW }).decision === 'allow';
        });
    for (let count = 0; count <= subjects.length; count += 1) {
      const own = subjects.slice(0, count).map(identityOf);
      const expected = own.map((_, i) => `/n${String(i)}`);
      expect(held(own)).toEqual(expected);
      for (let at = 0; at <= count; at += 1)
        for (const stranger of strangers) expect(held(own.toSpliced(at, 0, stranger))).toEqual(expected);
    }
  });
});

describe('many namespaces', () => {
  it('70,000 under one parent, more than a table keeps texts of: each is found, and each with what is below it', () => {
    const COUNT = 70_000;
    const nameOf = (number: number): string => `/top/n${number.toString(36)}`;
    const policy = load(
      policyOf(
        [],
        Array.from({ length: COUNT }, (_, i) => grant(nameOf(i), { inherit: i % 2 === 0 })),
      ),
    );
    for (let i = 0; i < COUNT; i += 257) {
      expect(ask(policy, ADA, nameOf(i))).toBe(`g${String(i)}`);
      expect(ask(policy, ADA, `${nameOf(i)}/x`)).toBe(i % 2 === 0 ? `g${String(i)}` : 'no_matching_grant');
    }
    expect(ask(policy, ADA, nameOf(COUNT))).toBe('no_matching_grant');
    expect(ask(policy, ADA, '/top')).toBe('no_matching_grant');
    const names = Array.from({ length: COUNT }, (_, i) => nameOf(i));
    const exact = names.filter((_, i) => i % 2 === 1).sort();
    const subtrees = names.filter((_, i) => i % 2 === 0).sort();
    for (const time of ['texts are made', 'texts are there, or make room for others']) {
      const seen = visibility(policy, {
        actor: actorOf(ADA),
        request: { family: 'resource', context: pathOf('/top'), reach: 'subtree' },
        at: NOW,
      });
      const isRight =
        seen.kind === 'some' && seen.exact.join() === exact.join() && seen.subtrees.join() === subtrees.join();
      expect([time, isRight]).toEqual([time, true]);
    }
  });
});

describe('places at the limits of paths', () => {
  const deepest = '/d'.repeat(NAMESPACE_LIMITS.segments);
  const longest = `${`/${'x'.repeat(63)}`.repeat(15)}/${'y'.repeat(63)}`;

  it.each([
    { name: 'depth', path: deepest },
    { name: 'bytes', path: longest },
  ])('are decided as any other: $name', ({ path }) => {
    expect([canonicalize(path).ok, canonicalize(`${path}/z`).ok]).toEqual([true, false]);
    const parent = path.slice(0, path.lastIndexOf('/'));
    const policy = load(
      policyOf([], [grant(path), grant(parent, { inherit: false }), grant('/d', { inherit: false })]),
    );
    expect(ask(policy, ADA, path)).toBe('g0');
    expect(ask(policy, ADA, parent)).toBe('g1');
    expect(ask(policy, ADA, `${parent}/z`)).toBe('no_matching_grant');
    for (let above = parent; above !== ''; above = above.slice(0, above.lastIndexOf('/'))) {
      expect(ask(policy, ADA, above)).toBe(above === parent ? 'g1' : above === '/d' ? 'g2' : 'no_matching_grant');
    }
  });
});

describe('windows', () => {
  it('open and close at their millisecond, beside grants that are always open', () => {
    const at = (milliseconds: number): Instant => instantOf(milliseconds);
    const bounds = [null, at(999), at(1000), at(1001)];
    const windows = bounds.flatMap((notBefore) =>
      bounds.flatMap((expires) =>
        notBefore !== null && expires !== null && notBefore >= expires ? [] : [{ notBefore, expires }],
      ),
    );
    const set = policyOf(
      [],
      ['/a', '/a/b', '/a/b/c'].flatMap((path) =>
        windows.flatMap((window) => [grant(path, window), grant(path, { ...window, inherit: false })]),
      ),
    );
    for (const kept of [set, { ...set, grants: set.grants.filter((one) => one.notBefore ?? one.expires) }]) {
      const policy = load(kept);
      for (const path of ['/', '/a', '/a/x', '/a/b', '/a/b/x', '/a/b/c', '/a/b/c/x']) {
        for (const instant of [998, 999, 1000, 1001, 1002].map(at)) {
          const target = pathOf(path);
          const request = { kind: 'access', scope: 'resource:read', context: target, target } as const;
          const expected = oracleDecide(kept, { actor: actorOf(ADA), request, at: instant });
          expect(askAt(policy, ADA, { path, at: instant })).toBe(expected.step ?? (expected.grants ?? []).join());
        }
      }
    }
  });

  it('hold nothing at a time that is not an instant', () => {
    const policy = load(policyOf([], [grant('/a'), grant('/b', { expires: instantOf(5) })]));
    for (const at of [NaN, Infinity]) {
      expect(askAt(policy, ADA, { path: '/a', at: at as Instant })).toBe('no_matching_grant');
      expect(askAt(policy, ADA, { path: '/b', at: at as Instant })).toBe('no_matching_grant');
    }
  });
});

describe('an actor that is resolved', () => {
  // Its steps are merged up to a bound; what holds on one side of it holds on the other.
  it.each([3, 300, 1200])('holds what its identities hold, with %d grants', (count) => {
    const work: Identity = { provider: 'orcid', subject: 'ada at work' };
    const holders = [ADA, work, { provider: 'orcid', subject: 'not in the policy' }];
    const grants = Array.from({ length: count }, (_, i) =>
      grant(`/n${String(i % 400)}${'/x'.repeat(i % 3)}`, {
        principal: { kind: 'identity', identity: i % 2 === 0 ? ADA : work },
        scopes: (i % 5 === 0 ? 1 : READ) as ScopeSet,
        inherit: i % 4 !== 0,
        notBefore: i % 7 === 0 ? instantOf(5) : null,
      }),
    );
    const policy = load(policyOf([], grants));
    const resolved = resolveActor(policy, actorOf(...holders));
    for (const path of ['/', ...Array.from({ length: 60 }, (_, i) => `/n${String(i * 7)}${'/x'.repeat(i % 5)}`)]) {
      for (const at of [NOW, instantOf(5)]) {
        const target = pathOf(path);
        const request = { kind: 'access', scope: 'resource:read', context: target, target } as const;
        const expected = holders.some(
          (one) => decide(policy, { actor: actorOf(one), request, at }).decision === 'allow',
        );
        expect([path, judgeAs(resolved, { request, at })]).toEqual([path, expected ? 'allow' : 'no_matching_grant']);
      }
    }
  });
});

describe('an empty policy', () => {
  it('holds nothing anywhere', () => {
    const policy = load(policyOf([], []));
    for (const path of ['/', '/a', '/d'.repeat(NAMESPACE_LIMITS.segments)])
      expect(ask(policy, ADA, path)).toBe('no_matching_grant');
    expect(heldScopes(policy, { actor: actorOf(ADA), namespace: pathOf('/a'), at: NOW })).toEqual([]);
  });
});

describe('the one pass over a path', () => {
  /** docs/meaning.md "Namespaces" as regular expressions and nothing else. */
  const isPath = (text: string): boolean => {
    if (text === '/') return true;
    const path = `${text.startsWith('/') ? '' : '/'}${text.replace(/\/$/, '')}`;
    const segments = path.slice(1).split('/');
    return (
      path.length <= NAMESPACE_LIMITS.bytes &&
      segments.length <= NAMESPACE_LIMITS.segments &&
      segments.every((segment) => /^[a-z0-9._~-]{1,63}$/.test(segment) && segment !== '.' && segment !== '..')
    );
  };

  it('accepts exactly what is a path, and says what is wrong with the rest', () => {
    const piece = fc.constantFrom(
      'a',
      '.',
      '..',
      '...',
      '.a',
      '/',
      '/',
      'A',
      'é',
      '\n',
      '\0',
      '~',
      '-',
      'x'.repeat(62),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 70 }), (pieces) => {
        const text = pieces.join('');
        const result = canonicalize(text);
        expect(result.ok).toBe(isPath(text));
        if (result.ok) expect(canonicalize(result.path)).toEqual(result);
        else expect(result.fault).toMatch(/^[a-z_]+$/);
      }),
      { numRuns: 3000 },
    );
  });
});
