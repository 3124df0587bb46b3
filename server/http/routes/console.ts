// GET /console: one page that needs nothing but itself and the admin listener that it came from. It has no data: an
// administrator signs in within the page.
import { type ConsoleDoor, consolePage } from '../../lib/console-page.js';
import type { PublicRoute } from '../route.js';

export function makeConsoleRoute(door: ConsoleDoor): PublicRoute {
  const { html, headers } = consolePage(door);
  return {
    method: 'GET',
    path: '/console',
    operationId: 'showConsole',
    summary: 'The console: a page for admins, if the settings have it',
    access: 'public',
    input: {},
    output: { 200: { type: 'text/html; charset=utf-8', schema: { type: 'string' } } },
    answer: () => ({ status: 200, html, headers }),
  };
}
