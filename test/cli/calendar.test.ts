// `calendar`, and `check --soon`: what changes by itself, for people, as JSON, and as iCalendar to the letter of RFC 5545.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const REASON = 'PASS-314; until "summer", says Ann\\n, \u{1d518} '.repeat(3);
const FILES = {
  'policy.yaml': 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n',
  'all.yaml': `roles:
  crew:
    members:
      - orcid:ann
      - { identity: orcid:bob, notBefore: 2027-02-01T00:00:00Z, expires: 2027-09-01T00:00:00Z }
grants:
  - { id: read, role: crew, namespace: /amx, scopes: ["*:read"], expires: 2027-08-01T00:00:00Z, reason: ${JSON.stringify(REASON)} }
  - { id: write, role: crew, namespace: /amx/7, scopes: ["resource:write"], notBefore: 2027-01-01T00:00:00.500Z, expires: 2027-03-01T00:00:00Z }
  - { id: more, role: crew, namespace: /amx/7, scopes: ["resource:write"], notBefore: 2027-04-01T00:00:00Z }
`,
};
const GUARDED = {
  'guards.yaml':
    'guardrails:\n  - id: one-writer\n    atMost: { identities: 1, scopes: ["resource:write"], at: /amx/7 }\n',
};
const FROM = ['--from', '2026-12-01T00:00:00Z'];

let cwd = '';
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd });
const day = (text: string): string => `2027-${text}T00:00:00.000Z`;

beforeAll(async () => {
  const nest = (folder: string, files: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
    Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]);
  cwd = await makeFolder(Object.fromEntries([...nest('plain', FILES), ...nest('guarded', { ...FILES, ...GUARDED })]));
});

describe('calendar', () => {
  it('says who gains and loses what at each instant, why, until when, and which guardrails break', async () => {
    const { status, stdout } = await run('calendar', 'guarded', ...FROM);
    expect(status).toBe(0);
    expect(stdout).toContain(`${day('02-01')}
+ orcid:bob
    *:read at and below /amx until ${day('08-01')}
    resource:write at and below /amx/7 until ${day('03-01')}
    because the membership of orcid:bob in role crew begins (all.yaml:5)
guardrail one-writer breaks
${day('03-01')}
- orcid:ann, orcid:bob
    resource:write at and below /amx/7 and again from ${day('04-01')}
    because grant \`write\` to role crew ends (all.yaml:8)
guardrail one-writer comes to hold
`);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      `access changes by itself at 6 instants from 2026-12-01T00:00:00.000Z until ${day('12-01')}, and at no other`,
    );
  });

  it('has as JSON the rows of a difference for each instant in the window, the first included and the last not', async () => {
    const { stdout } = await run(
      ...['calendar', 'guarded', '--from', '2027-03-01T00:00:00Z', '--until', '2027-04-01T00:00:00Z'],
      ...['--format', 'json'],
    );
    expect(JSON.parse(stdout)).toEqual({
      from: day('03-01'),
      until: day('04-01'),
      snapshot: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      changes: [
        {
          at: day('03-01'),
          gained: [],
          lost: [
            {
              ...{ namespace: '/amx/7', extent: 'subtree', identities: ['orcid:ann', 'orcid:bob'] },
              ...{ scopes: ['resource:write'], from: day('03-01'), until: day('04-01') },
              causes: [
                { change: 'ends', kind: 'grant', id: 'write', principal: 'role crew', file: 'all.yaml', line: 8 },
              ],
            },
          ],
          guardrails: [{ id: 'one-writer', holds: true }],
        },
      ],
    });
  });

  it('looks at a year from now on unless it is told, and at snapshots too', async () => {
    expect((await run('compile', 'plain', '-o', 'snapshot.json')).status).toBe(0);
    const { stdout } = await run('calendar', 'snapshot.json', '--format', 'json');
    const { from, until } = JSON.parse(stdout) as { from: string; until: string };
    expect(Math.abs(Date.parse(from) - Date.now())).toBeLessThan(60_000);
    expect(Number(until.slice(0, 4))).toBe(Number(from.slice(0, 4)) + 1);
    const [folder, file] = await Promise.all([
      run('calendar', 'plain', ...FROM),
      run('calendar', 'snapshot.json', ...FROM),
    ]);
    expect(file.stdout).toBe(folder.stdout);
  });

  it('refuses a window without time in it', async () => {
    const { status, stderr } = await run('calendar', 'plain', ...FROM, '--until', '2026-12-01T00:00:00Z');
    expect([status, stderr]).toEqual([2, expect.stringContaining('`--until` must be after `--from`')]);
  });
});

/** The properties of iCalendar text, unfolded; checks what RFC 5545 3.1 says about lines. */
function propertiesOf(ics: string): readonly (readonly [string, string])[] {
  expect(ics.endsWith('\r\n')).toBe(true);
  expect(ics.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  const lines = ics.slice(0, -2).split('\r\n');
  for (const line of lines) {
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    expect(line.isWellFormed()).toBe(true);
  }
  return ics
    .slice(0, -2)
    .replaceAll('\r\n ', '')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    });
}

/** RFC 5545 3.3.11: of TEXT, only these are escaped, and nothing that must be is not. */
function unescaped(text: string): string {
  expect(text.replaceAll(/\\[\\;,n]/g, '')).not.toMatch(/[\\;,]/);
  return text.replaceAll(/\\([\\;,n])/g, (_, one: string) => (one === 'n' ? '\n' : one));
}

describe('calendar --format ics', () => {
  const ics = async (...args: readonly string[]): Promise<readonly (readonly [string, string])[]> =>
    propertiesOf((await run('calendar', ...args, '--format', 'ics')).stdout);

  it('has an event for each instant, with what the text says', async () => {
    const found = await ics('guarded', ...FROM);
    expect(found.slice(0, 4)).toEqual([
      ['BEGIN', 'VCALENDAR'],
      ['VERSION', '2.0'],
      ['PRODID', expect.stringContaining('Bailiwick')],
      ['CALSCALE', 'GREGORIAN'],
    ]);
    const all = (name: string): readonly string[] => found.flatMap(([key, value]) => (key === name ? [value] : []));
    expect(all('DTSTART')).toEqual(
      ['0101', '0201', '0301', '0401', '0801', '0901'].map((date) => `2027${date}T000000Z`),
    );
    for (const stamp of all('DTSTAMP')) expect(stamp).toMatch(/^\d{8}T\d{6}Z$/);
    expect(unescaped(all('SUMMARY')[1] ?? '')).toBe('facility: 1 identity gains access; guardrail one-writer breaks');
    const { stdout } = await run('calendar', 'guarded', ...FROM);
    const descriptions = all('DESCRIPTION').map(unescaped);
    expect(`${descriptions.join('\n')}\n`).toBe(stdout.slice(0, stdout.indexOf('access changes')));
    expect(descriptions.join()).toContain('\u{1d518}');
    expect(found.filter(([key]) => key === 'BEGIN').length).toBe(found.filter(([key]) => key === 'END').length);
  });

  it('names the same event alike each time, and another one otherwise', async () => {
    const uids = async (...args: readonly string[]): Promise<readonly string[]> =>
      (await ics(...args)).flatMap(([key, value]) => (key === 'UID' ? [value] : []));
    const all = await uids('plain', ...FROM);
    expect(new Set(all).size).toBe(6);
    expect(await uids('plain', '--from', '2027-02-01T00:00:00Z', '--until', '2028-01-01T00:00:00Z')).toEqual(
      all.slice(1),
    );
  });

  it('has a component where nothing changes, as it must', async () => {
    const found = await ics('plain', '--from', '2030-01-01T00:00:00Z');
    expect(found).toContainEqual(['BEGIN', 'VJOURNAL']);
    expect(found).toContainEqual(['SUMMARY', expect.stringContaining('no access changes by itself')]);
  });
});

describe('check --soon', () => {
  const asked = ['check', 'guarded', '--at', '2027-02-15T00:00:00Z'];

  it('says what changes by itself in that time', async () => {
    const { stdout } = await run(...asked, '--soon', '30d');
    expect(stdout.startsWith(`${day('03-01')}\n- orcid:ann, orcid:bob\n`)).toBe(true);
    expect(stdout).toContain('guardrail one-writer comes to hold\n');
    const json = JSON.parse((await run(...asked, '--soon', '30d', '--format', 'json')).stdout) as {
      calendar: { from: string; until: string; changes: readonly { at: string }[] };
    };
    expect(json.calendar).toMatchObject({ from: day('02-15'), until: day('03-17'), changes: [{ at: day('03-01') }] });
  });

  it('says so only where it is asked', async () => {
    expect((await run(...asked)).stdout).not.toContain('comes to hold');
    expect(JSON.parse((await run(...asked, '--format', 'json')).stdout)).not.toHaveProperty('calendar');
  });
});
