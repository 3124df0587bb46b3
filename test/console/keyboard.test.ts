// The console and the playground by keyboard alone: Tab reaches each control, Enter uses it, Escape closes what was opened, and the focus is
// somewhere on the page afterwards, even if what had it is gone.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { hasBrowser, openBrowser, type TestBrowser } from '../support/browser.js';
import { type ConsoleGateway, openConsoleGateway } from '../support/console-gateway.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const MOST_TABS = 80;

(hasBrowser ? describe : describe.skip)('by keyboard alone', () => {
  let gateway: ConsoleGateway;
  let browser: TestBrowser;
  let page: Page;
  const press = (key: string): Promise<void> => page.keyboard.press(key);
  const focused = (): Promise<string> =>
    page.evaluate(
      `(({ tagName, textContent, labels, ariaLabel }) => [tagName.toLowerCase(), ariaLabel ?? (!/^(BUTTON|INPUT|SELECT|SUMMARY|A)$/.test(tagName) ? '' : (labels?.[0]?.innerText ?? textContent))].join(' '))(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)`,
    );
  /** Goes on to the control, as often as it takes. */
  const tabTo = async (control: RegExp): Promise<void> => {
    const passed: string[] = [];
    for (let times = 0; times < MOST_TABS; times += 1) {
      const name = await focused();
      if (control.test(name)) return;
      passed.push(name.slice(0, 40));
      await press('Tab');
    }
    throw new Error(`Tab does not reach ${String(control)}, only ${passed.join(', ')}`);
  };
  const use = async (control: RegExp, waitFor: () => Promise<unknown>): Promise<void> => {
    await tabTo(control);
    await press('Enter');
    await waitFor();
    // The body has the focus where the control that had it was removed: then Tab begins at the top of the page.
    expect({ after: control, focused: (await focused()).slice(0, 4) }).not.toEqual({ after: control, focused: 'body' });
  };
  /** Escape closes what is open, and what opened it has the focus. */
  const escape = async (opened: Locator, opener: RegExp): Promise<void> => {
    await press('Escape');
    await opened.waitFor({ state: 'detached' });
    expect(await focused()).toMatch(opener);
  };
  const type = async (field: RegExp, text: string): Promise<void> => {
    await tabTo(field);
    await page.keyboard.type(text);
  };
  const openTab = async (name: string): Promise<void> => {
    await page.getByRole('tab', { selected: true }).focus();
    for (let times = 0; times < 10 && !(await focused()).endsWith(name); times += 1) await press('ArrowRight');
  };
  const shown = (text: string | RegExp) => (): Promise<void> => page.getByText(text).first().waitFor();

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([openConsoleGateway(), openBrowser()]);
    page = await browser.context.newPage();
    page.setDefaultTimeout(20_000);
    // An event that the policy decided.
    const answer = await fetch(`${String(gateway.served.ready['url'])}/api/v1/query`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${gateway.dataKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ family: 'resource', namespace: '/beamlines/amx' }),
    });
    await answer.arrayBuffer();
    await page.goto(`${gateway.url}/console`);
    await type(/Admin key/, gateway.adminKey);
    await press('Enter');
    await page.getByRole('heading', { name: 'What runs' }).waitFor();
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    gateway.served.child.kill('SIGKILL');
  });

  it('a key is made, put away and revoked', async () => {
    await openTab('Keys');
    await type(/Name in the log/, 'ci');
    await type(/Identities/, 'badge:b-11240');
    await type(/Scopes at most/, 'resource:frobnicate');
    await use(/Make the key/, () => page.getByRole('alert').waitFor());
    await press('Shift+Tab');
    await openTab('Keys');
    await tabTo(/Scopes at most/);
    await press('Control+a');
    await page.keyboard.type('resource:read');
    await use(/Make the key/, () => page.getByRole('heading', { name: 'The new key' }).waitFor());
    const id = ((await page.locator('.made code').textContent()) ?? '').slice(4, 20);
    await openTab('Keys');
    await use(/show it no more/, () => page.locator('.made code').waitFor({ state: 'detached' }));
    const [revoke, now] = [new RegExp(`Revoke ${id}$`), page.getByRole('button', { name: `Revoke ${id} now` })];
    await use(revoke, () => now.waitFor());
    await tabTo(/Keep it/);
    await escape(now, revoke);
    await use(revoke, () => now.waitFor());
    await use(/Keep it/, () => now.waitFor({ state: 'detached' }));
    expect(await focused()).toMatch(revoke);
    await use(revoke, () => now.waitFor());
    await use(new RegExp(`Revoke ${id} now`), () => page.locator('tr', { hasText: id }).getByText('revoked').waitFor());
  }, 60_000);

  it('a snapshot is uploaded, put in force and rolled back', async () => {
    await openTab('Snapshots');
    // Whoever waits only then may miss it: the browser is told to hand choosers over beside the key.
    const choosing = page.waitForEvent('filechooser');
    await tabTo(/Compare a file/);
    await press('Enter');
    await (await choosing).setFiles(gateway.files.changed);
    await shown('24 cells gained')();
    await use(/Upload it/, shown('is stored. It decides nothing'));
    await openTab('Snapshots');
    await use(new RegExp(`Compare ${gateway.digests.changed}`), shown('24 cells gained'));
    await type(/Reason/, 'tested here');
    await use(/Activate: 24 cells gained/, shown('is in force here'));
    await openTab('Snapshots');
    await page.getByRole('button', { name: `Compare ${gateway.digests.running}` }).waitFor();
    await use(new RegExp(`Compare ${gateway.digests.running}`), () =>
      page.getByRole('button', { name: 'Roll back to it' }).waitFor(),
    );
    await type(/Reason/, 'the visit is over');
    await use(/Roll back to it/, shown('is in force again here'));
  }, 60_000);

  it('the log is searched, an event is explained and closed, and the log is verified', async () => {
    await openTab('Log');
    await type(/Who/, 'ines');
    await type(/Kind/, 'refusal');
    await use(/Search/, shown(/^1 event of \d+ events found/));
    const detail = page.locator('.detail');
    await use(/Show event/, () => page.locator('.detail:focus').waitFor());
    expect(await focused()).toBe('section The chosen event');
    await use(/Explain it on its own snapshot/, () => detail.getByRole('heading', { name: 'Allowed' }).waitFor());
    const whole = detail.locator('details[open]');
    await use(/All of it/, () => whole.waitFor());
    await escape(whole, /All of it/);
    await escape(detail, /Show event/);
    await use(/Show event/, () => detail.waitFor());
    await use(/Close/, () => detail.waitFor({ state: 'detached' }));
    expect(await focused()).toMatch(/Show event/);
    await openTab('Log');
    await use(/Verify the log/, shown(/The log is intact/));
  }, 60_000);

  it('the map is opened, searched and pinned, and the time is changed', async () => {
    await openTab('Who and where');
    await page.locator('.matrix .across .head').first().waitFor();
    await tabTo(/Time/);
    const before = await page.locator('.bar code').first().textContent();
    await press('End');
    await expect(page.locator('.bar code').first().textContent()).resolves.not.toBe(before);
    await type(/Find namespace/, '/beamlines/amx');
    await press('Enter');
    await page.locator('.down .head', { hasText: '/amx' }).waitFor();
    await use(/^button Pin /, () => page.getByRole('button', { name: /^Pin/, pressed: true }).first().waitFor());
    await openTab('Who and where');
    const table = page.locator('.as-table[open]');
    await use(/The same as a table/, () => table.getByRole('table').waitFor());
    await tabTo(/CSV/);
    await escape(table, /The same as a table/);
  }, 60_000);

  it('a person and a refusal are asked about', async () => {
    await openTab('One person');
    await type(/Person or identity/, 'badge:b-11240');
    await press('Enter');
    await page.locator('.icicle').waitFor();
    await openTab('Why');
    await type(/May/, 'badge:b-10210');
    await type(/ at$/, '/beamlines/amx');
    await press('Enter');
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    await use(/^button Why\? badge:b-11240/, () => page.getByRole('heading', { name: 'Allowed' }).waitFor());
  }, 60_000);

  describe('in the playground', () => {
    beforeAll(async () => {
      const file = join(await makeFolder(), 'page.html');
      await runCli(['playground', fromRoot('policies'), '-o', file]);
      await page.goto(pathToFileURL(file).href);
      await page.getByRole('textbox', { name: 'Text of policy.yaml' }).waitFor();
    }, 60_000);

    it('an edit is proposed, applied and taken back', async () => {
      await use(/Skip to the answers/, () => page.getByRole('tab', { selected: true }).waitFor());
      await tabTo(/Who and where/);
      await openTab('Why');
      await type(/May/, 'badge:b-10210');
      await type(/ at$/, '/beamlines/amx');
      await press('Enter');
      const apply = 'Apply: add badge:b-10210 to role `amx-staff`';
      await page.getByRole('button', { name: apply }).waitFor();
      await use(new RegExp(apply), () => page.getByRole('heading', { name: 'Allowed' }).waitFor());
      const saved = page.waitForEvent('download');
      await use(/Save the patch/, () => saved);
      expect(await readFile(await (await saved).path(), 'utf8')).toMatch(/^\+.*badge:b-10210/m);
      await use(/Undo the last edit/, () => page.getByRole('heading', { name: 'Denied' }).waitFor());
    }, 60_000);

    it('what the editor opens is closed, and the editor is left', async () => {
      const [file, text] = ['roles/staff.yaml', await readFile(fromRoot('policies/roles/staff.yaml'), 'utf8')];
      await use(/roles\/staff\.yaml/, () => page.getByRole('textbox', { name: `Text of ${file}` }).waitFor());
      await tabTo(/Text of roles\/staff\.yaml/);
      await press('Control+Home');
      const lines = text.split('\n').findIndex((line) => line.startsWith('  amx-leads:'));
      for (let line = 0; line < lines; line += 1) await press('ArrowDown');
      for (let letter = 0; letter < 4; letter += 1) await press('ArrowRight');
      await press('Control+i');
      const about = page.locator('.cm-tooltip .about');
      await about.waitFor();
      expect(await about.textContent()).toMatch(/^role amx-leads.*3 identities: badge:b-11240/);
      await escape(about, /Text of/);
      await press('Control+End');
      await press('Control+Space');
      const choices = page.locator('.cm-tooltip-autocomplete');
      await choices.waitFor();
      await escape(choices, /Text of/);
      await press('Tab');
      expect(await focused()).not.toMatch(/Text of/);
    }, 60_000);
  });
});
