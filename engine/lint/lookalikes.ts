// Identities of one provider that differ only in case, in invisible characters, or in characters that look alike. The table is small
// on purpose: Greek and Cyrillic letters that look like Latin ones, and digits that look like letters.
import { rememberLast } from '../model/group.js';
import { formatIdentity, type Identity } from '../model/identity.js';
import type { Place } from '../model/policy-set.js';
import type { IdentityColumns } from '../model/tables.js';
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
  // A stroke with or without a dot: changing the case adds or removes the dot.
  ['l', '1|Ii\u0130\u0131\u0406\u0456\u0399\u03b9\u04c0\u04cf'],
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

/** Soft hyphens, joiners, direction marks, variation selectors and the like. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

interface Fold {
  readonly fold: (subject: string) => string;
  readonly difference: string;
  /** A plain subject stays as it is. */
  readonly keepsPlain: boolean;
}

/** Ways in which a reader may take two subjects for the same, from the smallest difference to the largest. */
const FOLDS: readonly Fold[] = [
  { fold: foldCase, difference: 'case', keepsPlain: true },
  { fold: foldSeen, difference: 'characters that nobody sees', keepsPlain: true },
  { fold: foldLooks, difference: 'characters that look alike', keepsPlain: false },
];

interface Seen {
  readonly identity: Identity;
  readonly place: Place | null;
}

export function findLookalikes(world: LintWorld, context: LintContext): void {
  const alike = alikeIdentities(world.tables.identities);
  if (!alike.includes(1)) return;
  /** 1 for those that were not met yet. */
  const isAlike = alike.slice();
  const roles = world.roles.length;
  // Keys are the provider and the folded subject: only subjects of the same provider are compared.
  const folds = FOLDS.map(({ fold, difference }) => ({ fold, difference, first: new Map<string, Seen>() }));
  const visit = (principal: number, identity: Identity, place: Place | null): void => {
    if (isAlike[principal - roles] !== 1) return;
    isAlike[principal - roles] = 0;
    const text = formatIdentity(identity);
    const keyed = folds.map(({ fold, difference, first }) => {
      const key = `${identity.provider}:${fold(identity.subject)}`;
      return { key, difference, first, other: first.get(key) };
    });
    const same = keyed.find(({ other }) => other !== undefined);
    if (same?.other === undefined) {
      for (const { key, first } of keyed) first.set(key, { identity, place });
      return;
    }
    const { other, difference } = same;
    context.report({
      code: 'LINT_IDENTITY_LOOKALIKE',
      place: placed(place),
      message: `\`${text}\` differs from \`${formatIdentity(other.identity)}\` only in ${difference}`,
      help: 'if they are the same, spell them alike; if not, say so in an ignore comment',
      related: relatedTo(other.place, `\`${formatIdentity(other.identity)}\` is here`),
    });
  };
  let member = 0;
  for (const role of world.set.roles) {
    for (const named of role.members) {
      if (named.kind === 'identity')
        visit(world.memberPrincipals[member] ?? 0, named.identity, named.place ?? role.place);
      member += 1;
    }
  }
  world.set.grants.forEach(({ principal, place }, grant) => {
    if (principal.kind === 'identity') visit(world.principals[grant] ?? 0, principal.identity, place);
  });
}

/** 1 for each identity that some fold makes equal to another identity of its provider. */
const alikeIdentities = rememberLast(({ provider, subject }: IdentityColumns): Uint8Array => {
  const alike = new Uint8Array(subject.length);
  const odd = subject.filter((one) => !isPlain(one));
  for (const { fold, keepsPlain } of FOLDS) {
    // If plain subjects stay as they are, they all differ, so only a folded odd subject can equal one of them.
    const met = keepsPlain ? new Set(odd.map(fold)) : null;
    if (met?.size === 0) continue;
    let last = -1;
    let first = new Map<string, number>();
    subject.forEach((one, row) => {
      if (provider[row] !== last) {
        last = provider[row] ?? -1;
        first = new Map();
      }
      const folded = fold(one);
      if (met?.has(folded) === false) return;
      const other = first.get(folded);
      if (other === undefined) first.set(folded, row);
      else alike[row] = alike[other] = 1;
    });
  }
  return alike;
});

const NOT_PLAIN = /[A-Z\u0080-\uffff]/;

/** ASCII without capitals, as most subjects are. Neither case folding nor Unicode normalization changes such a text. */
function isPlain(subject: string): boolean {
  return !NOT_PLAIN.test(subject);
}

/** Goes through capitals, so that `straße` equals `STRASSE`. */
function foldCase(subject: string): string {
  return isPlain(subject) ? subject : subject.toUpperCase().toLowerCase();
}

function foldSeen(subject: string): string {
  return isPlain(subject) ? subject : foldCase(subject.replace(UNSEEN, ''));
}

/** Unicode folds compatibility forms such as full-width letters; the table folds the rest. */
function foldLooks(subject: string): string {
  if (isPlain(subject)) return toLatin(subject);
  return toLatin(foldCase(toLatin(subject.normalize('NFKC').replace(UNSEEN, ''))));
}

function toLatin(text: string): string {
  return text.replace(ANY_ALIKE, (character) => LOOKS_LIKE.get(character) ?? character);
}
