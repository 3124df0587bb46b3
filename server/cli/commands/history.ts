// `bailiwick history <revision range>:<folder>`: when each right came and went, by which commit, and why.
import { formatIdentity, SCOPES } from '../../../engine/index.js';
import { creditsOf } from '../../policy/history/credit.js';
import type { History, HistoryStep } from '../../policy/history/history.js';
import { countChanges, NO_CHANGES, selectChanges } from '../../policy/history/select-changes.js';
import { readIdentity, readNamespace, readScope, unknownPerson } from '../actor.js';
import { type CliIo, write, writeJson } from '../io.js';
import { formats } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, repeated, takes, verb } from '../verb.js';

const TAKES = takes({
  '<range>': '`<revision>:<folder>` or `<after>..<newest>:<folder>` in git; or a folder, at `HEAD`',
  '--person <name>': 'rights of a person, with all identities that any policy of the range names as theirs',
  '--identity <identity>': repeated('rights of this identity, `provider:subject`; may be repeated'),
  '--namespace <path>': 'rights that are in force in this namespace or below it',
  '--scope <scope>': repeated('rights to this scope; may be repeated'),
  '--cache <folder>': 'folder for computed results (default: `bailiwick` in the cache folder of the user)',
  '--no-cache': 'compute everything, and keep nothing',
  ...formats(),
});

export const defineHistory = verb(TAKES, history, {
  examples: {
    'every right that was gained or lost, since the first commit': 'bailiwick history main:policies',
    'what changed since a release': 'bailiwick history v1..main:policies',
    'since when somebody may write, and who decided it':
      'bailiwick history policies --person ana-ito --scope resource:write',
    'the commits that do not compile': `bailiwick history policies --format json | jq -r 'select(.fault) | .commit'`,
  },
  json: [
    'one line for each row: {"commit","author","time","subject","compared","change":"gained"|"lost","row":Row,"reason"?,"by"?}',
    'Row is that of `diff`. `reason` is that of the grants among its causes. `compared` is the commit before, or null.',
    'For a merge, `by` lists the merged commits that made the change, [{"commit","author","time","subject"}]; empty if the merge did.',
    'Identities that begin or cease to exclude each other: {…,"change","exclusive":[Identity,Identity]} in place of `row`.',
    'A commit whose policy does not compile: {…,"fault":{"code","message","file","line","column","more"}}.',
    'A commit without the folder: {…,"fault":{"code":"policy.absent","message"}}; one that moved it: {…,"moved":{"from","to"}}.',
  ],
});

async function history(io: CliIo, options: Given<typeof TAKES>): Promise<void> {
  const [{ withHistory }, render] = await Promise.all([import('../open-history.js'), import('../render/history.js')]);
  const { range, identity: named, namespace, scope, person, format } = options;
  const asked = named?.map((text) => formatIdentity(readIdentity(text))) ?? [];
  const scopes = scope === undefined ? null : new Set(scope.flatMap((text) => text.split(',')).map(readScope));
  const place = namespace === undefined ? null : readNamespace(namespace);
  await withHistory(io, { range, flags: options }, async (opened) => {
    const { line, progress } = opened;
    const { steps, theirs } =
      person === undefined ? { steps: opened.steps(), theirs: [] } : await stepsOf(opened, person);
    const identities = named === undefined && person === undefined ? null : new Set([...asked, ...theirs]);
    const unseen = new Set<string>(scopes);
    for (const one of SCOPES) unseen.delete(one);
    const tally = render.makeTally();
    const paint = paintFor(io, 'stdout');
    for await (const step of steps) {
      const all = step.changes ?? NO_CHANGES;
      for (const row of [...all.gained, ...all.lost]) for (const one of row.scopes) unseen.delete(one);
      const changes =
        step.changes === null ? NO_CHANGES : selectChanges(step.changes, { identities, scopes, namespace: place });
      const isMerge = step.brought.length > 0 && countChanges(changes) > 0;
      const credits = isMerge ? creditsOf(changes, await opened.partsOf(step)) : [{ by: null, changes }];
      const shown = { step, credits, fault: tally.add(step, credits) };
      if (format === 'json') {
        const lines = render.stepJson(shown);
        if (lines.length > 0) progress.done();
        for (const one of lines) await writeJson(io, one);
      } else {
        const text = render.stepText(shown, paint);
        if (text !== '') progress.done();
        await write(io.stdout, text);
      }
    }
    progress.done();
    await write(io.stderr, render.missingText(line, 'what the oldest commit here changed is not known'));
    for (const one of unseen) {
      const note = `note: nobody gained or lost \`${one}\` in these commits; check its name, since only a policy can declare it\n`;
      await write(io.stderr, note);
    }
    if (format === 'text') await write(io.stdout, paint('faint', tally.text(line)));
  });
}

interface Theirs {
  readonly steps: readonly HistoryStep[];
  /** The identities that any of the policies names as this person's. */
  readonly theirs: readonly string[];
}

/** Throws `CliFailure` 2 if no policy names the person. */
async function stepsOf({ steps, peopleOf }: History, person: string): Promise<Theirs> {
  const all: HistoryStep[] = [];
  const theirs = new Set<string>();
  const names = new Set<string>();
  for await (const step of steps()) {
    all.push(step);
    const people = await peopleOf(step);
    for (const name of Object.keys(people)) names.add(name);
    for (const one of people[person] ?? []) theirs.add(one);
  }
  if (theirs.size === 0) throw unknownPerson(person, [...names]);
  return { steps: all, theirs: [...theirs] };
}
