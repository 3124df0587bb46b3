// docs/commands.md is complete and true: its requests are sent exactly as written, and every route that writes is in
// its table.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { PROBLEMS } from '../../../server/problem.js';
import { declaredRoutes } from '../../support/api-description.js';
import { type Answered, type CommandDoors, openCommandDoors } from '../../support/command-doors.js';
import { fromRoot } from '../../support/root.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const TEXT = readFileSync(fromRoot('docs/commands.md'), 'utf8');

let store: OpenedStore | undefined;
let doors: CommandDoors;

beforeAll(async () => {
  store = await testStores()[0]?.open();
  if (store === undefined) throw new Error('no store');
  doors = await openCommandDoors({ db: store.database, actors: { ada: { '/': '*:*' } } });
});

afterAll(async () => {
  await doors.close();
  await store?.dispose();
});

/** A request as the page shows it. */
function send(block: string, id: string): Promise<Answered> {
  const [head = '', body] = block.replaceAll('{id}', id).trim().split('\n\n');
  const [request = '', ...lines] = head.split('\n');
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ') as [string, string]));
  return doors.send('ada', request, {
    key: headers['idempotency-key'] ?? null,
    ...(headers['if-match'] === undefined ? {} : { ifMatch: headers['if-match'] }),
    ...(body === undefined ? {} : { body }),
  });
}

it('shows requests that are done, one after the other, and a batch that is done after them', async () => {
  const blocks = [...TEXT.matchAll(/^```http\n(.*?)^```$/gms)].map(([, block = '']) => block);
  expect(blocks.length).toBeGreaterThan(6);
  let id = '';
  const statuses: number[] = [];
  for (const block of blocks) {
    const answer = await send(block, id);
    statuses.push(answer.status);
    if (answer.status === 201) id = String(answer.json['id']);
  }
  expect(statuses).toEqual([201, 201, 201, 201, 200, 201, 200, 201, 201]);
  const batch = [...TEXT.matchAll(/^```json\n(.*?)^```$/gms)]
    .map(([, block = '']) => block)
    .find((block) => block.includes('"commands"'));
  const done = await doors.send('ada', 'POST /api/v1/batch', { body: batch });
  expect([done.status, (done.json['results'] as readonly unknown[]).length]).toEqual([200, 3]);
});

it('has every route that writes, and only codes that exist', () => {
  const written = declaredRoutes().filter(({ access }) => access === 'command');
  expect(written.length).toBeGreaterThan(20);
  const shown = TEXT.replaceAll('`, `/restore`', '`, `{before}/restore`');
  for (const { method, path } of written) {
    const general = path.replace(/(?:resource|process)-(?:templates|runs)|resources/, '{collection}');
    const lines = shown
      .split('\n')
      .map((line) => line.replace('{before}', /`\w+ (\S+)\/archive`/.exec(line)?.[1] ?? ''));
    const found = lines.some((line) =>
      [path, general].some((one) => line.startsWith(`| \`${method} `) && line.includes(`${one}\``)),
    );
    expect([method, path, found]).toEqual([method, path, true]);
  }
  const codes: ReadonlySet<string> = new Set(PROBLEMS.map(({ code }) => code));
  const cited = [...TEXT.matchAll(/`((?:record|reference|namespace|idempotency|request)\.[a-z_]+)`/g)].map(
    ([, code = '']) => code,
  );
  expect(cited.filter((code) => !codes.has(code))).toEqual([]);
  expect(new Set(cited).size).toBeGreaterThan(5);
});
