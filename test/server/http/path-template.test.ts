import { describe, expect, it, test } from '@jest/globals';
import { pathTemplate } from '../../../server/http/path-template.js';

describe('the path of a route', () => {
  it('is literal where it says so', () => {
    const { pattern, partOf } = pathTemplate('/api/v1/query');
    expect([pattern, partOf('/api/v1/query')]).toEqual(['/api/v1/query', null]);
  });

  test.each([
    ['/a/{id}', '/a/x', 'x'],
    ['/a/{id}', '/a/%2e%2E%2Fx', '%2e%2E%2Fx'],
    ['/a/{id}', '/a/..', '..'],
    ['/a/{id}', '/a/', null],
    ['/a/{id}', '/a', null],
    ['/a/{id}', '/a/x/', null],
    ['/a/{id}', '/a/x/y', null],
    ['/a/{id}', '/A/x', null],
    ['/a/{id}', '/b/a/x', null],
    ['/a/{id}/copies', '/a/x/copies', 'x'],
    ['/a/{id}/copies', '/a/copies', null],
    ['/a.b/{id}', '/a.b/x', 'x'],
    ['/a.b/{id}', '/aab/x', null],
    ['/n{path}', '/n/', '/'],
    ['/n{path}', '/n/a/b/', '/a/b/'],
    ['/n{path}', '/n//', '//'],
    ['/n{path}', '/n', null],
    ['/n{path}', '/na', null],
    ['/n{path}', '/n%2Fa%2fb', '/a/b'],
    ['/n{path}', '/n%2F', '/'],
    ['/n{path}', '/n%252Fa', null],
    ['/n{path}', '/n%2Fa%252Fb', '/a%252Fb'],
    ['/n{path}', '/n%2F%2e%2e%2Fb', '/%2e%2e/b'],
    ['/n{path}/archive', '/n%2Fa/archive', '/a'],
    ['/n{path}/archive', '/n%2Fa%2Farchive', null],
    ['/n{path}/archive', '/n/a/archive', '/a'],
    ['/n{path}/archive', '/n/archive', null],
  ])('%s leaves open of %s: %s', (template, path, part) => {
    const { pattern, partOf } = pathTemplate(template);
    expect(partOf(path)).toBe(part);
    // The router sees the same, and captures nothing that it could decode.
    expect(new RegExp(pattern).exec(path)?.length ?? null).toBe(part === null ? null : 1);
  });

  it.each(['/a/{name}', '/a/{id}/{id}', '/a{path}/{id}'])('is not %s', (template) => {
    expect(() => pathTemplate(template)).toThrow('not a path of a route');
  });
});
