// The page of problems: public, whole, harmless, and where `type` of every problem points to.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { ApiProblem, PROBLEMS } from '../../../server/problem.js';
import { problemText } from '../../../server/http/exchange.js';
import { openGateway, raw, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;
let head: string;
let html: string;

beforeAll(async () => {
  open = await openGateway({ rate: { perAddress: 20 } });
  const answer = await get('/docs/problems');
  head = answer.slice(0, answer.indexOf('\r\n\r\n'));
  html = answer.slice(head.length + 4);
});

afterAll(async () => {
  await open.dispose();
});

function get(target: string, headers: readonly string[] = []): Promise<string> {
  return raw(
    open.port,
    [`GET ${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers].join('\r\n') + '\r\n\r\n',
  );
}

describe('the page of problems', () => {
  it('is HTML for everybody, with headers that let it load and run nothing', () => {
    expect(head.split('\r\n')).toEqual(
      expect.arrayContaining([
        'HTTP/1.1 200 OK',
        'Content-Type: text/html; charset=utf-8',
        `Content-Length: ${String(Buffer.byteLength(html))}`,
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        'X-Content-Type-Options: nosniff',
        'Cache-Control: no-store',
      ]),
    );
    expect(html).not.toMatch(/<script|<img|<link|\son\w+=|\ssrc=|https?:/i);
  });

  it('has one entry for each code, where `type` points', () => {
    const ids = [...html.matchAll(/<article id="([^"]+)">/g)].map(([, id]) => id);
    expect([...ids].sort()).toEqual(PROBLEMS.map(({ code }) => code).sort());
    const { type } = JSON.parse(problemText(new ApiProblem('query.cursor'), 'r')) as { readonly type: string };
    expect(type).toBe('/docs/problems#query.cursor');
    expect(ids).toContain(type.split('#')[1]);
  });

  it('says of each what it is and what to do', () => {
    const text = html
      .replace(/<[^>]+>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&amp;', '&');
    for (const { title, help } of PROBLEMS) {
      expect(help.length).toBeGreaterThan(20);
      expect(help.endsWith('.')).toBe(true);
      expect(text).toContain(title);
      expect(text).toContain(help.replaceAll('`', ''));
    }
    expect(text).not.toContain('`');
  });

  it('closes what it opens', () => {
    const stack: string[] = [];
    const body = html.replace(/<style>.*<\/style>/s, '').replace('<!doctype html>', '');
    for (const [, close, tag = ''] of body.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
      if (tag === 'meta') continue;
      if (close === '') stack.push(tag);
      else expect(stack.pop()).toBe(tag);
    }
    expect(stack).toEqual([]);
  });

  test.each([
    ['an empty body', '/docs/problems', ['Content-Length: 0'], '200'],
    ['a body', '/docs/problems', ['Transfer-Encoding: chunked'], '400'],
    ['a query string', '/docs/problems?code=x', [], '400'],
    ['a slash at the end', '/docs/problems/', [], '404'],
    ['a bad credential, which is not looked at', '/docs/problems', ['Authorization: Bearer x'], '200'],
  ])('given %s', async (_, target, headers, status) => {
    expect((await get(target, headers)).slice(9, 12)).toBe(status);
  });

  it('counts for the rate of an address', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 150 }, async () => (await get('/docs/problems')).slice(9, 12)),
    );
    expect(new Set(statuses)).toEqual(new Set(['200', '429']));
  });
});
