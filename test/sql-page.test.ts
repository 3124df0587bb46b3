// docs/sql.md: its programs compile as strictly as TypeScript can, and do what the page says on a real PostgreSQL whose text is
// compared by a language.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NamespacePath, Visibility } from '../engine/index.js';
import { pathCheck, pathRanges } from '../server/sql/index.js';
import { visibleWhere } from '../server/sql/pg.js';
import { dropDatabase, takeDatabase, type TakenDatabase } from './support/one-postgres.js';
import { runSql } from './support/postgres.js';
import { fromRoot } from './support/root.js';
import { runCli } from './support/run-cli.js';
import { makeFolder } from './support/temp-folder.js';

const run = promisify(execFile);
const page = readFileSync(fromRoot('docs/sql.md'), 'utf8');
const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);
const nameOf = (text: string): string => /^(?:#|\/\/) (\S+)$/m.exec(text)?.[1] ?? 'unnamed';

/** In place of a generated client, which needs Prisma's own programs. Its fragments are those of this library. */
const PRISMA = `import pg from 'pg';
import tag, { type Sql } from 'sql-template-tag';
export const Prisma = { sql: tag };
export class PrismaClient {
  private readonly pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] });
  async $queryRaw<T>({ text, values }: Sql): Promise<T> {
    return (await this.pool.query(text, values)).rows as T;
  }
  async $executeRaw({ text, values }: Sql): Promise<number> {
    return (await this.pool.query(text, values)).rowCount ?? 0;
  }
  async $queryRawUnsafe<T>(text: string, ...values: unknown[]): Promise<T> {
    return (await this.pool.query(text, values)).rows as T;
  }
  async $disconnect(): Promise<void> {
    await this.pool.end();
  }
}
`;

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  typeRoots: [fromRoot('node_modules/@types')],
};
const LIBRARIES = ['pg', 'knex', 'kysely', 'drizzle-orm', 'sql-template-tag', '@types/pg'];
const ROWS = ['/', '/north', '/north~x', '/north/oslo', '/south', '/south/accra'];

let taken: TakenDatabase;
let folder: string;
let url: string;
let pool: pg.Pool;
const own = `sql_page_${String(process.pid)}`;

beforeAll(async () => {
  folder = await makeFolder();
  for (const name of ['bailiwick', ...LIBRARIES]) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(fromRoot(name === 'bailiwick' ? '' : `node_modules/${name}`), link, 'dir');
  }
  mkdirSync(join(folder, 'shop'));
  for (const file of blocks('yaml')) writeFileSync(join(folder, 'shop', nameOf(file)), file);
  expect((await runCli(['compile', 'shop', '-o', 'shop.json'], { cwd: folder })).status).toBe(0);
  taken = await takeDatabase('empty');
  await runSql(
    taken.url,
    `CREATE DATABASE ${own} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'`,
  );
  const there = new URL(taken.url);
  there.pathname = own;
  url = there.href;
  pool = new pg.Pool({ connectionString: url, max: 1 });
  await pool.query(blocks('sql')[0] ?? '');
});

afterAll(async () => {
  await pool.end();
  await dropDatabase(taken.url, own);
  await taken.drop();
});

async function fill(): Promise<void> {
  await pool.query('TRUNCATE invoice');
  await pool.query('INSERT INTO invoice (path, amount) SELECT path, 1 FROM unnest($1::text[]) AS r (path)', [ROWS]);
}

describe('the programs of docs/sql.md', () => {
  const programs = blocks('ts');

  it('compile in strict mode', () => {
    mkdirSync(join(folder, 'generated'));
    writeFileSync(join(folder, 'generated/client.mts'), PRISMA);
    for (const text of programs) writeFileSync(join(folder, nameOf(text)), text);
    const program = ts.createProgram(
      programs.map((text) => join(folder, nameOf(text))),
      OPTIONS,
    );
    const mistakes = ts
      .getPreEmitDiagnostics(program)
      .map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
    expect(mistakes).toEqual([]);
    program.emit();
    expect(programs.map(nameOf)).toEqual(
      ['access', ...['pg', 'knex', 'kysely', 'drizzle', 'prisma'].map((one) => `with-${one}`)].map(
        (name) => `${name}.mts`,
      ),
    );
  });

  it.each(['pg', 'knex', 'kysely', 'drizzle', 'prisma'])(
    'show and write what the policy allows, with %s',
    async (name) => {
      await fill();
      const env = { ...process.env, DATABASE_URL: url };
      const { stdout } = await run(process.execPath, [`with-${name}.mjs`], { cwd: folder, env });
      const [first = ''] = blocks('text');
      expect(stdout).toBe(name === 'pg' ? first : `${first.split('\n')[0] ?? ''}\n`);
      const { rows } = await pool.query<{ path: string }>('SELECT path FROM invoice ORDER BY path COLLATE "C"');
      const made = name === 'pg' ? '/north/oslo' : '/north/bergen';
      expect(rows.map(({ path }) => path)).toEqual([...ROWS, made].sort());
    },
  );

  it('cannot run on a column that is compared by a language', async () => {
    await pool.query('ALTER TABLE invoice ALTER COLUMN path TYPE text COLLATE "und-x-icu"');
    const env = { ...process.env, DATABASE_URL: url };
    const failed: unknown = await run(process.execPath, ['with-pg.mjs'], { cwd: folder, env }).catch(
      (error: unknown) => error,
    );
    expect(String(failed)).toContain('Run: ALTER TABLE "invoice" ALTER COLUMN "path" TYPE text COLLATE "C"');
    await pool.query('ALTER TABLE invoice ALTER COLUMN path TYPE text COLLATE "C"');
  });
});

describe('the index', () => {
  const roots = (count: number): Visibility => ({
    kind: 'some',
    exact: [],
    subtrees: Array.from({ length: count }, (_, i) => `/north/n${String(i)}` as NamespacePath),
  });

  beforeAll(async () => {
    await pool.query(`TRUNCATE invoice; ALTER TABLE invoice ADD CHECK (${pathCheck('path')})`);
    await pool.query(
      `INSERT INTO invoice (path, amount) SELECT '/north/n' || n % 5000 || '/x', n FROM generate_series(1, 20000) AS n`,
    );
    await pool.query('ANALYZE invoice');
  });

  const planOf = async (text: string, values: readonly unknown[]): Promise<string> =>
    (await pool.query<Record<string, string>>(`EXPLAIN ${text}`, [...values])).rows
      .flatMap((row) => Object.values(row))
      .join('\n');

  it('serves each subtree of a condition, up to the hundred that the page names', async () => {
    const { text, values } = visibleWhere(roots(100), 'path');
    const plan = await planOf(`SELECT * FROM invoice WHERE ${text}`, values);
    expect(plan).toContain('Index Cond');
    expect(plan).not.toContain('Seq Scan');
  });

  it('serves thousands by the join of the page', async () => {
    const { lo, hi } = pathRanges(roots(3000));
    const join = blocks('sql')[1] ?? '';
    const plan = await planOf(join, [lo, hi]);
    expect(plan).toContain('Index Cond');
    expect(plan).not.toContain('Seq Scan');
    expect((await pool.query(join, [lo, hi])).rowCount).toBe(12_000);
  });

  it('is guarded by the constraint of the page', async () => {
    for (const path of ['/North', '/north/', 'north', '/north//x', '/..', ''])
      await expect(pool.query('INSERT INTO invoice (path, amount) VALUES ($1, 1)', [path])).rejects.toThrow(
        /check constraint/,
      );
  });
});
