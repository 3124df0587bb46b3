// A cursor opens for its own actor, query and visibility, and for nothing else.
import { describe, expect, it } from '@jest/globals';
import { ApiProblem } from '../../../server/problem.js';
import { openCursor, sealCursor, type CursorBinding } from '../../../server/query/cursor.js';
import type { SortPosition } from '../../../server/query/order.js';
import { parseQuery } from '../../support/parse-query.js';

const binding: CursorBinding = { secret: new Uint8Array(32).fill(1), actorId: 'anna', visibility: 'sha256:1' };
const plan = parseQuery({ family: 'resource', namespace: '/labs' }, 'query');
const position: SortPosition = ['canary-4f', null, '01900000-0000-7000-8000-000000000001'];
const check = (value: unknown): value is SortPosition => Array.isArray(value) && value.length === 3;
const sealed = sealCursor(position, { plan, binding });

function codeOf(open: () => unknown): string {
  try {
    open();
    return 'opened';
  } catch (error) {
    return error instanceof ApiProblem ? error.code : 'another error';
  }
}

describe('a cursor', () => {
  it('gives back its place', () => {
    expect(openCursor(sealed, { plan, binding, check })).toEqual(position);
  });

  it('is the same text for the same place and shows nothing of it', () => {
    expect(sealCursor(position, { plan, binding })).toBe(sealed);
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('canary');
  });

  it.each<[string, Partial<CursorBinding>, object]>([
    ['actor', { actorId: 'bert' }, {}],
    ['visibility', { visibility: 'sha256:2' }, {}],
    ['installation', { secret: new Uint8Array(32).fill(2) }, {}],
    ['condition', {}, { where: { name: { eq: 'a' } } }],
    ['order', {}, { orderBy: [{ name: 'asc' }] }],
    ['namespace', {}, { namespace: '/labs/x' }],
  ])('does not open with another %s', (_, other, body) => {
    const otherPlan = parseQuery({ family: 'resource', namespace: '/labs', ...body }, 'query');
    expect(codeOf(() => openCursor(sealed, { plan: otherPlan, binding: { ...binding, ...other }, check }))).toBe(
      'query.cursor',
    );
  });

  it('does not open when any byte of it has changed', () => {
    const bytes = Buffer.from(sealed, 'base64url');
    const codes = bytes.map((byte, index) => {
      const changed = Buffer.from(bytes);
      changed[index] = byte ^ 1;
      return codeOf(() => openCursor(changed.toString('base64url'), { plan, binding, check })) === 'query.cursor'
        ? 1
        : 0;
    });
    expect([...codes]).toEqual([...bytes].map(() => 1));
  });

  it.each([
    ['', 'empty'],
    [sealed.slice(0, -1), 'shorter'],
    [`${sealed}=`, 'padded'],
    [` ${sealed}`, 'after a space'],
    [`${sealed}\n`, 'before a line end'],
    [Buffer.from('{}').toString('base64url'), 'an object'],
    [Buffer.from('[1]').toString('base64url'), 'a list'],
    ['é', 'not of the alphabet'],
  ])('does not open as %j (%s)', (text) => {
    expect(codeOf(() => openCursor(text, { plan, binding, check }))).toBe('query.cursor');
  });

  it('does not open as a place in an order of another shape', () => {
    const never = (value: unknown): value is SortPosition => value === undefined;
    expect(codeOf(() => openCursor(sealed, { plan, binding, check: never }))).toBe('query.cursor');
  });
});
