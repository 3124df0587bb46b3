// Identities of one provider that differ only in case, or in characters that look alike. The table is small on purpose:
// the letters of Greek and Cyrillic that are drawn like Latin ones, and digits that are taken for letters.
import { formatIdentity, type Identity } from '../model/identity.js';
import type { Place } from '../model/policy-set.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

/** Each row: a Latin character, and what looks like it. */
const ALIKE: readonly (readonly [string, string])[] = [
  ['a', 'аαɑ'],
  ['b', 'ЬВΒ'],
  ['c', 'сϲ'],
  ['d', 'ԁ'],
  ['e', 'еεЕΕ'],
  ['g', 'ɡ'],
  ['h', 'һНΗ'],
  ['j', 'јϳ'],
  ['k', 'кκКΚ'],
  ['i', '\u0456\u03b9'],
  ['l', '1|I\u0406\u0399\u04c0\u04cf'],
  ['m', 'МΜ'],
  ['n', 'пηΝ'],
  ['o', '0оοσОΟ'],
  ['p', 'рρРΡ'],
  ['q', 'ԛ'],
  ['s', 'ѕЅ'],
  ['t', 'тτТΤ'],
  ['u', 'υս'],
  ['v', 'νѵ'],
  ['w', 'ωԝ'],
  ['x', 'хχХΧ'],
  ['y', 'уγУΥ'],
  ['z', 'Ζ'],
  ['-', '‐‑‒–—−'],
  ['.', '․'],
];
const LOOKS_LIKE: ReadonlyMap<string, string> = new Map(
  ALIKE.flatMap(([latin, others]) => Array.from(others, (other): [string, string] => [other, latin])),
);
const ANY_ALIKE = new RegExp(
  `[${[...LOOKS_LIKE.keys()].map((key) => `\\u{${(key.codePointAt(0) ?? 0).toString(16)}}`).join('')}]`,
  'gu',
);

interface Seen {
  readonly identity: Identity;
  readonly place: Place | null;
}

export function findLookalikes(world: LintWorld, context: LintContext): void {
  const seen = new Set<string>();
  const byCase = new Map<string, Seen>();
  const byLook = new Map<string, Seen>();
  const visit = (identity: Identity, place: Place | null): void => {
    const text = formatIdentity(identity); // A provider has no colon, so two identities never have one text.
    if (seen.has(text)) return;
    seen.add(text);
    // A provider stands for itself: only subjects are compared.
    const keys = { case: foldCase(identity), look: foldLooks(identity) };
    const [sameCase, sameLook] = [byCase.get(keys.case), byLook.get(keys.look)];
    const other = sameCase ?? sameLook;
    if (other === undefined) {
      byCase.set(keys.case, { identity, place });
      byLook.set(keys.look, { identity, place });
      return;
    }
    const how = sameCase === undefined ? 'characters that look alike' : 'case';
    context.report({
      code: 'LINT_IDENTITY_LOOKALIKE',
      place: placed(place),
      message: `\`${text}\` differs from \`${formatIdentity(other.identity)}\` only in ${how}`,
      help: 'if they are one, write it alike; if two, say so in an ignore comment',
      related: relatedTo(other.place, `\`${formatIdentity(other.identity)}\` stands here`),
    });
  };
  for (const role of world.set.roles) {
    for (const member of role.members)
      if (member.kind === 'identity') visit(member.identity, member.place ?? role.place);
  }
  for (const { principal, place } of world.set.grants)
    if (principal.kind === 'identity') visit(principal.identity, place);
}

function foldCase({ provider, subject }: Identity): string {
  return `${provider}:${subject.toLowerCase()}`;
}

/** Compatibility forms (full-width letters and their like) are folded by Unicode, the others by the table. */
function foldLooks({ provider, subject }: Identity): string {
  const looks = subject.normalize('NFKC').replace(ANY_ALIKE, (character) => LOOKS_LIKE.get(character) ?? character);
  return `${provider}:${looks.toLowerCase().replace(ANY_ALIKE, (character) => LOOKS_LIKE.get(character) ?? character)}`;
}
