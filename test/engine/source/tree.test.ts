// All three ways of reading give the same tree: the quick reader and reading in pieces agree with the whole YAML parser.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ENGINE_LIMITS } from '../../../engine/limits.js';
import { parseYaml } from '../../../engine/source/parse.js';
import { readQuickly } from '../../../engine/source/quick.js';
import { readTree } from '../../../engine/source/read-tree.js';
import type { Node, SourceFault } from '../../../engine/source/tree.js';
import { testRuns } from '../../support/test-runs.js';

const limits = ENGINE_LIMITS;

/** What the whole parser makes of a text: its tree, or null if it refuses or finds nothing. */
function wholly(text: string, window?: number): Node | null {
  const faults: SourceFault[] = [];
  const source = { text, offset: 0, limits, budget: { left: 1e6 }, report: (fault: SourceFault) => faults.push(fault) };
  const parsed = parseYaml(source, window);
  return parsed.kind === 'tree' && faults.length === 0 ? parsed.node : null;
}

function inPieces(text: string, pieceLength: number): Node | null {
  const faults: SourceFault[] = [];
  const parsed = readTree({ text, limits, report: (fault) => faults.push(fault) }, pieceLength);
  return parsed.kind === 'tree' && faults.length === 0 ? parsed.node : null;
}

const SOUP = [
  ...[
    '- ',
    'a: ',
    'b: ',
    'c:',
    'a:b',
    '"x"',
    "'y'",
    '"q r": ',
    'q /: ',
    '[',
    ']',
    '{',
    '}',
    ',',
    ', ',
    'text',
    'two words',
    ' # c',
  ],
  ...[
    '#c',
    ': ',
    ':',
    '\n',
    '\n  ',
    '\n    ',
    '\n- ',
    '\n  - ',
    '\n    - ',
    '\n a: ',
    '\n  b: ',
    '\n  b /x: ',
    '\n  b /x /y: ',
    '\n\n',
    '\n# k\n',
    '-',
    '?',
  ],
  ...[
    '|',
    '>',
    '~',
    'null',
    '0123',
    '/x/y',
    '1: ',
    '"',
    "'",
    '*a',
    '&a',
    '!t',
    '---',
    '...',
    '%',
    'x#y',
    '\\',
    '@',
    '<<: ',
  ],
  ...['true', '.5', '  ', 'é', ' ]', '\n]', '"k":1', '{a: b}', '[a, b]', '- - x', '- a: 1'],
];

describe('the quick reader', () => {
  it('gives the tree of the whole parser, or gives up', () => {
    let understood = 0;
    const text = fc
      .array(fc.constantFrom(...SOUP), { minLength: 1, maxLength: 14 })
      .map((parts) => `a: ${parts.join('')}`);
    fc.assert(
      fc.property(text, (source) => {
        const quick = readQuickly({ text: source, offset: 0, depth: limits.depth, budget: { left: 1e6 } });
        if (quick === null) return;
        understood += 1;
        expect(quick).toEqual(wholly(source));
      }),
      testRuns(4_000),
    );
    expect(understood).toBeGreaterThan(100);
  });

  it('understands what policies are written in', () => {
    const text = [
      '# grants of a beamline',
      'within: /beamlines/amx # delegated',
      'grants:',
      '- id: a',
      '  role: staff',
      '  scopes: [resource:read, "process-run:*",',
      "           '*:read']",
      '  expires: 2027-06-30T00:00:00Z',
      '',
      '- { id: b, identity: orcid:0000-0002-1825-0097, namespace: /labs/optics }',
      'tests:',
      '  - name: said: no',
      '    sees:',
      '      resource /: [/labs, /labs/optics-2]',
      '      process-run /labs/optics-2: []',
      '    also: { resource /labs: [], process-run /: [/] }',
    ].join('\n');
    expect(readQuickly({ text, offset: 0, depth: 8, budget: { left: 100 } })).toBeNull();
    const right = text.replace('said: no', 'said no');
    const quick = readQuickly({ text: right, offset: 0, depth: 8, budget: { left: 100 } });
    expect(quick).not.toBeNull();
    expect(quick).toEqual(wholly(right));
  });
});

describe('the whole parser', () => {
  it('reads the same however early it lets go of what is complete', () => {
    let accepted = 0;
    const text = fc.array(fc.constantFrom(...SOUP), { minLength: 1, maxLength: 30 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 12 }), (source, window) => {
        const whole = wholly(source);
        if (whole !== null) accepted += 1;
        expect(wholly(source, window)).toEqual(whole);
      }),
      testRuns(2_000),
    );
    expect(accepted).toBeGreaterThan(20);
  });
});

describe('a file read in pieces', () => {
  const item = fc.constantFrom(
    '- id: a\n  role: b\n',
    '- { id: a, s: [x, "y"] }\n',
    '- |\n  text\n  more\n',
    '- plain\n  goes on\n',
    '- "x\n  y"\n',
    '- k:\n  - a\n  - b\n',
    'n1: { members: [a] }\n',
    'n2:\n  m: [x,\n    y]\n',
    'n3: text\n  on\n',
    '? n4\n: v\n',
    'n5: |\n abc\n def\n',
    'oops\n',
    '# c\n',
    '\n',
    ' odd\n',
    '&x n6: a\n',
  );
  const section = fc.record({
    name: fc.constantFrom('grants', 'roles', 'within', 'tests'),
    head: fc.constantFrom('', ' ', ' # c', ' text', ' [a,\n  b]', ' |'),
    indent: fc.constantFrom('', '  ', '    '),
    items: fc.array(item, { maxLength: 6 }),
    tail: fc.constantFrom('', '', '', '# c\n', '- x\n', '...\n', '---\n', '}\n'),
  });
  const file = fc.tuple(
    fc.constantFrom('', '', '# head\n', '---\n', '- x\n', '  grants: []\n', ' # c\n'),
    fc.array(section, { minLength: 1, maxLength: 4 }),
  );

  it.each(['  grants: []\n', '- a\n- b\n', '  # c\n  text\n', '{ grants: [] }\n'])('is all of it: %j', (text) => {
    expect(inPieces(text, 1)).toEqual(wholly(text));
    expect(wholly(text)).not.toBeNull();
  });

  it('has the tree of the whole, and is refused where the whole is', () => {
    let accepted = 0;
    fc.assert(
      fc.property(file, fc.integer({ min: 1, max: 40 }), ([start, sections], pieceLength) => {
        const bodies = sections.map(({ name, head, indent, items, tail }) => {
          const body = items.map((text) => text.replaceAll(/^(?=.)/gm, indent)).join('');
          return `${name}:${head}\n${body}${tail}`;
        });
        const text = start + bodies.join('');
        const whole = wholly(text);
        if (whole !== null) accepted += 1;
        expect(inPieces(text, pieceLength)).toEqual(whole);
        expect(wholly(text, pieceLength)).toEqual(whole);
      }),
      testRuns(500),
    );
    expect(accepted).toBeGreaterThan(20);
  });
});
