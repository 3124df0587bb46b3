// The password file of libpq (`PGPASSFILE`, else `~/.pgpass`). It is used if neither the URL nor PGPASSWORD has a
// password.
import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { codeOf, StoreError } from './failures.js';

/** What a line of the file must match. */
export interface Login {
  readonly host: string;
  readonly port: number;
  readonly database?: string | null | undefined;
  readonly user?: string | null | undefined;
}

/**
 * The password of the first line that matches; undefined if none does. Throws `StoreError` if the file may not be used.
 */
export async function passwordFromFile(login: Login): Promise<string | undefined> {
  // eslint-disable-next-line no-restricted-syntax -- a variable of libpq, not a setting: the driver reads PGPASSWORD in the same way
  const named = process.env['PGPASSFILE'];
  const path = named ?? join(homedir(), '.pgpass');
  const text = await readPrivate(path, named !== undefined);
  return text
    ?.split(/\r?\n/)
    .map(fieldsOf)
    .find((fields) => fits(fields, login))?.[4];
}

/** Null if nobody named the file and it does not exist. */
async function readPrivate(path: string, isNamed: boolean): Promise<string | null> {
  let handle;
  try {
    handle = await open(path);
    const { mode } = await handle.stat();
    if ((mode & OTHERS) === 0 || process.platform === 'win32') return await handle.readFile('utf8');
  } catch (error) {
    const code = String(codeOf(error));
    if (code === 'ENOENT' && !isNamed) return null;
    throw new StoreError('store.refused', `the password file ${path} cannot be read (${code})`, { cause: error });
  } finally {
    await handle?.close();
  }
  throw new StoreError(
    'store.refused',
    `the password file ${path} can be read by others, so it is not used: \`chmod 600\` it`,
  );
}

const OTHERS = 0o077;

/** Fields of `host:port:database:user:password`. A backslash escapes a colon or a backslash. Empty for a comment. */
function fieldsOf(line: string): readonly string[] {
  const [, ...fields] = (line.startsWith('#') ? null : LINE.exec(line)) ?? [];
  return fields.map((field) => field.replace(/\\(.)/g, '$1'));
}

const FIELD = String.raw`((?:\\.|[^:\\])*)`;
const LINE = new RegExp(`^${`${FIELD}:`.repeat(4)}(.+)$`);

function fits([host, port, database, user, password]: readonly string[], login: Login): boolean {
  if (password === undefined) return false;
  const isLocal = host === 'localhost' && login.host.startsWith('/');
  return (
    (isLocal || isOrAny(host, login.host)) &&
    isOrAny(port, String(login.port)) &&
    isOrAny(database, login.database) &&
    isOrAny(user, login.user)
  );
}

function isOrAny(written: string | undefined, actual: string | null | undefined): boolean {
  return written === '*' || written === actual;
}
