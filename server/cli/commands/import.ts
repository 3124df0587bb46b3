// `bailiwick import <kind> <files…> -o <folder>`: the rules of another tool as a policy. It reads the files, makes a
// policy of their rules, proves that both decide alike, and only then writes it; it lists what was not imported.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { formatIdentity, groupDigits, isName } from '../../../engine/index.js';
import {
  ForeignFault,
  type ForeignFile,
  type ImportedPolicy,
  type ImportQuestion,
  type SourcePlace,
  type Unsaid,
} from '../../import/imported-policy.js';
import type { Proof } from '../../import/prove-import.js';
import { IMPORT_LIMITS } from '../../limits/command-line.js';
import { readNamedFile } from '../../signing/named-file.js';
import { CliFailure, EXIT, usage } from '../exit.js';
import { writeInto } from '../files.js';
import { type Answer, type CliIo, namedFile, pathOf, pathsOf } from '../io.js';
import { formats } from '../options.js';
import { escapeText } from '../render/escape.js';
import { type Paint, paintFor } from '../render/terminal.js';
import { count } from '../render/text.js';
import { asFailure } from '../statement-flags.js';
import { type Given, required, takes, verb } from '../verb.js';

type Importer = (files: readonly ForeignFile[]) => ImportedPolicy;

const IMPORTERS = {
  kubernetes: async () => (await import('../../import/kubernetes/import-kubernetes.js')).importKubernetes,
  github: async () => (await import('../../import/github/import-github.js')).importGithub,
  casbin: async () => (await import('../../import/casbin/import-casbin.js')).importCasbin,
  openfga: async () => (await import('../../import/openfga/import-openfga.js')).importOpenFga,
} satisfies Readonly<Record<string, () => Promise<Importer>>>;

type Compared = Extract<Proof, { readonly kind: 'compared' }>;

const TAKES = takes({
  '<kind>': { about: 'tool that the rules are for', choices: ['kubernetes', 'github', 'casbin', 'openfga'] },
  '<files...>': 'files with rules',
  '-o, --output <folder>': required('new folder for the policy'),
  '--name <name>': 'name of the policy (default: the name of the folder)',
  '--exit-code': `end with ${String(EXIT.differences)} if a rule was not imported; the policy is written anyway`,
  ...formats(),
});

export const defineImport = verb(TAKES, importPolicy, {
  examples: { 'the RBAC of a cluster': 'bailiwick import kubernetes rbac/*.yaml -o policies' },
  json: [
    '{"ok","kind","policy","snapshot","folder","files":[path],"counts":{"rules","families","roles","grants"},',
    '"unsaid":[{"file","line","rule","why"}],"notes":[text],"proof":{"questions","agreed","allowed"},"error"?}',
    '`unsaid`: each rule, or part of one, that was not imported. If the two sides disagree, nothing is written,',
    'and "disagreements":[{"question","scope","namespace","identities","source","policy"}] has the first ones.',
  ],
});

async function importPolicy(io: CliIo, { kind, files, ...flags }: Given<typeof TAKES>): Promise<Answer> {
  const [importer, { writePolicy }, { proveImport }] = await Promise.all([
    IMPORTERS[kind](),
    import('../../import/write-policy.js'),
    import('../../import/prove-import.js'),
  ]);
  const folder = pathOf(io, flags.output);
  if (existsSync(folder)) throw usage(`\`${flags.output}\` exists already`, 'name a new folder');
  const name = flags.name ?? basename(folder).toLowerCase();
  const typed: unknown = name;
  if (!isName(typed)) throw usage(`\`${name}\` cannot be the name of a policy`, 'give one with `--name`');
  const sources = await readSources(io, files);
  const imported = importedBy(importer, sources);
  if (imported.rules === 0)
    throw new CliFailure(EXIT.usage, 'import.empty', `the files have no rules of the kind ${kind}`);
  if (imported.questionCount > IMPORT_LIMITS.questions) throw tooMany(imported.questionCount);
  const written = writePolicy(name, imported);
  const proof = proveImport(written, imported);
  if (proof.kind === 'invalid') {
    const text = proof.diagnostics.map(({ code, message }) => `  ${code} ${message}`).join('\n');
    throw new CliFailure(EXIT.policyInvalid, 'policy.invalid', 'the policy made of the rules is not valid', {
      text,
      report: { diagnostics: proof.diagnostics },
    });
  }
  if (proof.disagreements > 0) throw disagreement(imported, proof);
  const inputs = pathsOf(io, files);
  for (const [path, text] of written) await writeInto(io, { folder: flags.output, path, inputs }, Buffer.from(text));
  if (flags.exitCode === true && imported.unsaid.length > 0) io.setStatus(EXIT.differences);
  const { families, roles, grants, rules, unsaid, notes } = imported;
  const { questions, allowed } = proof;
  return {
    json: () => ({
      ...{ ok: true, kind, policy: name, snapshot: proof.policy.digest, folder: flags.output },
      files: [...written.keys()],
      counts: { rules, families: families.length, roles: roles.length, grants: grants.length },
      ...{ unsaid, notes, proof: { questions, agreed: questions, allowed } },
    }),
    text: () => renderImport(imported, { proof, folder: flags.output }, paintFor(io, 'stdout')),
  };
}

async function readSources(io: CliIo, paths: readonly string[]): Promise<readonly ForeignFile[]> {
  const sources: ForeignFile[] = [];
  let bytes = 0;
  for (const path of paths) {
    const file = await asFailure(readNamedFile(namedFile(io, path), IMPORT_LIMITS.bytes - bytes));
    bytes += file.bytes.length;
    sources.push({ path, text: decoded(file.bytes, path) });
  }
  return sources;
}

function decoded(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CliFailure(EXIT.usage, 'import.unreadable', `\`${path}\` is not UTF-8`, { cause });
  }
}

function importedBy(importer: Importer, sources: readonly ForeignFile[]): ImportedPolicy {
  try {
    const imported = importer(sources);
    return { ...imported, unsaid: inOrder(imported.unsaid, sources) };
  } catch (error) {
    if (!(error instanceof ForeignFault)) throw error;
    const { place, message } = error;
    const text = place === null ? message : `${placeText(place)} ${message}`;
    throw new CliFailure(EXIT.usage, 'import.unreadable', text, { report: { place } });
  }
}

/** As the files were named, and by line. */
function inOrder(unsaid: readonly Unsaid[], sources: readonly ForeignFile[]): readonly Unsaid[] {
  const rank = new Map(sources.map(({ path }, i) => [path, i]));
  const rankOf = ({ file }: Unsaid): number => rank.get(file) ?? sources.length;
  return [...unsaid].sort((a, b) => rankOf(a) - rankOf(b) || a.line - b.line);
}

function tooMany(questions: number): CliFailure {
  const message = `the proof would take ${count(questions, 'question')}, and the limit is ${groupDigits(IMPORT_LIMITS.questions)}`;
  return new CliFailure(EXIT.usage, 'import.too_large', message, { help: 'import fewer files at a time' });
}

function disagreement(imported: ImportedPolicy, proof: Compared): CliFailure {
  const { disagreements, questions, examples } = proof;
  const agreed = questions - disagreements;
  const message = `the policy would decide ${count(disagreements, 'question')} of ${count(questions, 'question')} differently from its source; nothing was written`;
  const report = {
    unsaid: imported.unsaid,
    proof: { questions, agreed, allowed: proof.allowed },
    disagreements: examples.map((one) => ({ ...one, question: one.text, ...answersOf(one) })),
  };
  const help = 'a rule below that was not imported takes something away: change the source so that it does not need to';
  const text = renderDisagreements(imported, proof);
  return new CliFailure(EXIT.differences, 'import.disagrees', message, { help, text, report });
}

function answersOf({ allowed, identities }: ImportQuestion): object {
  const [source, policy] = allowed ? ['allow', 'deny'] : ['deny', 'allow'];
  return { text: undefined, allowed: undefined, identities: identities.map(formatIdentity), source, policy };
}

function placeText({ file, line }: SourcePlace): string {
  return `${file}:${String(line)}`;
}

/** What is said to people. */
function renderImport(
  imported: ImportedPolicy,
  { proof, folder }: { readonly proof: Compared; readonly folder: string },
  paint: Paint,
): string {
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

function renderDisagreements(imported: ImportedPolicy, { disagreements, examples }: Compared): string {
  const more = disagreements - examples.length;
  return [
    ...examples.map(
      ({ text, allowed }) =>
        `  ${escapeText(text)}: the source ${allowed ? 'allows it, the policy denies it' : 'denies it, the policy allows it'}`,
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
