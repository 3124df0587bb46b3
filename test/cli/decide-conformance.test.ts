// All shared conformance decisions through the verb `decide`: policies as folders, requests as lines (docs/cli.md "Requests
// for decide"). What the documents let be refused instead is listed by rule, with what is answered then.
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { nearest } from '../../engine/index.js';
import { type DecisionCase, type NeutralActor, readNeutralDecisions } from '../support/neutral-decisions.js';
import { type NeutralPolicy, toPolicyFiles } from '../support/neutral-policy.js';
import { makeFolder } from '../support/temp-folder.js';
import { runIn } from './verb-table.js';
// The runner cannot load a module for the first time from several places at once, as the verb does with these.
import '../../server/cli/commands/decide.js';
import '../../server/cli/open-policy.js';
import '../../server/cli/files.js';

const { policies, actors, cases } = readNeutralDecisions();

const FAMILIES = ['namespace', 'resource-template', 'resource', 'process-template', 'process-run'];
const SCOPES = new Set(FAMILIES.flatMap((family) => [`${family}:read`, `${family}:write`]));
const NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;

interface Refusal {
  readonly rule: string;
  readonly error: { readonly code: string; readonly message: string };
}

/** Lines that are malformed by the documents, and so are errors though the cases deny them; null for all others. */
function refusalOf({ local, identities, scopes }: NeutralActor): Refusal | null {
  if (local === true) return null;
  for (const [i, { provider, subject }] of identities.entries()) {
    const place = `/actor/identities/${String(i)}`;
    if (subject.includes('\0')) {
      const message = `${place}/subject: a string with U+0000 or half of a surrogate pair`;
      return { rule: 'a subject without control characters', error: { code: 'request.invalid_unicode', message } };
    }
    const schema = (fault: string): Refusal['error'] => ({
      code: 'request.schema',
      message: `\`${place}\` is not an identity (${fault})`,
    });
    if (!NAME.test(provider)) return { rule: 'a provider that is a name', error: schema('provider') };
    if (subject.normalize('NFC') !== subject) return { rule: 'a subject in NFC', error: schema('not nfc') };
  }
  const odd = scopes === 'all' ? -1 : scopes.findIndex((scope) => !SCOPES.has(scope));
  if (odd < 0) return null;
  const meant = nearest(scopes[odd] ?? '', [...SCOPES].sort());
  const help = meant === null ? '' : `; did you mean \`${meant}\`?`;
  const message = `\`/actor/credentialScopes/${String(odd)}\` is not a scope${help}`;
  return { rule: 'a credential of scopes', error: { code: 'request.schema', message } };
}

/** How many cases each rule takes out, so that none grows in silence. */
const REFUSED: ReadonlyMap<string, number> = new Map([
  ['a subject without control characters', 1],
  ['a provider that is a name', 2],
  ['a subject in NFC', 1],
  ['a credential of scopes', 7],
]);

function actorOf({ actor: name }: DecisionCase): NeutralActor {
  const actor = actors[name];
  if (actor === undefined) throw new Error('the case names an actor');
  return actor;
}

function lineOf(one: DecisionCase): string {
  const actor = actorOf(one);
  const { kind, scope, context, target, source, destination } = one.request;
  const request =
    kind === 'copy'
      ? { kind, source, destination }
      : kind === 'namespace-create'
        ? { kind: 'create-namespace', namespace: target }
        : { kind: 'access', scope, target, context };
  const asking = {
    identities: actor.identities,
    credentialScopes: actor.scopes === 'all' ? undefined : actor.scopes,
    namespaceRestrictions: actor.restrictions,
  };
  return `${JSON.stringify({ id: one.id, actor: actor.local === true ? 'local' : asking, request })}\n`;
}

/** As the file says, except for what is refused by rule. */
function answerOf(one: DecisionCase): object {
  const refusal = refusalOf(actorOf(one));
  return refusal === null ? { id: one.id, ...one.expect } : { id: one.id, error: refusal.error };
}

/** Local mode needs no grant: there any policy will do. */
const ANY: NeutralPolicy = { identities: {}, roles: {}, grants: [] };

let cwd: string;
beforeAll(async () => {
  const files = Object.entries(policies).flatMap(([key, policy]) =>
    toPolicyFiles(policy.unrestricted === true ? ANY : policy).map(({ path, bytes }): [string, Uint8Array] => [
      join(key, path),
      bytes,
    ]),
  );
  cwd = await makeFolder(Object.fromEntries(files));
});

describe('decide', () => {
  it('is asked every case, and refuses few of them', () => {
    const asked = Object.keys(policies).flatMap((key) => cases.filter(({ policy }) => policy === key));
    expect([asked.length, asked.length >= 419]).toEqual([cases.length, true]);
    const counts = new Map<string, number>();
    for (const one of asked) {
      const rule = refusalOf(actorOf(one))?.rule;
      if (rule === undefined) continue;
      counts.set(rule, (counts.get(rule) ?? 0) + 1);
      // What is refused is never something that would have been allowed.
      expect([one.id, one.expect.decision]).toEqual([one.id, 'deny']);
    }
    expect(counts).toEqual(REFUSED);
  });

  test.each(Object.keys(policies))('answers as expected under %s', async (key) => {
    const asked = cases.filter(({ policy }) => policy === key);
    const ran = await runIn(cwd, ['decide', key], asked.map(lineOf).join(''));
    const answers = ran.stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(answers).toEqual(asked.map(answerOf));
    expect(ran.status).toBe(asked.some((one) => refusalOf(actorOf(one)) !== null) ? 2 : 0);
  });
});
