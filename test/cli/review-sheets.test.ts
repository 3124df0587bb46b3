// An access review begins: the population is frozen, and its sheet goes through spreadsheets and comes back. And whatever can go wrong
// with a sheet.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from '@jest/globals';
import type { EventActor } from '../../server/audit/event.js';
import { eventOf, writerOf } from '../support/audit-log.js';
import { makeFolder } from '../support/temp-folder.js';
import {
  AT,
  beginReviews,
  type Cells,
  decided,
  json,
  linesOf,
  rowsOf,
  run,
  saved,
  taken,
  textOf,
  VALUES,
  write,
} from './reviews.js';

beginReviews();

describe('review start', () => {
  it('freezes every right that is held then or later, with its ways, and says how many there are', async () => {
    const { stdout } = await run('review', 'start', 'old', '-o', 'q4.json', '--replace', ...AT);
    expect(stdout).toMatch(
      /^wrote {5}q4\.json, and q4\.csv for the reviewers\npolicy {4}facility\nsnapshot {2}sha256:[0-9a-f]{64}\nat {8}2027-01-01T00:00:00\.000Z\nreviewed {2}every namespace; everybody\nrows {6}8: 3 people and 1 group, with 5 identities, by 4 grants\nlast used not looked up; name the audit log with --log\ndigest {4}sha256:[0-9a-f]{64}\n$/,
    );
    const link = { role: 'crew', file: 'all.yaml', line: expect.any(Number) };
    expect(
      rowsOf().map(({ identity, person, grant, until, ways }) => [identity, person, grant.id, until, ways]),
    ).toEqual([
      ['ad-group:staff', undefined, 'group', null, [[]]],
      ['ad:s1', 'ann', 'reads', null, [[{ ...link, role: 'leads' }, link]]],
      ['ad:s1', 'ann', 'writes', '2030-01-01T00:00:00.000Z', [[{ ...link, role: 'leads' }, link]]],
      ['orcid:ann', 'ann', 'reads', null, [[link], [{ ...link, role: 'leads' }, link]]],
      ['orcid:ann', 'ann', 'writes', '2030-01-01T00:00:00.000Z', [[link], [{ ...link, role: 'leads' }, link]]],
      ['orcid:=cmd', undefined, 'eve', null, [[]]],
      [
        'orcid:ben',
        undefined,
        'reads',
        '2028-01-01T00:00:00.000Z',
        [[{ ...link, expires: '2028-01-01T00:00:00.000Z' }]],
      ],
      [
        'orcid:ben',
        undefined,
        'writes',
        '2028-01-01T00:00:00.000Z',
        [[{ ...link, expires: '2028-01-01T00:00:00.000Z' }]],
      ],
    ]);
  });

  it('writes the same bytes again, and never over a review that is there', async () => {
    const before = [textOf('q4.json'), textOf('q4.csv')];
    write('q4.csv', saved(decided()));
    const refused = await run('review', 'start', 'old', '-o', 'q4.json', ...AT);
    expect([refused.status, refused.stderr]).toEqual([
      6,
      'error: `q4.json` and `q4.csv` are there already, and may hold decisions\n  help: name another file with `-o`; to start again, `--replace`\n',
    ]);
    expect(textOf('q4.csv')).toBe(saved(decided()));
    expect((await run('review', 'start', 'old', '-o', 'q4.json', ...AT, '--replace')).status).toBe(0);
    expect([textOf('q4.json'), textOf('q4.csv')]).toEqual(before);
  });

  it.each([
    { flags: ['--under', '/labs/optics'], rows: 7, reviewed: '/labs/optics and below; everybody' },
    {
      flags: ['--under', '/labs/optics/x', '--scope', '*:write'],
      rows: 4,
      reviewed: '/labs/optics/x and below; everybody; *:write',
    },
    { flags: ['--person', 'ann'], rows: 4, reviewed: 'every namespace; ann, with ad:s1, orcid:ann' },
    {
      flags: ['--identity', 'orcid:ben', '--scope', 'resource:write'],
      rows: 1,
      reviewed: 'every namespace; orcid:ben; resource:write',
    },
    { flags: ['--identity', 'orcid:nobody'], rows: 0, reviewed: 'every namespace; orcid:nobody' },
  ])('takes a part: $reviewed', async ({ flags, rows, reviewed }) => {
    const { stdout, status } = await run('review', 'start', 'old', '-o', 'q4.json', '--replace', ...flags, ...AT);
    expect(status).toBe(0);
    expect(stdout).toContain(`\nreviewed  ${reviewed}\n`);
    expect(rowsOf()).toHaveLength(rows);
  });

  it.each([
    { flags: ['--person', 'anm'], message: 'the policy names no person `anm`' },
    { flags: ['--scope', 'resource:*,*:*'], message: '`*:*` is not a scope of this policy' },
    { flags: ['--under', 'labs//x'], message: '`labs//x` is not a namespace' },
    { flags: ['--log', 'none'], message: 'there is no audit log in `none`' },
  ])('refuses $flags, and writes nothing', async ({ flags, message }) => {
    const before = textOf('q4.csv');
    const { status, stderr } = await run('review', 'start', 'old', '-o', 'q4.json', '--replace', ...flags);
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(textOf('q4.csv')).toBe(before);
  });

  it('says when each right was last used, by its holder and not by somebody who asked about it', async () => {
    const folder = await makeFolder();
    const writer = writerOf(folder);
    const actor: EventActor = {
      ...{ credentialScopes: [], fingerprint: null, id: 'ann', kind: 'request', namespaceRestrictions: null },
      identities: ['ad:s1', 'orcid:ann'],
    };
    const used = {
      actor,
      kind: 'query',
      outcome: 'allowed',
      decision: { decision: 'allow', grants: [{ id: 'reads' }] },
    } as const;
    writer.add(eventOf(1, used));
    writer.add(eventOf(2, { ...used, decision: { decision: 'allow', grants: [{ id: 'reads' }, { id: 'writes' }] } }));
    writer.add(eventOf(3, { ...used, actor: { ...actor, identities: ['orcid:ben'] }, subject: actor }));
    writer.add(eventOf(4, { ...used, outcome: 'denied', decision: { decision: 'deny', step: 'no_matching_grant' } }));
    await writer.sync();
    const later = ['review', 'start', 'old', '-o', 'q4.json', '--replace', '--log', folder];
    const { stdout } = await run(...later, ...AT);
    expect(stdout).toContain('last used by 4 events from 1970-01-01T00:00:01.000Z until 1970-01-01T00:00:04.000Z\n');
    const lastUsed = (): readonly unknown[] =>
      rowsOf().map(({ identity, grant, lastUsed: last }) => [identity, grant.id, last]);
    expect(lastUsed()).toEqual([
      ['ad-group:staff', 'group', null],
      ['ad:s1', 'reads', '1970-01-01T00:00:02.000Z'],
      ['ad:s1', 'writes', '1970-01-01T00:00:02.000Z'],
      ['orcid:ann', 'reads', '1970-01-01T00:00:02.000Z'],
      ['orcid:ann', 'writes', '1970-01-01T00:00:02.000Z'],
      ['orcid:=cmd', 'eve', null],
      ['orcid:ben', 'reads', null],
      ['orcid:ben', 'writes', null],
    ]);
    expect(linesOf(textOf('q4.csv')).map((line) => line['last used'])).toContain('1970-01-01 00:00:02 UTC');
    expect(linesOf(textOf('q4.csv')).map((line) => line['last used'])).toContain('never');
    await writer.close();
    const file = join(folder, 'testlog.000000000000001.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"reads"', '"raeds"'));
    const damaged = await run(...later, ...AT);
    expect([damaged.status, damaged.stderr]).toEqual([8, expect.stringContaining('1 line of the audit log in')]);
  });
});

describe('a sheet', () => {
  it('has no cell that a spreadsheet would take for a formula or for two lines', () => {
    const text = textOf('q4.csv');
    expect(text.startsWith('\ufeff"row","person"')).toBe(true);
    expect(text.split('\r\n')).toHaveLength(8 + 2);
    for (const line of linesOf(text)) {
      for (const cell of Object.values(line)) expect(cell).not.toMatch(/(?:^|[,;|])["\s]*[=+\-@]/);
      expect(Object.values(line).join('')).not.toMatch(/[\n\r\t]/);
    }
    expect(text).toContain(`"'=HYPERLINK(""http://evil.example"",""x""); '-1+1"`);
    expect(text).toContain(`"orcid:=cmd"`);
  });

  test.each<[string, (lines: Cells[]) => string]>([
    ['as it is', (lines) => saved(lines, { quotes: 'all' })],
    ['with semicolons', (lines) => saved(lines, { separator: ';' })],
    ['with tabs and a byte order mark', (lines) => `\ufeff${saved(lines, { separator: '\t' })}`],
    ['with bare line feeds', (lines) => saved(lines, { end: '\n' })],
    [
      'sorted by another column',
      (lines) => saved(lines.toSorted((a, b) => ((a['grant'] ?? '') < (b['grant'] ?? '') ? -1 : 1))),
    ],
    [
      'with other columns added and some taken away',
      (lines) => saved(lines.map(({ path: _, reason: __, ...line }) => ({ mine: '1', ...line }))),
    ],
    ['with blank lines', (lines) => `${saved(lines)},,,\r\n\r\n`],
    ['without apostrophes before formulas', (lines) => saved(lines).replaceAll(/'(?=[=-])/g, '')],
    [
      'with columns in another order',
      (lines) => saved(lines.map((line) => Object.fromEntries(Object.entries(line).reverse()))),
    ],
  ])('may come back %s', async (_name, save) => {
    write('q4.csv', save(decided([['orcid:=cmd', 'eve']])));
    const answer = await json('review', 'check', 'q4.json', 'old', ...AT);
    expect(answer['faults']).toEqual([]);
    expect(answer['missing']).toEqual([]);
    expect(answer['totals']).toEqual({ rows: 8, kept: 7, revoked: 1, undecided: 0 });
  });

  const swap = (lines: Cells[], name: string): Cells[] =>
    lines.map((line, i) => ({ ...line, [name]: lines[(i + 1) % lines.length]?.[name] ?? '' }));
  const first = (lines: Cells[], change: Cells): Cells[] =>
    lines.map((line, i) => (i === 0 ? { ...line, ...change } : line));

  test.each<[string, (lines: Cells[]) => string, string, RegExp]>([
    [
      'a line that no review has',
      (lines) => saved([...lines, { ...lines[0], row: 'r-00000000000000000000' }]),
      'sheet.forged',
      /^the review has no row `r-0{20}`$/,
    ],
    [
      'a line without a row',
      (lines) => saved([...lines, { ...lines[0], row: '' }]),
      'sheet.forged',
      /^the line names no row$/,
    ],
    [
      'one column sorted alone',
      (lines) => saved(swap(lines, 'identity')),
      'sheet.changed',
      /^`identity` is not what was frozen/,
    ],
    ['ids moved by a line', (lines) => saved(swap(lines, 'row')), 'sheet.changed', /were lines or columns moved/],
    [
      'a scope that was changed',
      (lines) => saved(first(lines, { scopes: 'resource:*' })),
      'sheet.changed',
      /^`scopes` is not/,
    ],
    [
      'an instant that was changed',
      (lines) => saved(first(lines, { until: '2031-01-01 00:00:00 UTC' })),
      'sheet.changed',
      /^`until` is not/,
    ],
    ['another word', (lines) => saved(first(lines, { decision: 'yes' })), 'sheet.decision', /^the decision is neither/],
    ['nobody', (lines) => saved(first(lines, { reviewer: ' ' })), 'sheet.reviewer', /^the decision has no reviewer$/],
    [
      'a row decided twice',
      (lines) => saved([...lines, { ...lines[0], decision: 'revoke', reviewer: 'Dan' }]),
      'sheet.conflict',
      /^Cora decided `keep`, and Dan `revoke`$/,
    ],
    [
      'a column taken away',
      (lines) => saved(lines.map(({ grant: _, ...line }) => line)),
      'sheet.column',
      /^the column `grant` is missing$/,
    ],
    ['an open quotation mark', (lines) => `${saved(lines)}"open`, 'sheet.malformed', /never closed$/],
  ])('is refused with %s', async (_name, save, code, message) => {
    write('q4.csv', save(decided()));
    const { status, stdout } = await run('review', 'check', 'q4.json', 'old', ...AT, '--format', 'json');
    const answer = JSON.parse(stdout) as {
      readonly ok: boolean;
      readonly faults: readonly Readonly<Record<string, unknown>>[];
    };
    expect([status, answer.ok]).toEqual([8, false]);
    expect(answer.faults[0]).toMatchObject({
      code,
      sheet: 'q4.csv',
      line: expect.any(Number),
      message: expect.stringMatching(message),
    });
  });

  it('keeps what a spreadsheet would write back as a number or a date, and says so where one did', async () => {
    expect((await run('review', 'start', 'values', '-o', 'values.json', ...AT)).status).toBe(0);
    const lines: Cells[] = linesOf(textOf('values.csv')).map((line) => ({
      ...line,
      decision: 'keep',
      reviewer: 'Cora',
    }));
    write('values.csv', saved(lines.map(taken)));
    expect(await json('review', 'check', 'values.json', 'values', ...AT)).toMatchObject({ faults: [], missing: [] });
    write('values.csv', saved(lines.map((line) => taken({ ...line, grant: (line['grant'] ?? '').replace(/^'/, '') }))));
    const { faults } = await json('review', 'check', 'values.json', 'values', ...AT);
    expect(faults).toHaveLength(VALUES.length);
    expect(faults).toEqual(
      VALUES.map(() =>
        expect.objectContaining({
          code: 'sheet.changed',
          message:
            '`grant` is not what was frozen for this row: did a spreadsheet take it for a number or a date? Open the sheet again with all columns as text',
        }),
      ),
    );
  });

  it('of an earlier review decides nothing in a later one', async () => {
    const lines = decided();
    expect(
      (await run('review', 'start', 'old', '-o', 'q4.json', '--replace', '--at', '2027-01-02T00:00:00Z')).status,
    ).toBe(0);
    write('q4.csv', saved(lines));
    const answer = await json('review', 'check', 'q4.json', 'old', ...AT);
    expect((answer['faults'] as readonly object[]).map((one) => 'code' in one && one.code)).toEqual(
      Array(8).fill('sheet.forged'),
    );
    expect(answer['missing']).toHaveLength(8);
  });

  it('that is not UTF-8 says how to save it', async () => {
    write('q4.csv', Buffer.from([...Buffer.from(saved(decided([], 'Zo'))), 0xeb]));
    const { status, stderr } = await run('review', 'check', 'q4.json', 'old');
    expect([status, stderr]).toEqual([2, 'error: `q4.csv` is not UTF-8\n  help: save it as "CSV UTF-8"\n']);
  });
});
