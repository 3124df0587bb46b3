// An access review ends: what was decided is checked against the policy of now, reported in one signed file, and verified by an auditor.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import { heldRights } from '../../engine/compiler.js';
import { encodeEnvelope, formatPublicKey, instantOf, loadSnapshot, ROOT } from '../../engine/index.js';
import { outcomeOf } from '../../server/review/outcome.js';
import { makePopulation } from '../../server/review/population.js';
import { encodeReport } from '../../server/review/report.js';
import { signOnce } from '../../server/signing/sign-statement.js';
import { parseEnvelope } from '../../server/signing/statement-file.js';
import { makeSigner } from '../support/publisher.js';
import type { CliRun } from '../support/run-cli.js';
import {
  AT,
  beginReviews,
  decided,
  idOf,
  json,
  linesOf,
  placeOf,
  rowsOf,
  run,
  saved,
  textOf,
  write,
} from './reviews.js';

beginReviews();

describe('review check', () => {
  it('says what is not decided: blank, or in no sheet', async () => {
    const [one, two, ...rest] = decided();
    write('part.csv', saved([{ ...one, decision: '' }, ...rest]));
    const { status, stdout } = await run('review', 'check', 'q4.json', 'old', '--decisions', 'part.csv', ...AT);
    expect(status).toBe(6);
    expect(stdout).toContain(
      `not decided: 2\n  ${one?.['row'] ?? ''}  ad-group:staff  resource:read at /labs, by group\n  ${two?.['row'] ?? ''}  ad:s1 (ann)  *:read at and below /labs, by reads: in no sheet\n`,
    );
    // The other reviewer has those, and agrees about a third.
    write('other.csv', saved(decided([], 'Dan').slice(0, 3)));
    const whole = await json(
      'review',
      'check',
      'q4.json',
      'old',
      '--decisions',
      'part.csv',
      '--decisions',
      'other.csv',
      ...AT,
    );
    expect([whole['ok'], whole['missing'], whole['faults']]).toEqual([true, [], []]);
  });

  it('finds revoked access that is still held under another name, and what other rows give does not count', async () => {
    write(
      'q4.csv',
      saved(
        decided([
          ['orcid:ann', 'writes'],
          ['orcid:=cmd', 'eve'],
        ]),
      ),
    );
    const { status, stdout } = await run('review', 'check', 'q4.json', 'renamed', ...AT);
    expect(status).toBe(7);
    expect(stdout).toContain(
      `revoked, and still held: 2\n  ${idOf('orcid:ann', 'writes')}  orcid:ann (ann)  resource:write at and below /labs/optics, by writes\n    resource:write at and below /labs/optics until 2030-01-01T00:00:00.000Z, by scribes (all.yaml:8)\n` +
        `  ${idOf('orcid:=cmd', 'eve')}  orcid:=cmd  resource:* at and below /labs, by eve\n    resource:* at and below /labs, by mallory (all.yaml:9)\n`,
    );
    expect(stdout).not.toContain('appeared');
    expect(stdout).toMatch(
      /\n8 rows: 6 kept, 2 revoked\nchecked against sha256:[0-9a-f]{64} at 2027-01-01T00:00:00\.000Z; of the revoked: 0 gone, 2 still held\n$/,
    );
  });

  it('says what is gone, what was kept and is gone too, and what appeared', async () => {
    write(
      'q4.csv',
      saved(
        decided([
          ['orcid:ann', 'writes'],
          ['orcid:ann', 'reads'],
          ['orcid:=cmd', 'eve'],
        ]),
      ),
    );
    const { status, stdout } = await run('review', 'check', 'q4.json', 'new', ...AT);
    expect([status, stdout]).toEqual([0, expect.stringContaining('of the revoked: 3 gone\n')]);
    expect(stdout).toContain(
      'appeared since: 1\n  ad:s1\n    process-run:write at and below /labs/lasers, by more (all.yaml:11)\n',
    );
    expect((await run('review', 'check', 'q4.json', 'new', ...AT, '--no-new-access')).status).toBe(7);
    const answer = await json('review', 'check', 'q4.json', 'new', ...AT);
    expect(answer).toMatchObject({ ok: true, revoked: { gone: 3, held: 0 }, lapsed: [], stillHeld: [] });
    expect(answer['states']).toEqual(['held', 'held', 'held', 'gone', 'gone', 'gone', 'held', 'held']);
  });

  it('knows what ends by itself, what other rows give, and who decided about himself', async () => {
    write(
      'q4.csv',
      saved(
        decided([
          ['orcid:ben', 'writes'],
          ['orcid:ben', 'reads'],
        ]),
      ),
    );
    const later = await json('review', 'check', 'q4.json', 'old', '--at', '2028-01-01T00:00:00Z');
    expect(later).toMatchObject({ ok: true, revoked: { ended: 2, gone: 0, held: 0 } });
    expect((await run('review', 'start', 'twice', '-o', 'q4.json', '--replace', ...AT)).status).toBe(0);
    write('q4.csv', saved(decided([['orcid:ann', 'again']], 'Ann')));
    const { status, stdout } = await run('review', 'check', 'q4.json', 'twice', ...AT);
    expect(status).toBe(0);
    expect(stdout).toContain(
      `revoked, while rows that were not revoked give the same: 1\n  ${idOf('orcid:ann', 'again')}  orcid:ann (ann)  resource:read at and below /labs/optics, by again\ndecided by their own holder: 5\n`,
    );
    expect(stdout).toContain('of the revoked: 0 gone, 1 given by other rows\n');
  });

  it('has as CSV each row with what was decided and what has become of it', async () => {
    write('q4.csv', saved(decided([['orcid:=cmd', 'eve']])));
    const { stdout, status } = await run('review', 'check', 'q4.json', 'old', ...AT, '--format', 'csv');
    expect(status).toBe(7);
    const line = linesOf(stdout).find((one) => one['grant'] === 'eve');
    expect(line).toMatchObject({ decision: 'revoke', reviewer: 'Cora', note: 'left; the\\n"team"', state: 'held' });
    expect(linesOf(stdout)).toHaveLength(8);
  });

  test.each<[string, (text: string) => string]>([
    ['a row is gone', (text) => JSON.stringify({ ...(JSON.parse(text) as object), rows: rowsOf().slice(1) })],
    ['a row is changed', (text) => text.replace('"/labs/optics"', '"/labs/lasers"')],
    ['it is cut', (text) => text.slice(0, -10)],
    ['it is of another kind', () => '{"review":1}'],
  ])('refuses a population in which %s', async (_name, damage) => {
    write('q4.json', damage(textOf('q4.json')));
    const { status, stderr } = await run('review', 'check', 'q4.json', 'old');
    expect([status, stderr]).toEqual([8, expect.stringContaining('`q4.json` is not an intact access review: ')]);
  });
});

describe('review report and verify', () => {
  const REVOKED: readonly (readonly [string, string])[] = [['orcid:=cmd', 'eve']];
  const report = (...args: readonly string[]): Promise<CliRun> => run('review', 'report', 'q4.json', 'new', ...args);

  beforeAll(async () => {
    for (const name of ['ciso', 'audit']) expect((await run('keygen', '-o', `${name}.key`)).status).toBe(0);
    const key = (name: string): string =>
      `  - { name: ${name}, publicKey: ${textOf(`${name}.key.pub`).split('\n')[1] ?? ''} }\n`;
    write('one.yaml', `threshold: 1\nkeys:\n${key('ciso')}`);
    write('both.yaml', `threshold: 2\nkeys:\n${key('ciso')}${key('audit')}`);
  });

  it('make one file that two people sign and a third checks, whole, against the policy', async () => {
    write('q4.csv', saved(decided(REVOKED)));
    const signed = await report('--key', 'ciso.key', '-o', 'report.json', ...AT);
    expect([signed.status, signed.stdout]).toEqual([
      0,
      expect.stringMatching(/^report {4}report\.json: 1 signature\n/),
    ]);
    expect((await run('review', 'verify', 'report.json', '--keyring', 'both.yaml')).status).toBe(8);
    const again = await report('--key', 'audit.key', '--add', 'report.json');
    expect([again.status, again.stdout]).toEqual([0, expect.stringMatching(/^report {4}report\.json: 2 signatures\n/)]);

    const verified = await run('review', 'verify', 'report.json', '--keyring', 'both.yaml', '--policy', 'old.json');
    expect(verified.stderr).toBe('');
    expect(verified.status).toBe(0);
    expect(verified.stdout).toContain('rows      8: 3 people and 1 group, with 5 identities, by 4 grants\n');
    expect(verified.stdout).toContain(
      'signed    by ciso, audit\ncomplete: the rows are exactly what the policy gives\n',
    );
    expect(verified.stdout).toContain('of the revoked: 1 gone\n');
    const answer = await json('review', 'verify', 'report.json', '--keyring', 'one.yaml');
    expect(answer).toMatchObject({ ok: true, population: JSON.parse(textOf('q4.json')) as object });
    expect((answer['decisions'] as readonly object[])[5]).toEqual({
      row: idOf('orcid:=cmd', 'eve'),
      decision: 'revoke',
      by: [{ reviewer: 'Cora', note: 'left; the\n"team"' }],
    });
    const table = await run('review', 'verify', 'report.json', '--keyring', 'one.yaml', '--format', 'csv');
    expect(linesOf(table.stdout)).toHaveLength(8);

    // Standard tools read it: an in-toto statement about the exact bytes of the file.
    const { payload, payloadType } = JSON.parse(textOf('report.json')) as {
      readonly payload: string;
      readonly payloadType: string;
    };
    expect(payloadType).toBe('application/vnd.in-toto+json');
    const statement = JSON.parse(Buffer.from(payload, 'base64').toString()) as { readonly subject: readonly object[] };
    const sha256 = (await import('node:crypto')).hash('sha256', textOf('q4.json'));
    expect(statement.subject[0]).toEqual({ name: 'population', digest: { sha256 } });
  });

  it('sign nothing that is not decided, and no second signature under what these files do not say', async () => {
    const [keeping, revoking] = [decided(), decided(REVOKED)];
    write('q4.csv', saved(keeping.slice(1)));
    const open = await report('--key', 'ciso.key', '-o', 'none.json', ...AT);
    expect([open.status, open.stderr]).toEqual([
      6,
      expect.stringContaining('error: the review cannot be reported: 1 row is not decided\n'),
    ]);
    write('q4.csv', saved(revoking));
    expect((await report('--key', 'ciso.key', '-o', 'second.json', ...AT)).status).toBe(0);
    write('q4.csv', saved(keeping));
    const other = await report('--key', 'audit.key', '--add', 'second.json');
    expect([other.status, other.stderr]).toEqual([
      6,
      expect.stringContaining('`second.json` reports something else than these files say'),
    ]);
  });

  it('refuse an instant beside the report that is signed again, which has its own', async () => {
    const made = await report('--key', 'audit.key', '--add', 'none.json', ...AT);
    expect([made.status, made.stderr]).toEqual([2, expect.stringContaining('`--at` has no place beside `--add`')]);
  });

  it('do not replace the policy that they read', async () => {
    write('q4.csv', saved(decided(REVOKED)));
    const before = textOf('old.json');
    const made = await run('review', 'report', 'q4.json', 'old.json', '--key', 'ciso.key', '-o', 'old.json', ...AT);
    expect([made.status, made.stderr]).toEqual([2, expect.stringContaining('would be overwritten')]);
    expect(textOf('old.json')).toBe(before);
  });

  it('find a report that somebody with a trusted key made up', async () => {
    write('q4.csv', saved(decided(REVOKED)));
    expect((await report('--key', 'ciso.key', '-o', 'true.json', ...AT)).status).toBe(0);
    const { payload } = parseEnvelope(readFileSync(placeOf('true.json')), 'true.json');
    const forge = makeSigner();
    write('forger.yaml', `threshold: 1\nkeys:\n  - { name: forger, publicKey: ${formatPublicKey(forge.publicKey)} }\n`);
    const sign = (text: string): void => {
      const signed = signOnce(forge.key, Buffer.from(text), null);
      write('forged.json', signed === null ? '' : encodeEnvelope(signed.envelope));
    };
    const verify = (...args: readonly string[]): Promise<CliRun> =>
      run('review', 'verify', 'forged.json', '--keyring', 'forger.yaml', ...args);
    const text = Buffer.from(payload).toString();
    sign(text);
    expect((await verify('--policy', 'old.json')).status).toBe(0);
    const other = await verify('--policy', 'new');
    expect([other.status, other.stderr]).toEqual([
      8,
      expect.stringMatching(/the review is of sha256:\w+, and `new` is sha256:\w+\n/),
    ]);
    for (const [from, to] of [
      ['"decision":"revoke"', '"decision":"keep"'],
      ['"kept":7', '"kept":8'],
      ['"state', '"State'],
      ['"persons":null', '"persons":[]'],
      ['urn:bailiwick:access-review:v1', 'urn:bailiwick:access-review:v2'],
    ] as const) {
      sign(text.replace(from, to));
      expect([to, (await verify()).status]).toEqual([to, 8]);
    }
    // Right in itself, with one row left out: only the policy knows.
    const loaded = loadSnapshot(readFileSync(placeOf('old.json')));
    if (!loaded.ok) throw new Error(loaded.fault.message);
    const { policy } = loaded;
    const at = instantOf(Date.parse('2027-01-01T00:00:00Z'));
    const selection = { under: ROOT, persons: null, identities: null, scopes: null };
    const rights = heldRights(policy, { at, ...selection }, 100) ?? [];
    const facts = { policy, version: '1', at, selection, persons: new Map<string, string>() };
    const population = makePopulation({ ...facts, rights: rights.slice(1) });
    const decisions = population.rows.map(({ id }) => ({
      row: id,
      decision: 'keep' as const,
      by: [{ reviewer: 'Cora' }],
    }));
    const byRow = new Map(decisions.map(({ row, ...one }) => [row, one]));
    const outcome = outcomeOf({ population, decided: byRow, policy, version: '1', at, more: [] });
    sign(Buffer.from(encodeReport({ population, decisions, outcome })).toString());
    expect((await verify()).status).toBe(0);
    const short = await verify('--policy', 'old.json');
    expect([short.status, short.stderr]).toEqual([
      8,
      'error: the population is not complete: 1 row that the policy gives is not in it\n',
    ]);
  });
});
