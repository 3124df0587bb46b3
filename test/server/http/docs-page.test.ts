// The page of the API as its readers meet it: whole and harmless HTML, in a real browser in light, dark and narrow, and examples that
// are pasted into a shell and answered by the demo's data.
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { PROBLEMS } from '../../../server/problem.js';
import { declaredRoutes } from '../../support/api-description.js';
import { hasBrowser, openBrowser, type TestBrowser } from '../../support/browser.js';
import { type Demo, openDemo } from '../../support/demo.js';
import { raw } from '../../support/gateway.js';

const run = promisify(execFile);
const hasCurl = spawnSync('curl', ['--version']).status === 0;
if (!hasCurl) process.stderr.write('there is no curl: the examples of /docs are not run\n');

let demo: Demo;
let html: string;

beforeAll(async () => {
  demo = await openDemo();
  html = await (await fetch(`${demo.url}/docs`)).text();
});

afterAll(async () => {
  await demo.dispose();
});

/** What a reader sees. */
function textOf(markup: string): string {
  return markup
    .replace(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

describe('the page', () => {
  it('has an entry for each route, under its name, and for each shape that it links to', () => {
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(declaredRoutes().map(({ operationId }) => operationId)));
    const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.filter((link) => link.startsWith('#') && !ids.includes(link.slice(1)))).toEqual([]);
    const codes = PROBLEMS.map(({ code }) => `/docs/problems#${code}`);
    const elsewhere = new Set(links.filter((link) => !link.startsWith('#')));
    expect([...elsewhere].filter((link) => !codes.includes(link)).sort()).toEqual(['/docs/problems', '/openapi.json']);
  });

  it('closes what it opens, loads nothing and runs nothing', async () => {
    const stack: string[] = [];
    const body = html.replace(/<style>.*<\/style>/s, '').replace('<!doctype html>', '');
    for (const [, close, tag = ''] of body.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
      if (tag === 'meta' || tag === 'input') continue;
      if (close === '') stack.push(tag);
      else expect(stack.pop()).toBe(tag);
    }
    expect(stack).toEqual([]);
    expect(html).not.toMatch(/<script|<img|<link|\son\w+=|\ssrc=|url\(|@import/i);
    const answer = await fetch(`${demo.url}/docs`);
    await answer.arrayBuffer(); // A connection is not let go before.
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'");
  });

  it('has method and path of each route in its contents, and the address that it was asked at in its examples', () => {
    const contents = textOf(html.slice(html.indexOf('<nav'), html.indexOf('</nav>')));
    for (const { method, path } of declaredRoutes()) expect(contents).toContain(`${method} ${path}`);
    expect(html).toContain(`curl -s &quot;${demo.url}/api/v1/whoami&quot;`);
    expect(html).not.toContain('BAILIWICK_URL');
  });

  it('says https behind a proxy that ends TLS, and never takes more than an address from a client', async () => {
    const behind = await fetch(`${demo.url}/docs`, { headers: { 'X-Forwarded-Proto': 'https' } });
    expect(await behind.text()).toContain(`curl -s &quot;${demo.url.replace('http:', 'https:')}/api/v1/whoami`);
    const odd = await raw(demo.port, 'GET /docs HTTP/1.1\r\nHost: a"$(id)\r\nConnection: close\r\n\r\n');
    expect(odd).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('is searched by words without running anything', async () => {
    const find = async (search: string): Promise<string> =>
      (await fetch(`${demo.url}/docs?${new URLSearchParams({ search }).toString()}`)).text();
    const found = await find('Copy  resource');
    expect(found).toContain('href="#copyResource"');
    expect(found).not.toContain('id="whoami"');
    expect(found).not.toMatch(/<script/i);
    const ids = [...found.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
    const links = [...found.matchAll(/href="#([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !ids.includes(link))).toEqual([]);
    expect(await find('query.cursor')).toContain('id="queryRecords"');
    const nothing = await find('"><script>alert(1)</script>');
    expect(nothing).toContain(`0 of ${String(declaredRoutes().length)} routes`);
    expect(nothing).not.toContain('<script>');
    const answer = await fetch(`${demo.url}/docs?search=x&other=y`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/problem+json']);
    await answer.arrayBuffer();
  });

  it('is linked from the page of problems', async () => {
    expect(await (await fetch(`${demo.url}/docs/problems`)).text()).toContain('<a href="/docs">');
  });
});

(hasCurl ? describe : describe.skip)('the examples', () => {
  const commands = (): ReadonlyMap<string, string> =>
    new Map(
      [...html.matchAll(/<article id="(\w+)">(?:(?!<\/article>).)*?<pre><code>(curl .*?)<\/code><\/pre>/gs)].map(
        ([, name = '', command = '']) => [name, textOf(command)],
      ),
    );
  const answerTo = async (command: string, key = demo.inesKey): Promise<string> => {
    const env = { ...process.env, BAILIWICK_KEY: key };
    return (await run('sh', ['-c', command], { env })).stdout;
  };
  const namesOf = (kind: 'reads' | 'writes'): readonly string[] =>
    declaredRoutes()
      .filter(({ access }) => (access === 'command') === (kind === 'writes'))
      .map(({ operationId }) => operationId);

  it('are one for each route, and those that read are answered from the demo', async () => {
    expect(commands().size).toBe(declaredRoutes().length);
    const { text: asker } = await demo.key({ actor: 'asker', identities: [], decide: true });
    const asking = new Set(declaredRoutes().flatMap((route) => (route.access === 'ask' ? [route.operationId] : [])));
    for (const name of namesOf('reads')) {
      const key = asking.has(name) ? asker : demo.inesKey;
      const text = await answerTo(`${commands().get(name) ?? 'false'} --fail-with-body`, key);
      if (name.startsWith('show')) expect(text).toMatch(/^<!doctype html>/);
      else
        expect({ name, answer: JSON.parse(text) as object }).not.toMatchObject({ answer: { code: expect.anything() } });
      if (name === 'queryRecords')
        expect((JSON.parse(text) as { readonly items: readonly object[] }).items).toHaveLength(3);
    }
  });

  it('of writes are complete: they are done, or refused only for their actor and the stored data', async () => {
    const FOR_A_REASON =
      /^(?:authz\.denied|(?:record|namespace|reference)\.not_found|record\.(?:archived|conflict|invalid|precondition))$/;
    const outcomes = new Set<string>();
    for (const name of namesOf('writes')) {
      const { code = 'done' } = JSON.parse(await answerTo(commands().get(name) ?? 'false')) as {
        readonly code?: string;
      };
      if (code !== 'done') expect([name, code]).toEqual([name, expect.stringMatching(FOR_A_REASON)]);
      outcomes.add(code);
    }
    expect(outcomes).toContain('done');
  });
});

(hasBrowser ? describe : describe.skip)('in a browser', () => {
  let browser: TestBrowser;
  const open = async (width: number, path: string, scheme: 'light' | 'dark' = 'light'): Promise<Page> => {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(demo.url + path);
    return page;
  };

  beforeAll(async () => {
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  test.each([
    ['wide', 1280],
    ['narrow', 360],
  ])('it asks for itself alone, has no fault and nothing beside the screen: %s', async (_, width) => {
    const page = await browser.context.newPage();
    const asked: string[] = [];
    const faults: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(String(error)));
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${demo.url}/docs`);
    // A browser asks for an icon by itself.
    expect(asked.filter((url) => !url.endsWith('/favicon.ico'))).toEqual([`${demo.url}/docs`]);
    expect(faults.filter((text) => !text.includes('404'))).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.close();
  });

  it('leads from the contents to a route, to what it refuses with, and back', async () => {
    const page = await open(1280, '/docs');
    await page.locator('nav').getByText('/api/v1/query', { exact: true }).click();
    expect(page.url()).toBe(`${demo.url}/docs#queryRecords`);
    const article = page.locator('#queryRecords');
    const top = await page.evaluate("document.querySelector('#queryRecords').getBoundingClientRect().top");
    expect(top).toBeLessThan(100);
    await article.locator('summary').click();
    await article.locator('a', { hasText: 'query.cursor' }).click();
    expect(page.url()).toBe(`${demo.url}/docs/problems#query.cursor`);
    await page.click('text=The API');
    expect(page.url()).toBe(`${demo.url}/docs`);
    await page.close();
  });

  it('is legible in light and in dark', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const page = await open(1280, '/docs', scheme);
      const colours = await page.evaluate(
        '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("dt")).color]',
      );
      const [ink, paper, quiet] = (colours as readonly string[]).map(luminance);
      expect(contrast(ink, paper)).toBeGreaterThan(7);
      expect(contrast(quiet, paper)).toBeGreaterThan(4.5);
      expect((paper ?? 0) > 0.5).toBe(scheme === 'light');
      await page.close();
    }
  });
});

/** Relative luminance and contrast, as WCAG 2 has them. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one = 0, other = 0): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}
