// The console in a real browser, on a gateway with the shipped policy: every part of it, by keyboard, in light and dark, and what it
// promises about the key.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { faultsOf, hasBrowser, openBrowser, type TestBrowser, violationsOf } from '../support/browser.js';
import { type ConsoleGateway, openConsoleGateway } from '../support/console-gateway.js';
import { fromRoot } from '../support/root.js';

/** A folder for pictures of every tab, if somebody wants to look at them. */
const SHOTS = process.env['CONSOLE_SHOTS'];

let gateway: ConsoleGateway;

beforeAll(async () => {
  gateway = await openConsoleGateway();
});

afterAll(() => {
  gateway.served.child.kill('SIGKILL');
});

const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(gateway.url + path, { headers });

describe('the page on the admin listener', () => {
  it('may run its own script and ask its own gateway, and nobody may frame, store or refer to it', async () => {
    const answer = await ask('/console');
    const { headers } = answer;
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/]{43}='; connect-src 'self'; style-src 'sha256-[\w+/]{43}='; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect([
      headers.get('cache-control'),
      headers.get('referrer-policy'),
      headers.get('x-content-type-options'),
    ]).toEqual(['no-store', 'no-referrer', 'nosniff']);
    expect(headers.get('access-control-allow-origin')).toBeNull();
    const html = await answer.text();
    expect(html).not.toContain('bwk_');
    const markup = html.replaceAll(/<(script|style)\b[^>]*>.*?<\/\1>/gs, '');
    expect(markup).not.toMatch(/https?:|\son\w+=|\ssrc=/i);
  });

  it('is not for other names and other pages', async () => {
    const foreign = await ask('/admin/v1/keys', {
      Origin: 'https://attacker.example',
      Authorization: `Bearer ${gateway.adminKey}`,
    });
    expect(foreign.status).toBe(421);
    const own = await ask('/admin/v1/keys', { Origin: gateway.url, Authorization: `Bearer ${gateway.adminKey}` });
    expect(own.status).toBe(200);
  });
});

(hasBrowser ? describe : describe.skip)('in a browser', () => {
  let browser: TestBrowser;
  let page: Page;
  let faults: readonly string[];

  beforeAll(async () => {
    browser = await openBrowser();
    page = await browser.context.newPage();
    await page.setViewportSize({ width: 1400, height: 900 });
    faults = faultsOf(page, (url) => url.startsWith(gateway.url));
    const answer = await fetch(`${gateway.served.ready['url'] as string}/api/v1/query`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${gateway.dataKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ family: 'resource', namespace: '/beamlines/amx' }),
    });
    await answer.arrayBuffer();
  }, 60_000);

  afterAll(async () => {
    await browser.close();
  });

  const signIn = async (key = gateway.adminKey): Promise<void> => {
    await page.goto(`${gateway.url}/console`);
    await page.getByLabel('Admin key').fill(key);
    await page.keyboard.press('Enter');
  };
  const tab = (name: string): Promise<void> => page.getByRole('tab', { name, exact: true }).click();
  const pane = (): Promise<string | null> => page.getByRole('tabpanel').textContent();
  const everything = async (): Promise<string> => String(await page.evaluate('document.documentElement.outerHTML'));
  const shot = async (name: string): Promise<void> => {
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}.png` });
  };

  it('refuses a wrong key in a sentence that says what to do', async () => {
    await signIn(`${gateway.adminKey.slice(0, -4)}AAAA`);
    expect(await page.getByRole('alert').textContent()).toContain('The admin key is wrong, expired or revoked');
    await signIn(gateway.dataKey);
    expect(await page.getByRole('alert').textContent()).toContain('or it is no admin key');
  }, 60_000);

  it('shows what runs, and has the key in its memory alone', async () => {
    await signIn();
    await page.getByRole('heading', { name: 'What runs' }).waitFor();
    expect(await page.locator('header').count()).toBe(1);
    expect(await pane()).toContain(gateway.digests.running);
    expect(await pane()).toContain('Storeembedded, reachable');
    // What was refused last, and to whom.
    const refusals = page.getByRole('region', { name: 'Table of refusals' });
    await refusals.getByRole('row', { name: /ines/ }).first().waitFor();
    const stored = await page.evaluate(
      '(async () => [localStorage.length, sessionStorage.length, document.cookie.length, (await indexedDB.databases()).length])()',
    );
    expect(stored).toEqual([0, 0, 0, 0]);
    const seen = `${await everything()}${page.url()}${String(await page.evaluate('JSON.stringify(history.state)'))}`;
    expect(seen).not.toContain(gateway.adminKey.slice(21));
    expect(
      await page.evaluate("[...document.querySelectorAll('input')].map(({ value }) => value).join()"),
    ).not.toContain(gateway.adminKey.slice(21));
    await page.reload();
    await page.getByLabel('Admin key').waitFor();
    expect(await page.getByLabel('Admin key').inputValue()).toBe('');
  }, 60_000);

  it('shows what a file would change before it is uploaded, and then puts it in force', async () => {
    await signIn();
    await tab('Snapshots');
    await page.locator('input[type=file]').setInputFiles(gateway.files.changed);
    await page.getByText('24 cells gained').first().waitFor();
    expect(await pane()).toContain('108 cells lost');
    await page.getByRole('button', { name: 'Show the rows' }).click();
    expect(await pane()).toContain('grant `visiting-badge` to badge:b-10210 was added (grants/labs.yaml:24)');
    await shot('changes-light');
    await page.getByRole('button', { name: 'Upload it' }).click();
    await page.getByText('is stored. It decides nothing').waitFor();
    // As with a large policy, the answer takes a while, and somebody looks elsewhere meanwhile.
    let letThrough = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    await page.route('**/admin/v1/shadow', async (route) => {
      if (route.request().method() === 'POST') await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Judge it in shadow' }).click();
    await page.getByText('Waiting for the gateway…').waitFor();
    await tab('Snapshots');
    await page.getByText('No candidate is judged').waitFor();
    letThrough();
    await page.getByRole('status').filter({ hasText: 'is judged beside what runs' }).waitFor();
    await page.getByText('24 cells gained').waitFor();
    expect(await pane()).toContain('/labs/detector and below');
    await shot('snapshots-light');
    await page.getByRole('button', { name: 'End it' }).click();
    await page.getByText('No candidate is judged').waitFor();
    await page.getByRole('button', { name: `Compare ${gateway.digests.changed}` }).click();
    await page.getByLabel('Reason').fill('tested here');
    await page.getByRole('button', { name: 'Activate: 24 cells gained, 108 lost' }).click();
    await page.getByText('is in force here').waitFor();
    await tab('What runs');
    await page.getByText('tested here').waitFor();
    expect(await pane()).toContain(gateway.digests.changed);
  }, 120_000);

  it('rolls back, which needs a reason', async () => {
    await tab('Snapshots');
    await page.getByRole('button', { name: `Compare ${gateway.digests.running}` }).click();
    const button = page.getByRole('button', { name: 'Roll back to it' });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel('Reason').fill('the visit is over');
    await button.click();
    await page.getByText('is in force again here').waitFor();
    await tab('What runs');
    await page.getByText('the visit is over').waitFor();
    expect(await pane()).toContain(gateway.digests.running);
  }, 60_000);

  it('says why a file is no snapshot', async () => {
    await tab('Snapshots');
    const file = { name: 'notes.json', mimeType: 'application/json', buffer: Buffer.from('{"a":1}') };
    await page.locator('input[type=file]').setInputFiles(file);
    expect(await page.getByRole('alert').textContent()).toMatch(
      /^notes\.json is not a snapshot that can be opened: .+\.$/,
    );
  }, 60_000);

  it('makes a key, shows it once, and revokes it', async () => {
    await tab('Keys');
    await page.getByLabel('Name in the log').fill('ci');
    await page.getByLabel('Identities').fill('badge:b-11240');
    await page.getByLabel('Scopes at most').fill('resource:frobnicate');
    await page.getByRole('button', { name: 'Make the key' }).click();
    expect(await page.getByRole('alert').textContent()).toMatch(/scopes\/0: .+Correct what is named/s);
    await page.getByLabel('Scopes at most').fill('resource:read');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByRole('heading', { name: 'The new key' }).waitFor();
    const made = (await page.locator('.made code').textContent()) ?? '';
    expect(made).toMatch(/^bwk_[0-9a-z]{16}_[\w-]{43}$/);
    await shot('keys-light');
    await page.getByRole('button', { name: 'show it no more' }).click();
    expect(await everything()).not.toContain(made.slice(21));
    const id = made.slice(4, 20);
    await page.getByRole('button', { name: `Revoke ${id}` }).click();
    await page.getByRole('button', { name: `Revoke ${id} now` }).click();
    await page.locator('tr', { hasText: id }).getByText('revoked').waitFor();
  }, 60_000);

  it('says of a write whether it may have been done', async () => {
    await signIn();
    await tab('Keys');
    let problem: object = { code: 'db.unavailable', title: 'The store was lost', outcome: 'unknown' };
    await page.route('**/admin/v1/keys', (route) => {
      const body = JSON.stringify({ ...problem, status: 503 });
      return route.request().method() === 'POST' ? route.fulfill({ status: 503, body }) : route.fallback();
    });
    await page.getByLabel('Name in the log').fill('ci');
    const button = page.getByRole('button', { name: 'Make the key' });
    await button.click();
    const alert = page.getByRole('alert');
    await alert.filter({ hasText: 'It may have been done. Look at the list before you try again.' }).waitFor();
    expect(await alert.textContent()).not.toContain('Nothing was done');
    problem = { code: 'db.unavailable', title: 'The store cannot be reached' };
    await button.click();
    await alert.filter({ hasText: 'The store cannot be reached. Nothing was done.' }).waitFor();
    await page.unroute('**/admin/v1/keys');
  }, 60_000);

  it('searches the log, verifies it, and explains an event on its own snapshot', async () => {
    await tab('Log');
    await page.getByLabel('Who').fill('ines');
    await page.getByLabel('Kind').selectOption('refusal');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('1 event of ').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ]);
    const rows = (await readFile(await saved.path(), 'utf8')).trim().split('\n');
    expect([rows.length, saved.suggestedFilename()]).toEqual([2, 'events.csv']);
    expect(rows[1]).toMatch(/"failed","ines"/);
    await page.getByRole('button', { name: /^Show event/ }).click();
    await page.getByRole('button', { name: 'Explain it on its own snapshot' }).click();
    await page.locator('.detail').getByRole('heading', { name: 'Allowed' }).waitFor();
    expect(await page.locator('.detail').textContent()).toContain(
      'grant amx-leads (grants/beamlines/amx/grants.yaml:5)',
    );
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText(/The log is intact: \d+ events/).waitFor();
    await shot('log-light');
    await page.getByLabel('Who').fill('');
    await page.getByLabel('Kind').selectOption('admin');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('snapshot.rollback').waitFor();
    await page.getByLabel('Since').fill('yesterday');
    await page.getByRole('button', { name: 'Search' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('Correct what is named');
  }, 60_000);

  it('answers the questions of the playground about what runs', async () => {
    await tab('Who and where');
    await page.locator('.matrix .across .head').first().waitFor();
    await tab('One person');
    await page.getByLabel('Person or identity').fill('badge:b-11240');
    await page.keyboard.press('Tab');
    await page.locator('.icicle').waitFor();
    await tab('Why');
    await page.getByLabel('May', { exact: true }).fill('badge:b-10210');
    await page.getByLabel('at', { exact: true }).fill('/beamlines/amx');
    // What is typed stays while the page looks at the status.
    await page.waitForResponse((answer) => answer.url().endsWith('/admin/v1/status'));
    await page.waitForTimeout(200);
    await page.keyboard.press('Tab');
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    const holder = page.getByRole('row', { name: /^badge:b-11240 / });
    expect(await holder.textContent()).toContain('grant amx-leads (grants/beamlines/amx/grants.yaml:5)');
  }, 60_000);

  it('gives the patch of an edit, with the folder of what runs, and changes nothing', async () => {
    await page.getByRole('heading', { name: 'Edits that would allow it' }).waitFor();
    await page.getByText('A gateway has no files of its policy.').waitFor();
    const folder = page.getByLabel('Open the folder of the policy');
    await folder.setInputFiles(fromRoot('docs/examples/erp'));
    await page.getByText('This folder is not what runs').waitFor();
    await folder.setInputFiles(fromRoot('policies'));
    await page.getByText('This folder is what runs.').waitFor();
    await page.getByRole('button', { name: 'Apply: add badge:b-10210 to role `amx-leads`' }).click();
    await page.getByRole('heading', { name: 'Allowed' }).waitFor();
    // What is shown is not what runs by now, and says so.
    const seal = page.locator('.seal');
    await seal.filter({ hasText: /shown, with your edits sha256:/ }).waitFor();
    await tab('One person');
    expect(await seal.textContent()).toMatch(new RegExp(`^${gateway.digests.running}at `));
    await tab('Why');
    const own = page.getByRole('region', { name: 'Your edits' });
    await own.getByText(/^[\d,]+ cells gained, 0 cells lost$/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      own.getByRole('button', { name: 'Save the patch' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toMatch(
      /^--- a\/roles\/staff\.yaml\n\+\+\+ b\/roles\/staff\.yaml\n@@ .*\n(?: .*\n)*\+.*badge:b-10210/m,
    );
    await own.getByRole('button', { name: 'Undo the last edit' }).click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    await seal.filter({ hasText: new RegExp(`^${gateway.digests.running}at `) }).waitFor();
    await tab('What runs');
    expect(await pane()).toContain(gateway.digests.running);
  }, 60_000);

  it('can be used by keyboard alone', async () => {
    await signIn();
    await page.getByRole('heading', { name: 'What runs' }).waitFor();
    await page.getByRole('tab', { name: 'What runs', exact: true }).focus();
    await page.keyboard.press('End');
    await page.getByRole('button', { name: 'Verify the log' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('heading', { name: 'A new key' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('tab-keys');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('pane');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT');
  }, 60_000);

  it('has nothing that WCAG 2.2 AA forbids, in light and in dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${gateway.url}/console`);
      expect(await violationsOf(page)).toEqual([]);
      await shot(`sign-in-${colorScheme}`);
      await signIn();
      await page.getByRole('heading', { name: 'What runs' }).waitFor();
      for (const name of ['What runs', 'Snapshots', 'Who and where', 'One person', 'Why', 'Keys', 'Log']) {
        await tab(name);
        await page.waitForTimeout(600);
        expect({ name, found: await violationsOf(page) }).toEqual({ name, found: [] });
        await shot(`${name.replaceAll(' ', '-').toLowerCase()}-${colorScheme}`);
      }
      await tab('Snapshots');
      await page.getByRole('button', { name: `Compare ${gateway.digests.changed}` }).click();
      await page.getByText('24 cells gained').first().waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await shot(`candidate-${colorScheme}`);
    }
  }, 180_000);

  it('says that the gateway is gone, and keeps what was known', async () => {
    await tab('What runs');
    gateway.served.child.kill('SIGKILL');
    await page.getByRole('alert').filter({ hasText: 'What is shown is what was known before.' }).waitFor();
    expect(await pane()).toContain(gateway.digests.running);
    await shot('lost-dark');
    // What the gateway refuses is in the log of the browser, too.
    const isRefusal = (text: string): boolean =>
      /^Failed to load resource: (?:the server responded with a status of (?:400|401|404|409|503)|net::ERR_(?:CONNECTION|SOCKET)_)/.test(
        text,
      );
    expect(faults.filter((text) => !isRefusal(text))).toEqual([]);
  }, 60_000);
});

test('a gateway serves no console unless its settings say so', async () => {
  const { openGateway } = await import('../support/gateway.js');
  const open = await openGateway({ admin: true });
  const answer = await fetch(`http://127.0.0.1:${String(open.admin?.port)}/console`);
  expect(answer.status).toBe(404);
  await answer.arrayBuffer();
  await open.dispose();
});
