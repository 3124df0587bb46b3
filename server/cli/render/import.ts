// What `import` says to people: each rule that was not imported, with its place, and what the proof compared.
import type { ImportedPolicy, Place } from '../../import/imported-policy.js';
import type { Proof } from '../../import/prove-import.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { count } from './text.js';

type Compared = Extract<Proof, { readonly kind: 'compared' }>;

export interface Imported {
  readonly imported: ImportedPolicy;
  readonly proof: Compared;
  readonly folder: string;
}

export function placeText({ file, line }: Place): string {
  return `${file}:${String(line)}`;
}

export function renderImport({ imported, proof, folder }: Imported, paint: Paint): string {
  const { rules, families, roles, grants, unsaid, notes } = imported;
  const made = [
    count(families.length, 'family', 'families'),
    count(roles.length, 'role'),
    count(grants.length, 'grant'),
  ].join(', ');
  const asked = `${count(proof.questions, 'question')} about what the files name, ${count(proof.allowed, 'of them allowed', 'of them allowed')}`;
  return [
    ...unsaidLines(imported, paint),
    ...notes.map((note) => `note: ${escapeText(note)}`),
    `${count(rules, 'rule')} read; ${unsaid.length === 0 ? 'all are in the policy' : `${count(unsaid.length, 'finding')} above about what is not in the policy`}`,
    `${asked}: ${paint('good', 'the policy and the source agree on all of them')}`,
    `\`${escapeText(folder)}\` has ${made}; next: \`bailiwick check ${escapeText(folder)}\``,
  ]
    .map((line) => `${line}\n`)
    .join('');
}

export function renderDisagreements(imported: ImportedPolicy, { disagreements, examples }: Compared): string {
  const more = disagreements - examples.length;
  return [
    ...examples.map(
      ({ text, allowed }) =>
        `  ${escapeText(text)}: the source ${allowed ? 'allows' : 'denies'} it, the policy does not agree`,
    ),
    ...(more > 0 ? [`  and ${count(more, 'more', 'more')}`] : []),
    ...unsaidLines(imported, (_style, text) => text).map((line) => `  ${line}`),
  ].join('\n');
}

function unsaidLines({ unsaid }: ImportedPolicy, paint: Paint): readonly string[] {
  return unsaid.flatMap((one) => [
    `${escapeText(placeText(one))} ${paint('warning', 'not imported')} ${escapeText(one.rule)}`,
    `  ${escapeText(one.why)}`,
  ]);
}
