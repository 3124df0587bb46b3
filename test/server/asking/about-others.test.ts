// What is left of a subject's places within those of its asker, however many they are.
import { describe, expect, it } from '@jest/globals';
import { ALL_SCOPES, type NamespacePath } from '../../../engine/index.js';
import { narrowed, partsWithin, tops } from '../../../server/asking/about-others.js';
import { pathOf } from '../../support/gateway.js';

const at = (...paths: readonly string[]): readonly NamespacePath[] => paths.map(pathOf);
const asker = (namespaceRestrictions: readonly NamespacePath[]) => ({
  credentialScopes: ALL_SCOPES,
  namespaceRestrictions,
});
const meet = (a: readonly NamespacePath[], b: readonly NamespacePath[]): readonly NamespacePath[] | null =>
  narrowed(asker(a), { kind: 'request', identities: [], ...asker(b) }).namespaceRestrictions;

describe('places', () => {
  it('of two lists are those at or below one of each', () => {
    expect(meet(at('/a', '/b/c', '/d'), at('/a/x', '/b', '/d', '/e'))).toEqual(at('/b/c', '/d', '/a/x'));
    expect(meet(at('/'), at('/a', '/a/b'))).toEqual(at('/a'));
    expect(meet(at('/a'), at('/ab'))).toEqual([]);
  });

  it('without those below others are each given once', () => {
    expect(tops(at('/a/b', '/a', '/ab', '/a', '/a/b/c'))).toEqual(at('/a', '/ab'));
    expect(tops(at('/a', '/'))).toEqual(at('/'));
  });

  it('of a region are the outermost ones of the asker', () => {
    const region = { namespace: pathOf('/a'), extent: 'subtree' } as const;
    expect(partsWithin(asker(at('/a/b', '/a/b/c', '/x')), region)).toMatchObject([{ namespace: '/a/b' }]);
  });

  it('may be as many as a body holds: the work grows with their number, not with its square', () => {
    const many = at(...Array.from({ length: 80_000 }, (_, index) => `/p${String(index)}`));
    expect(meet(many, many)).toEqual(many);
  });
});
