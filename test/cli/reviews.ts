// Policies and sheets for tests of access reviews, and what spreadsheets make of sheets.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect } from '@jest/globals';
import { parseCsv } from '../../server/review/csv.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = `bailiwick: 1
name: facility
providers: { orcid: {}, ad: {} }
`;
const REASON = '=HYPERLINK("http://evil.example","x"); -1+1';
export const GRANTS = `  - { id: reads, role: crew, namespace: /labs, scopes: ["*:read"], reason: ${JSON.stringify(REASON)} }
  - { id: writes, role: crew, namespace: /labs/optics, scopes: ["resource:write"], expires: 2030-01-01T00:00:00Z }
  - { id: eve, identity: "orcid:=cmd", namespace: /labs, scopes: ["resource:*"] }
  - { id: past, identity: orcid:ben, namespace: /labs, scopes: ["resource:*"], expires: 2020-01-01T00:00:00Z }
  - { id: group, identity: "ad-group:staff", namespace: /labs, scopes: ["resource:read"], inherit: false }
`;
const PEOPLE = 'people:\n  ann: { identities: [orcid:ann, ad:s1] }\n';
const ROLES = `roles:
  crew: { members: [orcid:ann, { role: leads }, { identity: orcid:ben, expires: 2028-01-01T00:00:00Z }] }
  leads: { members: [orcid:ann, ad:s1] }
`;
export const AT = ['--at', '2027-01-01T00:00:00Z'];

export interface Row {
  readonly id: string;
  readonly identity: string;
  readonly grant: { readonly id: string };
  readonly [name: string]: unknown;
}

/** Ids that spreadsheets take for numbers, dates and truth values. */
export const VALUES = ['0042', '1e5', '2027-01-02', 'true', 'sep-2', '2.10'];

let cwd = '';
/** A file in the folder of the reviews. */
export const placeOf = (name: string): string => join(cwd, name);
export const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
export const json = async (...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> =>
  JSON.parse((await run(...args, '--format', 'json')).stdout) as Readonly<Record<string, unknown>>;
export const textOf = (name: string): string => readFileSync(join(cwd, name), 'utf8');
export const write = (name: string, text: string | Uint8Array): void => {
  writeFileSync(join(cwd, name), text);
};
export const rowsOf = (name = 'q4.json'): readonly Row[] =>
  (JSON.parse(textOf(name)) as { readonly rows: readonly Row[] }).rows;
export const idOf = (identity: string, grant: string): string =>
  rowsOf().find((row) => row.identity === identity && row.grant.id === grant)?.id ?? 'none';

function policy(folder: string, grants: string, roles = ROLES): Readonly<Record<string, string>> {
  return {
    [`${folder}/policy.yaml`]: POLICY,
    [`${folder}/all.yaml`]: `${PEOPLE}${roles}grants:\n${grants}`,
  };
}

export type Cells = Record<string, string>;

/** The lines of a sheet, by the names of columns. */
export function linesOf(text: string): Cells[] {
  const parsed = parseCsv(text);
  if ('fault' in parsed) throw new Error(parsed.fault);
  const [head, ...lines] = parsed;
  return lines.map(({ cells }) => Object.fromEntries(cells.map((cell, i) => [head?.cells[i] ?? '', cell])));
}

interface Spreadsheet {
  readonly separator?: string;
  readonly end?: string;
  readonly quotes?: 'all' | 'few';
}

/** As a spreadsheet would write them. */
export function saved(
  lines: readonly Cells[],
  { separator = ',', end = '\r\n', quotes = 'few' }: Spreadsheet = {},
): string {
  const cell = (text: string): string =>
    quotes === 'all' || /[",;\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const names = Object.keys(lines[0] ?? {});
  return [names, ...lines.map((line) => names.map((name) => line[name] ?? ''))]
    .map((cells) => `${cells.map(cell).join(separator)}${end}`)
    .join('');
}

/** What it writes for a cell that it has taken for a value. It keeps what begins with an apostrophe. */
export function taken(cells: Cells): Cells {
  const written: Readonly<Record<string, string>> = {
    '0042': '42',
    '1e5': '1.00E+05',
    '2027-01-02': '1/2/2027',
    true: 'TRUE',
    'sep-2': '2-Sep',
    '2.10': '2.1',
  };
  return Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name, written[cell] ?? cell]));
}

/** Everything is kept but these, by identity and grant. */
export function decided(revoked: readonly (readonly [string, string])[] = [], reviewer = 'Cora'): Cells[] {
  const ids = new Set(revoked.map(([identity, grant]) => idOf(identity, grant)));
  return linesOf(textOf('q4.csv')).map((line) => ({
    ...line,
    decision: ids.has(line['row'] ?? '') ? 'Revoke' : 'keep',
    reviewer,
    note: ids.has(line['row'] ?? '') ? 'left; the\n"team"' : '',
  }));
}

/** For each test a new review of the policy `old`, in a folder with policies that follow it. */
export function beginReviews(): void {
  beforeAll(async () => {
    cwd = await makeFolder({
      ...policy('old', GRANTS),
      ...policy(
        'values',
        VALUES.map((id) => `  - { id: "${id}", role: leads, namespace: /labs, scopes: ["resource:read"] }\n`).join(''),
        'roles: { leads: { members: [orcid:ann] } }\n',
      ),
      // The same access by other grants; then without the access of Ann's and Eve's that is revoked.
      ...policy('renamed', GRANTS.replace('id: writes', 'id: scribes').replace('id: eve', 'id: mallory')),
      ...policy(
        'twice',
        `${GRANTS}  - { id: again, identity: orcid:ann, namespace: /labs/optics, scopes: ["resource:read"] }\n`,
      ),
      ...policy(
        'new',
        GRANTS.replace(/.*id: eve.*\n/, '') +
          '  - { id: more, role: leads, namespace: /labs/lasers, scopes: ["process-run:write"] }\n',
        ROLES.replace('crew: { members: [orcid:ann, { role: leads }', 'crew: { members: [ad:s1').replace(
          'leads: { members: [orcid:ann, ',
          'leads: { members: [',
        ),
      ),
    });
    expect((await run('compile', 'old', '-o', 'old.json')).status).toBe(0);
  });

  beforeEach(async () => {
    for (const name of ['q4.json', 'q4.csv']) rmSync(join(cwd, name), { force: true });
    expect((await run('review', 'start', 'old', '-o', 'q4.json', ...AT)).status).toBe(0);
  });
}
