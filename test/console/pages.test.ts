// The pages as people meet them, in a real browser, from disk: the playground of the shipped policy, and the report of a change.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { makeIo } from '../support/cli-io.js';
import { faultsOf, hasBrowser, openBrowser, type TestBrowser, violationsOf } from '../support/browser.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { main } from '../../server/cli/main.js';

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await makeFolder();
  await cp(fromRoot('policies'), join(folder, 'before'), { recursive: true });
  await cp(fromRoot('policies'), join(folder, 'after'), { recursive: true });
  const changed = join(folder, 'after/grants/labs.yaml');
  const text = await readFile(changed, 'utf8');
  await writeFile(changed, text.replace('scopes: [resource-template:read, resource:read]', 'scopes: [resource:write]'));
  const wrote = makeIo({ cwd: folder });
  expect(await main(['playground', 'before', '-o', 'playground.html'], wrote.io)).toBe(0);
  expect(wrote.stdout()).toBe('wrote playground.html: open it in a browser\n');
  const compared = makeIo({ cwd: folder });
  expect(await main(['diff', 'before', 'after', '--format', 'html', '--exit-code'], compared.io)).toBe(7);
  await writeFile(join(folder, 'report.html'), compared.stdout());
});

test('a page has one script, by its hash, and nothing from elsewhere', async () => {
  for (const name of ['playground.html', 'report.html']) {
    const page = await readFile(join(folder, name), 'utf8');
    expect(page).toContain(`content="default-src 'none'; script-src 'sha256-`);
    const markup = page.replaceAll(/<(script|style)\b[^>]*>.*?<\/\1>/gs, '');
    expect(markup).not.toMatch(/https?:|\son\w+=|\ssrc=/i);
  }
  const report = await readFile(join(folder, 'report.html'));
  expect(report.length).toBeLessThan(400_000);
});

test('a text of the policy cannot leave its place in the page', async () => {
  await cp(join(folder, 'before'), join(folder, 'hostile'), { recursive: true });
  await writeFile(join(folder, 'hostile/people.yaml'), '# </script><script>alert(1)</script><!--data-->\npeople: {}\n');
  const ran = makeIo({ cwd: folder });
  expect(await main(['playground', 'hostile', '-o', '-'], ran.io)).toBe(0);
  expect(ran.stdout()).not.toContain('<script>alert');
});

(hasBrowser ? describe : describe.skip)('in a browser', () => {
  let browser: TestBrowser;
  let page: Page;
  let faults: readonly string[];

  beforeAll(async () => {
    browser = await openBrowser();
    page = await browser.context.newPage();
    await page.setViewportSize({ width: 1400, height: 900 });
    faults = faultsOf(page, (url) => url.startsWith('file:'));
  }, 60_000);

  afterAll(async () => {
    await browser.close();
  });

  const open = async (name: string): Promise<void> => {
    await page.goto(pathToFileURL(join(folder, name)).href);
    await page.locator('.matrix .across .head').first().waitFor();
  };
  const tab = (name: string): Promise<void> => page.getByRole('tab', { name }).click();
  /** What somebody hears of the chosen cell. */
  const chosen = async (has: string): Promise<string> => {
    const cell = page.locator('[role=gridcell]').filter({ hasText: has });
    await cell.waitFor({ state: 'attached' });
    return (await cell.textContent())?.trim() ?? '';
  };

  it('shows who holds what where, by keyboard alone', async () => {
    await open('playground.html');
    await page.getByRole('grid').focus();
    expect(await chosen('everybody at / and below')).toContain('everybody at / and below holds');
    await page.keyboard.press('ArrowDown');
    expect(await chosen('everybody at / itself')).toContain('everybody at / itself holds');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.down .head', { hasText: '/amx' }).waitFor();
    await page.getByLabel('Find namespace').fill('/beamlines/amx');
    await page.getByLabel('Find who').fill('davide');
    await page.locator('.across .head', { hasText: 'davide-ferro' }).waitFor();
    await page.getByRole('grid').focus();
    await page.keyboard.press('Control+End');
    expect(await chosen('davide-ferro')).toContain('davide-ferro at');
  }, 60_000);

  it('has each picture as a table, keeps a pinned column in sight, and prints what it shows', async () => {
    await open('playground.html');
    await page.getByLabel('Find who').fill('davide');
    await page.locator('.across .head', { hasText: 'davide-ferro' }).waitFor();
    await page.locator('.across .head', { hasText: 'davide-ferro' }).click();
    await page.getByRole('button', { name: 'Pin davide-ferro' }).click();
    await page.locator('.across .head.pinned', { hasText: 'davide-ferro' }).waitFor();
    await page.getByLabel('Find who').fill('hanna');
    await page.locator('.across .head', { hasText: 'hanna' }).waitFor();
    expect(await page.locator('.across .head').first().textContent()).toContain('davide-ferro');
    await page
      .getByRole('button', { name: 'Pin /computing' })
      .or(page.getByRole('button', { name: 'Pin /', exact: true }))
      .click();
    await page.locator('.down.kept .head.pinned').first().waitFor();
    await page.locator('.zone.both canvas').first().waitFor({ state: 'attached' });
    await page.getByText('The same as a table').click();
    const table = page.locator('details.as-table');
    await table.getByRole('row', { name: /^\/computing and below davide-ferro / }).waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      table.getByRole('button', { name: 'JSON' }).click(),
    ]);
    const cells = JSON.parse(await readFile(await saved.path(), 'utf8')) as { column: string; path: string }[];
    expect(new Set(cells.map(({ column }) => column))).toEqual(
      new Set(['davide-ferro', 'everybody', 'hanna-sorensen']),
    );
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.cells canvas').first().isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await tab('Why');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    await page.keyboard.press('Tab');
    const holder = page.getByRole('region', { name: 'Table of who-can' }).locator('tbody td').first();
    await holder.waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await holder.isVisible()).toBe(true);
    await page.emulateMedia({ media: null });
  }, 60_000);

  it('says why, who else, and what would change it', async () => {
    await open('playground.html');
    await tab('Why');
    await page.getByLabel('May', { exact: true }).fill('badge:b-10210');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    await page.keyboard.press('Tab');
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    const pane = page.getByRole('tabpanel');
    expect(await pane.textContent()).toContain('fails no_matching_grant');
    const staff = page.locator('.edits li', { hasText: 'add badge:b-10210 to role `amx-staff`' });
    await staff.waitFor();
    expect(await staff.textContent()).toContain(
      'Applyopens 779 other cells; breaks no guardrail; fails 1 test: "the user office opens',
    );
    const holder = pane.getByRole('row', { name: /^badge:b-11240 / });
    expect(await holder.textContent()).toContain('grant amx-leads (grants/beamlines/amx/grants.yaml:5)');
    await tab('One person');
    await page.getByLabel('Person or identity').fill('davide-ferro');
    await page.keyboard.press('Tab');
    await page.locator('.icicle').waitFor();
    expect(await pane.textContent()).toContain('/labs/detector and below');
  }, 60_000);

  it('finds who may write at a place and why, takes it away, and gives the patch that does so', async () => {
    await open('playground.html');
    await page.getByLabel('Find namespace').fill('/beamlines/amx');
    await page.locator('.down .head', { hasText: '/beamlines' }).waitFor();
    await tab('Why');
    await page.getByRole('tabpanel').locator('select').selectOption('resource:write');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    await page.keyboard.press('Tab');
    const holders = page.getByRole('region', { name: 'Table of who-can' }).locator('tbody td:first-child');
    await holders.first().waitFor();
    const everybody = await holders.allTextContents();
    await page.getByRole('button', { name: 'Why? badge:b-11240' }).click();
    await page.getByRole('heading', { name: 'Allowed' }).waitFor();
    const apply = page.getByRole('button', { name: 'Apply: remove badge:b-11240 from role `amx-leads`' });
    const effect = await page.locator('.edits li', { has: apply }).textContent();
    expect(effect).toMatch(/takes away [\d,]+ other cells? of 1 identity; .*breaks/);
    await apply.click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    const own = page.getByRole('region', { name: 'Your edits' });
    await own.getByText(/0 cells gained, [\d,]+ cells lost/).waitFor();
    await own.getByRole('status').filter({ hasText: /./ }).first().waitFor();
    await holders.first().waitFor();
    const left = await holders.allTextContents();
    expect(left).toEqual(everybody.filter((one) => one !== 'badge:b-11240'));
    // What git makes of the patch is what the page has.
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      own.getByRole('button', { name: 'Save the patch' }).click(),
    ]);
    await cp(join(folder, 'before'), join(folder, 'patched'), { recursive: true });
    await download.saveAs(join(folder, 'policy.patch'));
    await run('git', ['init', '--quiet'], { cwd: join(folder, 'patched') });
    await run('git', ['apply', '--verbose', '../policy.patch'], { cwd: join(folder, 'patched') });
    const asked = makeIo({ cwd: folder });
    await main(['who-can', 'patched', 'resource:write', '/beamlines/amx', '--format', 'json'], asked.io);
    const { identities } = JSON.parse(asked.stdout()) as { identities: { identity: string }[] };
    expect(identities.map(({ identity }) => identity).sort()).toEqual([...left].sort());
    await own.getByRole('button', { name: 'Undo the last edit' }).click();
    await page.getByRole('heading', { name: 'Allowed' }).waitFor();
    expect(await own.count()).toBe(0);
    await page.getByRole('button', { name: 'Redo' }).click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
  }, 60_000);

  it('checks what is typed, shows what it changes, and takes it back', async () => {
    await open('playground.html');
    await page.getByRole('button', { name: 'grants/labs.yaml' }).click();
    const text = page.getByRole('textbox', { name: 'Text of grants/labs.yaml' });
    const before = await readFile(join(folder, 'before/grants/labs.yaml'), 'utf8');
    const write = async (all: string): Promise<void> => {
      await text.focus();
      await page.keyboard.press('Control+A');
      await page.keyboard.press('Delete');
      await page.keyboard.insertText(all);
    };
    await write(before.replace('scopes:', 'skopes:'));
    await page.locator('.found .error').first().waitFor();
    expect(await page.locator('.found').textContent()).toContain('KEY_UNKNOWN');
    await page.getByText('What is shown is the last policy without mistakes.').waitFor();
    await text.locator('.cm-lintRange-error').first().waitFor();
    await write(before.replace('resource:read]', 'resource:write]'));
    await tab('What changed');
    await page.getByText(/cells gained/).waitFor();
    await page.getByRole('button', { name: 'Show the rows' }).click();
    expect(await page.getByRole('tabpanel').textContent()).toContain(
      'grant `crystallization-published` to role users was changed: scopes (grants/labs.yaml:17)',
    );
    await tab('Tests and guardrails');
    await page.getByText(/\d+ fail/).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await tab('What changed');
    await page.getByText('No access is gained or lost.').waitFor();
  }, 60_000);

  it('completes what is typed, says who is behind a name, and can be left by keyboard', async () => {
    await open('playground.html');
    await page.getByRole('button', { name: 'grants/labs.yaml' }).click();
    const text = page.getByRole('textbox', { name: 'Text of grants/labs.yaml' });
    await text.focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('  - id: another\n');
    await page.keyboard.type('role: mx');
    const choices = page.locator('.cm-tooltip-autocomplete li');
    await choices.filter({ hasText: 'mx-crew' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'roles/staff.yaml' }).click();
    const role = page.locator('.cm-line', { hasText: 'amx-leads:' }).locator('span', { hasText: 'amx-leads' }).first();
    await role.hover();
    await page.locator('.cm-tooltip .about').waitFor();
    expect(await page.locator('.cm-tooltip .about').textContent()).toMatch(
      /^role amx-leads.*3 identities: badge:b-11240/,
    );
    await page.getByRole('textbox', { name: 'Text of roles/staff.yaml' }).focus();
    expect(await page.locator('.cm-content:focus').count()).toBe(1);
    await page.keyboard.press('Tab');
    expect(await page.locator('.cm-content:focus').count()).toBe(0);
  }, 60_000);

  it('keeps the line ends of a file', async () => {
    await open('playground.html');
    const files = [
      { path: 'policy.yaml', text: 'bailiwick: 1\r\nname: small\r\nproviders: { badge: {} }\r\n' },
      {
        path: 'grants.yaml',
        text: 'grants:\r\n  - { id: one, identity: badge:a, namespace: /labs, scopes: [resource:read] }\r\n',
      },
    ];
    await page.getByLabel('Open a shared file').setInputFiles({
      ...{ name: 'small.json', mimeType: 'application/json' },
      buffer: Buffer.from(JSON.stringify({ name: 'small', files })),
    });
    await page.locator('.across .head', { hasText: 'badge:a' }).waitFor();
    await page.getByRole('button', { name: 'grants.yaml' }).click();
    const text = page.getByRole('textbox', { name: 'Text of grants.yaml' });
    await text.focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# the end');
    await tab('Why');
    await page.getByLabel('May', { exact: true }).fill('badge:a');
    await page.getByLabel('at', { exact: true }).fill('/labs');
    await page.keyboard.press('Tab');
    const apply = page.getByRole('button', { name: /^Apply: let grant `one` carry/ });
    await apply.waitFor();
    await text.focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('!');
    await apply.click(); // before the page has read what was typed
    await page.getByRole('heading', { name: 'Allowed' }).waitFor();
    expect(await text.textContent()).toMatch(/scopes: \[resource:\*\].*# the end!/s);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    // What was checked before the edits is checked again after them.
    await page.locator('.seal', { hasText: /sha256:/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Share as a file' }).click(),
    ]);
    const shared = JSON.parse(await readFile(await download.path(), 'utf8')) as { files: { text: string }[] };
    expect(shared.files.map((file) => file.text)).toEqual([files[0]?.text, `${files[1]?.text ?? ''}# the end!`]);
  }, 60_000);

  it('has the report of a change, with the digests of both policies', async () => {
    await open('report.html');
    const { stdout, io } = makeIo({ cwd: folder });
    await main(['diff', 'before', 'after', '--format', 'json'], io);
    const diff = JSON.parse(stdout()) as {
      old: { snapshot: string };
      new: { snapshot: string };
      cells: { gained: number };
      gained: readonly { identities: readonly string[]; causes: readonly { id?: string }[] }[];
    };
    expect(await page.locator('.seal').textContent()).toContain(
      `before ${diff.old.snapshot}after ${diff.new.snapshot}at any time`,
    );
    expect(await page.locator('.summary').textContent()).toContain(`${String(diff.cells.gained)} cells gained`);
    const gravest = page.locator('.weaker', { hasText: 'more than reading' }).getByRole('listitem').first();
    expect(await gravest.textContent()).toMatch(
      /: resource:write at \/labs\/\S+.*, always\. grant `[^`]+` .*\(grants\/labs\.yaml:\d+\)/,
    );
    // A mark leads to its cause, and to everybody else for whom that changes something.
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('.detail p', { hasText: /^github at / }).waitFor();
    const cause = page.locator('.detail li', { hasText: 'grant `crystallization-published`' });
    const all = diff.gained.filter(({ causes }) => causes.some(({ id }) => id === 'crystallization-published'));
    const others = [...new Set(all.flatMap(({ identities }) => identities))]
      .filter((one) => !one.startsWith('github:'))
      .sort();
    expect(others.length).toBeGreaterThan(0);
    expect(await cause.textContent()).toMatch(
      new RegExp(`\\(grants/labs\\.yaml:\\d+\\).*For others, too: ${others.join(', ')}$`, 's'),
    );
    // Identities of one provider begin alike, so a name that is cut shows its end.
    const heads = await page.locator('.across .head', { hasText: 'orc…' }).all();
    expect(heads.length).toBeGreaterThan(1);
    for (const head of heads) {
      const shown = (await head.textContent())?.trim() ?? '';
      expect(await head.getAttribute('aria-label')).toMatch(new RegExp(`^orcid:.*${shown.slice(4)}$`));
    }
  }, 60_000);

  it('has nothing that WCAG 2.2 AA forbids, in light and in dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open('report.html');
      expect(await violationsOf(page)).toEqual([]);
      await open('playground.html');
      const asked: readonly (readonly [name: string, ask: () => Promise<unknown>])[] = [
        ['Who and where', () => page.getByText('The same as a table').click()],
        ['What changed', () => page.getByText('No access is gained or lost.').waitFor()],
        [
          'One person',
          async () => {
            await page.getByLabel('Person or identity').fill('davide-ferro');
            await page.keyboard.press('Tab');
            await page.locator('.icicle').waitFor();
          },
        ],
        [
          'Why',
          async () => {
            await page.getByLabel('May', { exact: true }).fill('badge:b-11240');
            await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
            await page.keyboard.press('Tab');
            await page.locator('.edits button').first().waitFor();
          },
        ],
        ['Requests', () => page.getByRole('row', { name: /^r1 / }).waitFor()],
        ['Tests and guardrails', () => page.getByText('tests pass').waitFor()],
      ];
      for (const [name, ask] of asked) {
        await tab(name);
        await ask();
        expect({ name, found: await violationsOf(page) }).toEqual({ name, found: [] });
      }
    }
  }, 120_000);

  it('opens a snapshot, a shared file and a folder that are dropped on it', async () => {
    await open('playground.html');
    const compiled = makeIo({ cwd: folder });
    expect(await main(['compile', 'before', '-o', 'dropped.json'], compiled.io)).toBe(0);
    const text = await readFile(join(folder, 'dropped.json'), 'utf8');
    const drop = (name: string, said: string): Promise<unknown> =>
      page.evaluate(`{
        const data = new DataTransfer();
        data.items.add(new File([${JSON.stringify(said)}], ${JSON.stringify(name)}));
        document.querySelector('.page').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true }));
      }`);
    await drop('dropped.json', text);
    await page.getByText('A snapshot is what a gateway decides by.').waitFor();
    const digest = createHash('sha256').update(text).digest('hex');
    expect(await page.locator('.seal').textContent()).toContain(`sha256:${digest.slice(0, 16)}`);
    const files = [{ path: 'policy.yaml', text: 'bailiwick: 1\nname: small\nproviders: { badge: {} }\n' }];
    await drop('small.json', JSON.stringify({ name: 'small', files }));
    await page.getByRole('textbox', { name: 'Text of policy.yaml' }).waitFor();
    await drop('other.json', '{"a":1}');
    expect(await page.getByRole('alert').textContent()).toMatch(/^Nothing was opened: .+\.$/);
  }, 60_000);

  it('has the policy of the README as an example, and its tabs are reached by arrows', async () => {
    await open('playground.html');
    await page.locator('header select').selectOption('Labs (the README)');
    await page.locator('.across .head', { hasText: 'orc…' }).first().waitFor();
    await page.locator('.seal', { hasText: 'sha256:342e453324c40672' }).waitFor();
    await page.getByRole('tab', { name: 'Who and where' }).focus();
    await page.keyboard.press('End');
    await page
      .getByText('All guardrails hold')
      .or(page.getByText(/1 test/))
      .first()
      .waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByLabel('Requests, one a line').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByLabel('at', { exact: true }).fill('/labs/optics');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'orcid:0000-0000-4181-2064' }).waitFor();
  }, 60_000);

  it('never asks for anything, and the browser has nothing to say', () => {
    expect(faults).toEqual([]);
  });
});
