// Several slips in one entry: what is wrong with its other keys and items is told as well, and nothing is made up of what an
// open quote or bracket leaves unknown (design 3.2: all mistakes in one run).
import { describe, expect, test } from '@jest/globals';
import { readExample, summary } from './support.js';

describe('an entry with several slips tells all of them, and what else is wrong in it', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'keys of a grant',
      'grants:\n  - id: a\n    role: "st\n    namespace: /Labs\n    inherit: @yes\n    scopes: [resource:raed]\n',
      ['YAML_QUOTE_UNCLOSED t', 'NAMESPACE_INVALID /Labs', 'YAML_SCALAR_START @', 'SCOPE_UNKNOWN resource:raed'],
    ],
    [
      'a key without colon, a bracket and a quote left open',
      'grants:\n  - id: a\n    role staff\n    namespace: /Labs\n    scopes: [resource:read\n    reason: "x\n',
      ['YAML_COLON_MISSING role staff', 'NAMESPACE_INVALID /Labs', 'YAML_UNCLOSED d', 'YAML_QUOTE_UNCLOSED x'],
    ],
    [
      'a dash of a list too far left',
      'grants:\n  - id: a\n    role: staff\n    scopes:\n      - resource:read\n     - resource:write\n    namespace: /Labs\n',
      ['YAML_INDENT - resource:write', 'NAMESPACE_INVALID /Labs'],
    ],
    [
      'items of a list',
      'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n    scopes:\n      - "resource:read\n      - resource:raed\n      - @x\n      - resource:wrte\n',
      ['YAML_QUOTE_UNCLOSED d', 'SCOPE_UNKNOWN resource:raed', 'YAML_SCALAR_START @', 'SCOPE_UNKNOWN resource:wrte'],
    ],
    [
      'keys inside a role, and names of the others',
      'roles:\n  a:\n    description: "x\n    members: [visitor:q]\n  b: { members: [{ role: nope }] }\ngrants:\n  - { id: g, role: neither, namespace: /labs, scopes: [resource:read] }\n',
      ['YAML_QUOTE_UNCLOSED x', 'PROVIDER_UNKNOWN visitor:q', 'ROLE_UNKNOWN nope', 'ROLE_UNKNOWN neither'],
    ],
    [
      'braces on one line',
      'grants: [{ id: a, role: nope, namespace: /A, scopes: [x] }, { id: b role: nope, namespace: /B, scopes: [y] }, { id: c, role: nope2, namespace: /C, scopes: [z }]\n',
      [
        'ROLE_UNKNOWN nope',
        'NAMESPACE_INVALID /A',
        'SCOPE_UNKNOWN x',
        'YAML_COLON_IN_TEXT b role: nope',
        'NAMESPACE_INVALID /B',
        'SCOPE_UNKNOWN y',
        'ROLE_UNKNOWN nope2',
        'NAMESPACE_INVALID /C',
        'YAML_UNCLOSED }',
      ],
    ],
    [
      'a file of JSON',
      '{ "grants": [\n  { "id": "a" "role": "nope", "namespace": "/A", "scopes": [] },\n  { "id":"c","role":"nope","namespace":"/C","scopes":["z" }\n], "roles": { "q": { "members": ["visitor:x"] } } }\n',
      [
        'YAML_COLON_IN_TEXT "a" "role": "nope"',
        'NAMESPACE_INVALID "/A"',
        'SCOPE_LIST_EMPTY []',
        'ROLE_UNKNOWN "nope"',
        'NAMESPACE_INVALID "/C"',
        'YAML_UNCLOSED }',
        'PROVIDER_UNKNOWN "visitor:x"',
      ],
    ],
    [
      'a quote left open in braces: nothing is made of what stands behind it on its line',
      'grants:\n  - { id: a, role: "staff, or, else: nobody, namespace: /labs }\n  - { id: b, role: nope, namespace: /labs, scopes: [resource:read] }\n',
      ['YAML_QUOTE_UNCLOSED }', 'ROLE_UNKNOWN nope'],
    ],
    [
      'texts behind their closing quotes',
      'grants:\n  - id: a\n    role: "staff"y\n    namespace: /Labs\n    scopes: [resource:read] z\n',
      ['YAML_TRAILING y', 'NAMESPACE_INVALID /Labs', 'YAML_TRAILING z'],
    ],
  ])('%s', (_, text, expected) => {
    const reading = readExample(text);
    expect(summary(reading)).toEqual(expected);
    expect(reading.policy).toBeNull();
  });
});
