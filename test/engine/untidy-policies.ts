// Policy files as many hands might write them: blocks and brackets, quotes or none, several lines or one, comments and blank
// lines wherever YAML lets them stand. Which of all the ways is decided by a seed.
import fc from 'fast-check';

export interface Dice {
  /** Below n. */
  readonly roll: (n: number) => number;
}

export function makeDice(seed: number): Dice {
  let state = seed >>> 0;
  return {
    roll: (n) => {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
      return (state >>> 7) % n;
    },
  };
}

export interface Hand {
  readonly dice: Dice;
  /** Keys in the order of the value, or in any. */
  readonly keys: 'in order' | 'any';
}

/**
 * A file that says this. Each of its comments is another text: `# above 1: …` a key or an item, `# behind 2: …` a text on its
 * line, or `# inside 3: …`, wherever else.
 */
export function untidy(value: unknown, { dice, keys }: Hand): string {
  let comments = 0;
  const remark = (where: 'above' | 'behind' | 'inside'): string => `# ${where} ${String((comments += 1))}: [x] "y, {z`;
  const entriesOf = (item: object): readonly (readonly [string, unknown])[] =>
    keys === 'any' ? shuffled(Object.entries(item), dice) : Object.entries(item);
  const oneIn = (n: number): boolean => dice.roll(n) === 0;

  const scalar = (text: unknown): string => {
    if (typeof text !== 'string') return String(text);
    const plain = /^[a-z/][\w/.:-]*$/.test(text) && !text.endsWith(':') && !/^(?:true|false|null)$/.test(text);
    if (plain && dice.roll(3) > 0) return text;
    return oneIn(2) && !text.includes('\n') ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
  };

  // In brackets, on one line or on many; a line of the latter is indented by `indent`.
  const brackets = (item: unknown, indent: string): string => {
    if (typeof item !== 'object' || item === null) return scalar(item);
    const spread = oneIn(3);
    const inner = `${indent}${' '.repeat(dice.roll(3))}`;
    const [open, close] = Array.isArray(item) ? '[]' : '{}';
    const parts = Array.isArray(item)
      ? item.map((part) => brackets(part, inner))
      : entriesOf(item).map(([key, part]) => {
          const gap = spread && oneIn(8) ? ` ${remark('inside')}\n${inner} ` : ' ';
          return `${scalar(key)}:${gap}${brackets(part, `${inner} `)}`;
        });
    const space = ['', ' ', '  '][dice.roll(3)] ?? '';
    const comma = Array.isArray(item) ? `,${space}` : `,${space || ' '}`;
    if (!spread) return `${open ?? ''}${space}${parts.join(comma)}${space}${close ?? ''}`;
    const lines = parts.map((part, index) => {
      const last = index === parts.length - 1;
      const above = between(inner, /^[[{]/.test(part) ? 'inside' : 'above');
      if (oneIn(8)) return `${above}${inner}${part}${behind(part)}\n${last ? '' : `${inner},\n`}`;
      return `${above}${inner}${part}${last ? '' : ','}${behind(part)}\n`;
    });
    const opened = oneIn(4) ? ` ${remark('inside')}` : '';
    return `${open ?? ''}${opened}\n${lines.join('')}${between(inner, 'inside')}${inner}${close ?? ''}`;
  };

  const between = (indent: string, where: 'above' | 'inside'): string => {
    // Further in than what it stands above, a comment may belong to the block before.
    const further = (): string => (keys === 'any' && where === 'above' ? '' : ' '.repeat(dice.roll(3)));
    const lines = Array.from({ length: [0, 0, 0, 1, 2][dice.roll(5)] ?? 0 }, () =>
      oneIn(2) ? '\n' : `${indent}${further()}${remark(where)}\n`,
    );
    return lines.join('');
  };
  const behind = (part = ''): string => (oneIn(5) ? `   ${remark(/[\]}]$/.test(part) ? 'inside' : 'behind')}` : '');

  /** What stands between a key and its value: mostly nothing. */
  const gap = (indent: string): string => {
    if (!oneIn(12)) return ' ';
    return oneIn(2) ? ` ${remark('inside')}\n${indent}` : `\n${indent}${remark('inside')}\n${indent}`;
  };

  const text = (item: unknown, indent: string): string => {
    const isLines = typeof item === 'string' && /^\S[^\n]*(?:\n[^\n]+)+\n?$/.test(item);
    if (isLines && oneIn(2)) {
      const header = oneIn(3) ? ` ${remark('inside')}` : '';
      const [chomp, body] = item.endsWith('\n') ? ['', item.slice(0, -1)] : ['-', item];
      return ` |${chomp}${header}\n${body.replaceAll(/^/gm, `${indent} `)}\n`;
    }
    if (typeof item === 'string' && item.length > 60 && oneIn(2)) {
      const header = oneIn(3) ? ` ${remark('inside')}` : '';
      return ` >-${header}\n${indent} ${item.replace(/^((?:\S+ ){4}\S+) /, `$1\n${indent} `)}\n`;
    }
    if (typeof item === 'string' && item.length > 60) return ` ${item.replace(' ', `\n${indent} `)}${behind()}\n`;
    return `${gap(`${indent} `)}${scalar(item)}${behind()}\n`;
  };

  /** What stands above a mapping does not speak of its first key. */
  const aboveItem = (item: unknown): 'above' | 'inside' => (typeof item === 'object' ? 'inside' : 'above');
  const block = (item: unknown, indent: string, first: 'above' | 'inside' = 'above'): string => {
    const step = `${indent}${' '.repeat(1 + dice.roll(4))}`;
    if (typeof item !== 'object' || item === null) return text(item, indent);
    const size = Object.keys(item).length;
    if (size === 0 || oneIn(3)) return `${gap(`${indent} `)}${brackets(item, `${indent} `)}${behind(']')}\n`;
    const opened = oneIn(5) ? ` ${remark('inside')}` : '';
    if (Array.isArray(item)) {
      const lines = item.map((inner) => `${between(step, aboveItem(inner))}${step}-${below(inner, step)}`);
      return `${opened}\n${lines.join('')}${between(step, 'inside')}`;
    }
    const lines = entriesOf(item).map(
      ([key, inner], index) =>
        `${between(step, index === 0 ? first : 'above')}${step}${scalar(key)}:${block(inner, step)}`,
    );
    return `${opened}\n${lines.join('')}${between(step, 'inside')}`;
  };

  // Behind the dash the first key of a mapping, or a comment and all of it below.
  const below = (item: unknown, indent: string): string => {
    if (typeof item !== 'object' || item === null || Array.isArray(item) || oneIn(3))
      return block(item, indent, 'inside');
    const inner = `${indent}  `;
    const lines = entriesOf(item).map(([key, part], index) => {
      const before = index === 0 ? ' ' : `${between(inner, 'above')}${inner}`;
      return `${before}${scalar(key)}:${block(part, inner)}`;
    });
    return lines.length === 0 ? ' {}\n' : lines.join('');
  };

  const mark = oneIn(6) ? `${between('', 'above')}---\n` : '';
  const sections = shuffled(Object.entries(value as object), dice);
  return (
    mark +
    sections.map(([key, inner]) => `${between('', 'above')}${key}:${block(inner, '')}`).join('') +
    between('', 'inside')
  );
}

function shuffled<T>(items: readonly T[], dice: Dice): readonly T[] {
  const rest = [...items];
  return items.map(() => rest.splice(dice.roll(rest.length), 1)).flat();
}

const SCOPES = ['resource:read', '*:write', 'process-run:*', 'namespace:read'];
const scopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 3 });
const people = fc.constantFrom('orcid:a', "github:o'n", 'orcid:x # y', 'orcid:b: c', 'github:[x]');
/** Few, or more than fit on a line. */
const members = fc.oneof(
  { weight: 3, arbitrary: fc.uniqueArray(people, { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 8, max: 20 })
      .map((length) => Array.from({ length }, (_, index) => `orcid:0000-0000-0000-${String(index)}`)),
  },
);
const prose = fc.constantFrom(
  'why',
  'two\nlines\n',
  'two\nlines',
  ' lead',
  'a #b',
  'x: y',
  'true',
  '12:30:45',
  'é – ü',
  'long words '.repeat(20).trim(),
);

/** Sections of policy files that are right, their keys in the order of the layout. */
export const policies = fc.record(
  {
    within: fc.constant('/'),
    roles: fc.record(
      {
        staff: fc.record(
          { description: prose, members, scopes: fc.constant(['*:read', '*:write']) },
          {
            requiredKeys: ['scopes'],
          },
        ),
        '1': fc.record({ members: fc.constant([{ role: 'staff' }, 'orcid:c']) }),
      },
      { requiredKeys: ['staff'] },
    ),
    grants: fc
      .array(
        fc.record(
          {
            identity: people,
            scopes,
            inherit: fc.boolean(),
            notBefore: fc.constant('2026-01-01T00:00:00Z'),
            expires: fc.constant('2027-01-01T00:00:00.5+02:00'),
            namespace: fc.constantFrom('/', '/labs', '/labs/optics'),
            reason: prose,
          },
          { requiredKeys: ['namespace'] },
        ),
        { maxLength: 4 },
      )
      .map((grants) =>
        grants.map(({ identity, scopes: few, ...grant }, index) => ({
          id: `g${String(index)}`,
          ...(identity === undefined || few === undefined ? { role: 'staff' } : { identity }),
          ...(few === undefined ? {} : { scopes: few }),
          ...grant,
        })),
      ),
    guardrails: fc.constant([{ id: 'g', atMost: { identities: 2, scope: '*:write', at: '/' } }]),
    tests: fc.constant([
      {
        name: 'two words',
        actor: { identities: ['orcid:a', { provider: 'github', subject: '1' }] },
        deny: ['resource:read /x'],
        sees: { 'resource /labs': ['/labs'] },
      },
    ]),
  },
  { requiredKeys: ['roles', 'grants'] },
);
